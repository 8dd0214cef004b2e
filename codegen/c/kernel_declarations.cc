// Declares the kernel types that a C text needs.
//
// A kernel has a hundred thousand types; clang takes a second to read all of them. A C text can only use types that it
// names, and types of members that it names. Only these are declared, each with the types of its members. A type that
// occurs only behind a pointer and is not named remains incomplete.
//
// For example, `struct task_struct *task; task->mm->pgd` names `task_struct`, `mm` and `pgd`. task_struct is declared,
// because the text names the type. mm_struct is declared, because the text names the member `mm`, which has this type.
// Structures that task_struct contains are also declared: otherwise, its size would be unknown. For the member
// `struct cred *cred`, the line `struct cred;` is enough.
#include "codegen/c/kernel_declarations.h"

#include <bpf/btf.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "codegen/bpf/kernel_calls.h"
#include "codegen/c/helpers.h"

namespace sonde {
namespace {

class Declarations {
  public:
    Declarations(const btf& types, const std::set<std::string>& names) : types_(types), names_(names) {}

    // Types of which only the existence is declared, for example "struct x".
    const std::set<std::string>& mentioned() const { return mentioned_; }

    // All types to declare, in the order in which they were found: kernel types by their names, and `chosen`.
    std::vector<uint32_t> find(uint32_t kernel_count, const std::set<uint32_t>& chosen) {
        for (uint32_t id = 1; id < kernel_count; id++)
            if (is_named(id))
                want(id);
        for (uint32_t id : chosen)
            want(id);
        while (!todo_.empty()) {
            uint32_t id = todo_.back();
            todo_.pop_back();
            follow(id);
        }
        return std::move(found_);
    }

    // The kernel functions for BPF (kfuncs) with these names. The types of their parameters are added to the declared
    // ones.
    std::vector<uint32_t> find_functions(uint32_t kernel_count) {
        std::vector<uint32_t> out;
        std::set<uint32_t> tagged; // since Linux 6.10 ("bpf: add bpf_kfunc decl tags")
        for (uint32_t id = 1; id < kernel_count; id++) {
            const btf_type* type = btf__type_by_id(&types_, id);
            if (btf_is_decl_tag(type) && std::strcmp(name(type->name_off), "bpf_kfunc") == 0)
                tagged.insert(type->type);
            else if (btf_is_func(type) && is_wanted(name(type->name_off)) &&
                     std::string_view(name(type->name_off)).starts_with("bpf_") && !is_helper(name(type->name_off)) &&
                     !takes_words(type->type))
                out.push_back(id);
        }
        if (!tagged.empty())
            std::erase_if(out, [&](uint32_t id) { return !tagged.contains(id); });
        for (uint32_t id : out) {
            const btf_type* prototype = btf__type_by_id(&types_, btf__type_by_id(&types_, id)->type);
            want_signature(prototype->type);
            for (int i = 0; i < btf_vlen(prototype); i++)
                want_signature(btf_params(prototype)[i].type);
        }
        return out;
    }

  private:
    // Kernels without tags also have functions that implement helpers, with the helpers' names. Most of these have five
    // parameters of type u64, whatever the helper takes (BPF_CALL_1 and others, include/linux/filter.h).
    bool takes_words(uint32_t prototype) const {
        const btf_type* type = btf__type_by_id(&types_, prototype);
        bool out = btf_vlen(type) == 5;
        for (int i = 0; out && i < btf_vlen(type); i++) {
            const btf_type* param = btf__type_by_id(&types_, btf_params(type)[i].type);
            out = btf_is_typedef(param) && std::string_view(name(param->name_off)) == "u64";
        }
        return out;
    }

    // For a type behind a pointer, the existence suffices.
    void want_signature(uint32_t id) {
        const btf_type* type = btf__type_by_id(&types_, id);
        while (btf_is_ptr(type) || btf_is_mod(type)) {
            id = type->type;
            type = btf__type_by_id(&types_, id);
        }
        if (btf_is_typedef(type) || btf_is_any_enum(type))
            want(id);
        else if (btf_is_composite(type))
            mentioned_.insert(fmt::format("{} {}", btf_is_union(type) ? "union" : "struct", name(type->name_off)));
    }

