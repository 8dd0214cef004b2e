// A kernel has a hundred thousand types, and clang takes a second to read them all. A text in C can only use what it
// names: a type by its name, and whatever a member leads to by the member's name. So these are declared, each with what
// it consists of; everything that only a pointer leads to and that nobody names stays incomplete.
#include "codegen/c/kernel_declarations.h"

#include <bpf/btf.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

namespace sonde {
namespace {

class Declarations {
  public:
    Declarations(const btf& types, const std::set<std::string>& names) : types_(types), names_(names) {}

    // All types to declare, in the order in which they came up: the kernel's by their names, and `chosen`.
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

  private:
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

    // Without pointers, arrays, qualifiers and typedefs.
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
                follow(member.type); // its members are those of the outer one
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

} // namespace

Result<std::string> declare_kernel_types(const std::string& btf_bytes, const std::set<std::string>& names,
                                         uint32_t kernel_count, const std::set<uint32_t>& chosen) {
    std::unique_ptr<btf, decltype(&btf__free)> types(
        btf__new(btf_bytes.data(), static_cast<uint32_t>(btf_bytes.size())), btf__free);
    if (!types)
        return Error(fmt::format("the kernel's types cannot be read: {}", std::strerror(errno)));
    std::string out;
    std::unique_ptr<btf_dump, decltype(&btf_dump__free)> dump(btf_dump__new(types.get(), append, &out, nullptr),
                                                              btf_dump__free);
    if (!dump)
        return Error(fmt::format("the kernel's types cannot be written as C: {}", std::strerror(errno)));
    for (uint32_t id : Declarations(*types, names).find(kernel_count, chosen))
        if (int failed = btf_dump__dump_type(dump.get(), id); failed < 0)
            return Error(fmt::format("the kernel's types cannot be written as C: {}", std::strerror(-failed)));
    return out;
}

} // namespace sonde