    const char* name(uint32_t offset) const { return btf__name_by_offset(&types_, offset); }
    bool is_wanted(const char* text) const { return text && *text && names_.contains(text); }

    bool is_named(uint32_t id) const {
        const btf_type* type = btf__type_by_id(&types_, id);
        if (btf_is_composite(type) || btf_is_typedef(type) || btf_is_any_enum(type))
            if (is_wanted(name(type->name_off)))
                return true;
        if (btf_is_enum(type))
            for (int i = 0; i < btf_vlen(type); i++)
                if (is_wanted(name(btf_enum(type)[i].name_off)))
                    return true;
        if (btf_is_enum64(type))
            for (int i = 0; i < btf_vlen(type); i++)
                if (is_wanted(name(btf_enum64(type)[i].name_off)))
                    return true;
        return false;
    }

    // The type without pointers, arrays, qualifiers and typedefs.
    uint32_t innermost(uint32_t id) const {
        for (;;) {
            const btf_type* type = btf__type_by_id(&types_, id);
            if (btf_is_array(type))
                id = btf_array(type)->type;
            else if (btf_is_ptr(type) || btf_is_mod(type) || btf_is_typedef(type))
                id = type->type;
            else
                return id;
        }
    }

    void want(uint32_t id) {
        if (!seen_.insert(id).second)
            return;
        found_.push_back(id);
        todo_.push_back(id);
    }

    void follow(uint32_t id) {
        id = innermost(id);
        const btf_type* type = btf__type_by_id(&types_, id);
        if (!btf_is_composite(type))
            return;
        for (int i = 0; i < btf_vlen(type); i++) {
            const btf_member& member = btf_members(type)[i];
            const char* called = name(member.name_off);
            uint32_t inner = innermost(member.type);
            const btf_type* target = btf__type_by_id(&types_, inner);
            if (!btf_is_composite(target) && !btf_is_any_enum(target))
                continue;
            if (called && !*called)
                follow(member.type); // an anonymous member: its members belong to the outer type
            else if (is_wanted(called) && *name(target->name_off))
                want(inner);
            else if (is_wanted(called))
                follow(inner);
        }
    }

    const btf& types_;
    const std::set<std::string>& names_;
    std::set<uint32_t> seen_;
    std::vector<uint32_t> found_, todo_;
    std::set<std::string> mentioned_;
};

void append(void* out, const char* format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, arguments);
    std::string text(static_cast<size_t>(length), '\0');
    std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    *static_cast<std::string*>(out) += text;
}

// Renames types and enumerators that have these names.
Result<void> hide_names(btf& types, const std::set<std::string>& hidden) {
    std::map<std::string, uint32_t> others; // offsets of the new names in the string section
    for (const std::string& name : hidden) {
        // This call also makes the types changeable.
        const int at = btf__add_str(&types, ("sonde_kernel_" + name).c_str());
        if (at < 0)
            return Error(fmt::format("the kernel's types cannot be changed: {}", std::strerror(-at)));
        others[name] = static_cast<uint32_t>(at);
    }
    auto change = [&](uint32_t& offset) {
        const char* name = btf__name_by_offset(&types, offset);
        if (auto found = name ? others.find(name) : others.end(); found != others.end())
            offset = found->second;
    };
    for (uint32_t id = 1; id < btf__type_cnt(&types); id++) {
        auto* type = const_cast<btf_type*>(btf__type_by_id(&types, id));
        if (btf_is_composite(type) || btf_is_typedef(type) || btf_is_any_enum(type) || btf_is_fwd(type))
            change(type->name_off);
        for (int i = 0; btf_is_enum(type) && i < btf_vlen(type); i++)
            change(btf_enum(type)[i].name_off);
        for (int i = 0; btf_is_enum64(type) && i < btf_vlen(type); i++)
            change(btf_enum64(type)[i].name_off);
    }
    return {};
}

// C code that makes clang compare the layouts: sizes, and offsets of members that the text names. BTF has offsets, but
// not the attributes `packed` and `aligned` from which a C compiler computes them. A member at another offset than in
// the kernel would give wrong values. Types that share a name with another one are not compared.
std::string compare_layouts(const btf& types, const std::vector<uint32_t>& ids, const std::set<std::string>& names) {
    auto name_of = [&](const btf_type& type) { return std::string_view(btf__name_by_offset(&types, type.name_off)); };
    std::map<std::string_view, unsigned> count;
    for (uint32_t id : ids)
        if (const btf_type* type = btf__type_by_id(&types, id); btf_is_composite(type))
            count[name_of(*type)] = 0;
    for (uint32_t id = 1; id < btf__type_cnt(&types); id++)
        if (const btf_type* type = btf__type_by_id(&types, id); btf_is_composite(type) || btf_is_any_enum(type))
            if (auto found = count.find(name_of(*type)); found != count.end())
                found->second++;
    std::string out;
    for (uint32_t id : ids) {
        const btf_type* type = btf__type_by_id(&types, id);
        if (!btf_is_composite(type) || name_of(*type).empty() || count[name_of(*type)] != 1)
            continue;
        const std::string written = fmt::format("{} {}", btf_is_union(type) ? "union" : "struct", name_of(*type));
        auto check = [&](const std::string& what, uint32_t bytes) {
            out += fmt::format("_Static_assert({} == {}, \"{} `{}`\");\n", what, bytes, c_other_layout, written);
        };
        check(fmt::format("sizeof({})", written), type->size);
        for (int i = 0; i < btf_vlen(type); i++) {
            const char* member = btf__name_by_offset(&types, btf_members(type)[i].name_off);
            if (names.contains(member) && !btf_member_bitfield_size(type, static_cast<uint32_t>(i)))
                check(fmt::format("__builtin_offsetof({}, {})", written, member),
                      btf_member_bit_offset(type, static_cast<uint32_t>(i)) / 8);
        }
    }
    return out;
}

} // namespace

Result<std::string> declare_kernel_types(const std::string& btf_bytes, const std::set<std::string>& names,
                                         uint32_t kernel_count, const std::set<uint32_t>& chosen,
                                         const std::set<std::string>& hidden) {
    std::unique_ptr<btf, decltype(&btf__free)> types(
        btf__new(btf_bytes.data(), static_cast<uint32_t>(btf_bytes.size())), btf__free);
    if (!types)
        return Error(fmt::format("the kernel's types cannot be read: {}", std::strerror(errno)));
    if (!hidden.empty())
        if (Result<void> changed = hide_names(*types, hidden); !changed)
            return std::move(changed).error();
    std::string out;
    std::unique_ptr<btf_dump, decltype(&btf_dump__free)> dump(btf_dump__new(types.get(), append, &out, nullptr),
                                                              btf_dump__free);
    if (!dump)
        return Error(fmt::format("the kernel's types cannot be written as C: {}", std::strerror(errno)));
    const auto failure = [](int failed) {
        return Error(fmt::format("the kernel's types cannot be written as C: {}", std::strerror(-failed)));
    };
    Declarations declarations(*types, names);
    const std::vector<uint32_t> functions = declarations.find_functions(kernel_count);
    const std::vector<uint32_t> found = declarations.find(kernel_count, chosen);
    for (uint32_t id : found)
        if (int failed = btf_dump__dump_type(dump.get(), id); failed < 0)
            return failure(failed);
    out += compare_layouts(*types, found, names);
    for (const std::string& mentioned : declarations.mentioned())
        out += mentioned + ";\n";
    for (uint32_t id : functions) {
        const btf_type* function = btf__type_by_id(types.get(), id);
        const std::string pointer = fmt::format("(*const {})", btf__name_by_offset(types.get(), function->name_off));
        btf_dump_emit_type_decl_opts options{};
        options.sz = sizeof options;
        options.field_name = pointer.c_str();
        out += "static ";
        if (int failed = btf_dump__emit_type_decl(dump.get(), function->type, &options); failed < 0)
            return failure(failed);
        out += fmt::format(" = (void *){};\n", kernel_call + id);
    }
    return out;
}

} // namespace sonde
