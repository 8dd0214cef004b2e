// Reads the kernel's types from BTF (Documentation/bpf/btf.rst in the kernel's sources).
//
// BTF is a list of types that refer to each other by number. The kernel has more than 100,000 of them, so they are
// converted one by one when something uses them. A module has its own list, whose numbers continue after those of the
// kernel. `files_[0]` is always the kernel.
#include "frontend/types/kernel_types.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/glob.h"

namespace sonde {
namespace {

using std::string_view;

constexpr string_view tracepoint_prefix = "btf_trace_", iterator_prefix = "__traceiter_";

} // namespace

Result<std::unique_ptr<KernelTypes>> KernelTypes::open(const std::string& folder) {
    std::unique_ptr<KernelTypes> out(new KernelTypes());
    out->folder_ = folder;
    std::string path = folder + "/vmlinux";
    Result<std::string> bytes = read_file(path);
    if (!bytes && bytes.error().os_error == ENOENT)
        return Error(fmt::format("the kernel's types are not available: {}",
                                 path == "/sys/kernel/btf/vmlinux"
                                     ? why_no_kernel_types()
                                     : fmt::format("`{}` does not exist (CONFIG_DEBUG_INFO_BTF)", path)));
    return read(std::move(out), std::move(bytes), path);
}

Result<std::unique_ptr<KernelTypes>> KernelTypes::open(const KernelFiles& files) {
    std::unique_ptr<KernelTypes> out(new KernelTypes());
    out->other_ = &files;
    return read(std::move(out), files.types, files.path);
}

Result<std::unique_ptr<KernelTypes>> KernelTypes::read(std::unique_ptr<KernelTypes> out, Result<std::string> bytes,
                                                       const std::string& path) {
    if (!bytes)
        return std::move(bytes).error();
    out->files_.push_back({"", *std::move(bytes), BtfFile({})});
    File& kernel = out->files_.back();
    kernel.types = BtfFile(kernel.bytes);
    if (!kernel.types.complete())
        return Error(fmt::format("`{}` has types in an unknown form", path));
    return out;
}

std::vector<std::string> KernelTypes::modules() const {
    std::vector<std::string> names;
    if (other_) {
        for (const auto& [name, path] : other_->modules)
            names.push_back(name);
        return names;
    }
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error))
        if (at->path().filename() != "vmlinux")
            names.push_back(at->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

Result<std::string> KernelTypes::btf_bytes(const std::string& module) const {
    if (module.empty())
        return files_[0].bytes;
    return other_ ? other_->module_types(module) : read_file(folder_ + "/" + module);
}

// The new file refers to the kernel's types, so the kernel must be files_[0].
KernelTypes::File* KernelTypes::file(const std::string& module) {
    for (File& candidate : files_)
        if (candidate.module == module)
            return &candidate;
    Result<std::string> bytes = btf_bytes(module);
    if (!bytes)
        return nullptr;
    files_.push_back({module, *std::move(bytes), BtfFile({})});
    File& added = files_.back();
    added.types = BtfFile(added.bytes, &files_[0].types);
    return &added;
}

template <typename Visit> void KernelTypes::each(const File& file, uint32_t kind, Visit visit) {
    for (uint32_t id = file.types.first(); id < file.types.count(); id++) {
        const btf_type* type = file.types.at(id);
        if (type && BtfFile::kind(*type) == kind)
            visit(id, *type, file.types.name(*type));
    }
}

// ---- enumerators ----------------------------------------------------------------------------------------------------

namespace {
// Calls `visit` with the name and value of each enumerator. Values of 32 bits count as signed if the file does not
// tell: there are more enumerators below 0 than from 2^31 on.
template <typename Visit> void visit_enumerators(const BtfFile& types, const btf_type& type, Visit visit) {
    const uint32_t count = BtfFile::entry_count(type);
    if (BtfFile::kind(type) == BTF_KIND_ENUM64) {
        const auto* entries = BtfFile::entries<struct btf_enum64>(type);
        for (uint32_t i = 0; i < count; i++)
            visit(types.name(entries[i].name_off),
                  static_cast<int64_t>(uint64_t{entries[i].val_hi32} << 32 | entries[i].val_lo32));
        return;
    }
    const bool is_signed = types.is_signed_enum(type).value_or(true);
    const auto* entries = BtfFile::entries<struct btf_enum>(type);
    for (uint32_t i = 0; i < count; i++)
        visit(types.name(entries[i].name_off),
              is_signed ? int64_t{entries[i].val} : int64_t{static_cast<uint32_t>(entries[i].val)});
}
} // namespace

std::optional<int64_t> KernelTypes::enumerator(string_view name) {
    std::optional<int64_t> found;
    for (uint32_t kind : {BTF_KIND_ENUM, BTF_KIND_ENUM64})
        each(files_[0], kind, [&](uint32_t, const btf_type& type, string_view) {
            visit_enumerators(files_[0].types, type, [&](string_view title, int64_t value) {
                if (!found && title == name)
                    found = value;
            });
        });
    return found;
}

std::vector<std::string> KernelTypes::enumerator_names() {
    std::vector<std::string> names;
    for (uint32_t kind : {BTF_KIND_ENUM, BTF_KIND_ENUM64})
        each(files_[0], kind, [&](uint32_t, const btf_type& type, string_view) {
            visit_enumerators(files_[0].types, type, [&](string_view title, int64_t) { names.emplace_back(title); });
        });
    return names;
}

// ---- functions and tracepoints --------------------------------------------------------------------------------------

std::vector<KernelFunction> KernelTypes::functions(const std::string& pattern, const std::string* module) {
    std::vector<std::string> names;
    if (!module || glob_match(*module, ""))
        names.emplace_back();
    for (const std::string& name : modules())
        if (!module || glob_match(*module, name))
            names.push_back(name);
    std::vector<KernelFunction> out;
    for (const std::string& name : names) {
        const File* in = file(name);
        if (!in)
            continue;
        if (!has_wildcard(pattern)) {
            if (uint32_t id = in->types.find(pattern, BTF_KIND_FUNC))
                out.push_back({pattern, name, type(*in, in->types.at(id)->type)});
            continue;
        }
        each(*in, BTF_KIND_FUNC, [&](uint32_t, const btf_type& found, string_view title) {
            if (glob_match(pattern, title))
                out.push_back({std::string(title), name, type(*in, found.type)});
        });
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return out;
}

// For each tracepoint, BTF has `typedef void (*btf_trace_NAME)(void *__data, TP_PROTO)`, in which the parameters have
// no names (include/trace/bpf_probe.h in Linux 6.x). The names are in the function `__traceiter_NAME`, which calls the
// handlers.
std::vector<KernelFunction> KernelTypes::tracepoints(const std::string& pattern, const std::string* wanted) {
    std::vector<KernelFunction> out;
    std::vector<std::string> names;
    if (wanted || !other_)
        names = modules();
    if (wanted)
        std::erase_if(names, [&](const std::string& name) { return !glob_match(*wanted, name); });
    else
        names.insert(names.begin(), "");
    for (const std::string& module : names) {
        const File* in = file(module);
        if (!in)
            continue;
        auto add = [&](string_view title) {
            KernelFunction found{std::string(title), module, nullptr};
            uint32_t id = in->types.find(std::string(iterator_prefix) + found.name, BTF_KIND_FUNC);
            if (id != 0) {
                found.type = type(*in, in->types.at(id)->type);
            } else {
                id = in->types.find(std::string(tracepoint_prefix) + found.name, BTF_KIND_TYPEDEF);
                const Type* pointer = strip(type(*in, id));
                found.type = pointer ? strip(pointer->target) : nullptr;
            }
            out.push_back(std::move(found));
        };
        if (!has_wildcard(pattern)) {
            if (in->types.find(std::string(tracepoint_prefix) + pattern, BTF_KIND_TYPEDEF))
                add(pattern);
            continue;
        }
        each(*in, BTF_KIND_TYPEDEF, [&](uint32_t, const btf_type&, string_view title) {
            if (title.starts_with(tracepoint_prefix) && glob_match(pattern, title.substr(tracepoint_prefix.size())))
                add(title.substr(tracepoint_prefix.size()));
        });
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return out;
}

std::vector<std::string> KernelTypes::tracepoint_names() {
    std::vector<std::string> names;
    each(files_[0], BTF_KIND_TYPEDEF, [&](uint32_t, const btf_type&, string_view title) {
        if (title.starts_with(tracepoint_prefix))
            names.emplace_back(title.substr(tracepoint_prefix.size()));
    });
    return names;
}

std::vector<std::string> KernelTypes::function_names(const std::string& module) {
    std::vector<std::string> names;
    if (const File* in = file(module))
        each(*in, BTF_KIND_FUNC, [&](uint32_t, const btf_type&, string_view title) { names.emplace_back(title); });
    return names;
}

// ---- variables ------------------------------------------------------------------------------------------------------

std::vector<KernelGlobal> KernelTypes::globals(string_view name) {
    const File& kernel = files_[0];
    // By the variable's id; the value is its offset in the per-CPU memory.
    std::map<uint32_t, std::optional<uint64_t>> numbers;
    each(kernel, BTF_KIND_VAR, [&](uint32_t id, const btf_type&, string_view title) {
        if (title == name)
            numbers[id];
    });
    if (numbers.empty())
        return {};
    each(kernel, BTF_KIND_DATASEC, [&](uint32_t, const btf_type& section, string_view title) {
        const auto* entries = BtfFile::entries<struct btf_var_secinfo>(section);
        for (uint32_t i = 0; i < BtfFile::entry_count(section); i++)
            if (auto found = numbers.find(entries[i].type); found != numbers.end() && title == ".data..percpu")
                found->second = entries[i].offset;
    });
    std::vector<KernelGlobal> out;
    for (const auto& [id, offset] : numbers)
        out.push_back({type(kernel, kernel.types.at(id)->type), offset});
    return out;
}

std::vector<std::string> KernelTypes::global_names() {
    std::vector<std::string> names;
    each(files_[0], BTF_KIND_VAR, [&](uint32_t, const btf_type&, string_view title) { names.emplace_back(title); });
    return names;
}

namespace {
// The FNV-1a hash, computed on 8 bytes at a time. The last ones are padded with zeros.
uint64_t hash_of(string_view bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t at = 0; at < bytes.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
        hash = (hash ^ word) * 0x100000001b3;
    }
    return hash ^ bytes.size();
}
} // namespace

// A plan contains offsets of members, so it is valid only for a kernel with the same types.
uint64_t KernelTypes::fingerprint() const { return hash_of(files_[0].bytes); }

Result<uint64_t> KernelTypes::module_fingerprint(const std::string& module) const {
    Result<std::string> bytes = btf_bytes(module);
    if (!bytes)
        return std::move(bytes).error();
    return hash_of(*bytes);
}

Result<void> KernelTypes::check_module(const std::string& module, uint64_t fingerprint) const {
    Result<uint64_t> here = module_fingerprint(module);
    if (!here)
        return Error(fmt::format(
            "it reads structures of the kernel's module `{0}`, which is not loaded\n  load the module: `modprobe {0}`",
            module));
    if (*here != fingerprint)
        return Error(fmt::format("it was translated for another build of the kernel's module `{}`, whose types differ "
                                 "from the loaded module's\n  translate the script again",
                                 module));
    return {};
}

// ---- types ----------------------------------------------------------------------------------------------------------

const Type* KernelTypes::pointer_to(const Type* target) {
    Type& pointer = made_.emplace_back();
    pointer.kind = Type::Pointer;
    pointer.size = 8;
    pointer.target = target;
    pointer.of_kernel = true;
    return &pointer;
}

// Finds a type by its name in C, such as `struct sock`, `u32` or `char **`. BTF has a pointer type only where the
// kernel uses it, so pointers are made here.
const Type* KernelTypes::find_type(std::string_view name) {
    size_t stars = 0;
    while (!name.empty() && (name.back() == '*' || name.back() == ' ')) {
        stars += name.back() == '*';
        name.remove_suffix(1);
    }
    // A search visits all types, so cache its result. A type that was not found may be in a module that is opened
    // later.
    auto [known, is_new] = found_.try_emplace(std::string(name));
    if (is_new || (!known->second.type && known->second.files != files_.size()))
        known->second = {search(name), files_.size()};
    const Type* found = known->second.type;
    if (!found && name != "void")
        return nullptr;
    for (; stars > 0; stars--)
        found = pointer_to(found);
    return found;
}

// Searches all files for a type, first with the given keyword. Without one, a struct takes precedence over a typedef of
// the same name.
const Type* KernelTypes::search(std::string_view name) {
    struct Keyword {
        string_view word;
        std::vector<uint32_t> kinds;
    };
    static const Keyword keywords[] = {
        {"struct ", {BTF_KIND_STRUCT}},
        {"union ", {BTF_KIND_UNION}},
        {"enum ", {BTF_KIND_ENUM, BTF_KIND_ENUM64}},
        {"",
         {BTF_KIND_STRUCT, BTF_KIND_TYPEDEF, BTF_KIND_INT, BTF_KIND_UNION, BTF_KIND_ENUM, BTF_KIND_ENUM64,
          BTF_KIND_FLOAT}},
    };
    // C allows several spellings; BTF has the one that the compiler uses.
    static const std::pair<string_view, string_view> spellings[] = {
        {"unsigned", "unsigned int"},
        {"short", "short int"},
        {"unsigned short", "short unsigned int"},
        {"long", "long int"},
        {"unsigned long", "long unsigned int"},
        {"long long", "long long int"},
        {"unsigned long long", "long long unsigned int"},
    };
    for (const auto& [written, called] : spellings)
        if (name == written && files_[0].types.find(called, BTF_KIND_INT) != 0) {
            name = called;
            break;
        }
    const Type* found = nullptr;
    for (const Keyword& keyword : keywords) {
        if (!name.starts_with(keyword.word))
            continue;
        name.remove_prefix(keyword.word.size());
        for (size_t i = 0; i < files_.size() && !found; i++)
            for (uint32_t kind : keyword.kinds) {
                uint32_t id = found ? 0 : files_[i].types.find(name, kind);
                if (id != 0)
                    found = type(files_[i], id);
            }
        break;
    }
    return found;
}

std::vector<std::string> KernelTypes::type_names() {
    std::vector<std::string> names;
    const File& kernel = files_[0];
    each(kernel, BTF_KIND_STRUCT, [&](uint32_t, const btf_type&, string_view title) {
        if (!title.empty()) {
            names.emplace_back(title);
            names.push_back(fmt::format("struct {}", title));
        }
    });
    each(kernel, BTF_KIND_TYPEDEF, [&](uint32_t, const btf_type&, string_view title) { names.emplace_back(title); });
    return names;
}

const Type* KernelTypes::type(const File& in, uint32_t id) {
    // The ids of a module's types continue after those of the kernel.
    const File& owner = id < in.types.first() ? files_[0] : in;
    const btf_type* from = owner.types.at(id);
    if (!from)
        return nullptr;
    auto index = static_cast<uint64_t>(
        std::find_if(files_.begin(), files_.end(), [&](const File& one) { return &one == &owner; }) - files_.begin());
    auto [entry, fresh] = by_number_.try_emplace(index << 32 | id, nullptr);
    if (!fresh)
        return entry->second;
    // Store the type before its parts are read, so that recursive types terminate.
    Type& made = made_.emplace_back();
    entry->second = &made;
    made.of_kernel = true;
    bool is_record = BtfFile::kind(*from) == BTF_KIND_STRUCT || BtfFile::kind(*from) == BTF_KIND_UNION ||
                     BtfFile::kind(*from) == BTF_KIND_FWD;
    if (is_record) {
        made.source = this;
        records_[&made] = {&owner, id};
    }
    fill(owner, *from, made);
    return &made;
}

// Converts one BTF type. Types that it refers to are converted as well, except the members of records, which complete()
// adds.
void KernelTypes::fill(const File& in, const btf_type& from, Type& to) {
    uint32_t kind = BtfFile::kind(from);
    to.name = in.types.name(from);
    auto wraps = [&](Type::Kind what) {
        to.kind = what;
        to.target = type(in, from.type);
        to.size = to.target ? to.target->size : 0;
    };
    switch (kind) {
    case BTF_KIND_INT: {
        uint32_t encoding = BTF_INT_ENCODING(*BtfFile::entries<uint32_t>(from));
        bool is_char = to.name == "char" || to.name == "signed char" || to.name == "unsigned char";
        to.kind = encoding & BTF_INT_BOOL ? Type::Boolean : is_char ? Type::Character : Type::Integer;
        to.is_signed = encoding & BTF_INT_SIGNED;
        to.size = from.size;
        break;
    }
    case BTF_KIND_FLOAT:
        to.kind = Type::Float;
        to.size = from.size;
        break;
    case BTF_KIND_PTR:
        to.kind = Type::Pointer;
        to.size = 8;
        to.target = type(in, from.type);
        break;
    case BTF_KIND_ARRAY: {
        const auto* array = BtfFile::entries<struct btf_array>(from);
        to.kind = Type::Array;
        to.target = type(in, array->type);
        if (array->nelems != 0) // 0: a flexible array
            to.count = array->nelems;
        to.size = to.target ? array->nelems * to.target->size : 0;
        break;
    }
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        to.kind = kind == BTF_KIND_STRUCT ? Type::Struct : Type::Union;
        to.size = from.size;
        break;
    case BTF_KIND_FWD:
        to.kind = BTF_INFO_KFLAG(from.info) ? Type::Union : Type::Struct;
        to.incomplete = true;
        break;
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
        to.kind = Type::Enum;
        to.size = from.size;
        to.is_signed = in.types.is_signed_enum(from).value_or(false);
        visit_enumerators(in.types, from, [&](string_view name, int64_t value) {
            to.enumerators.push_back({std::string(name), value});
            to.is_signed = to.is_signed || (kind == BTF_KIND_ENUM && value < 0);
        });
        break;
    case BTF_KIND_TYPEDEF:
        wraps(Type::Typedef);
        break;
    case BTF_KIND_CONST:
        wraps(Type::Const);
        break;
    case BTF_KIND_VOLATILE:
        wraps(Type::Volatile);
        break;
    case BTF_KIND_RESTRICT:
        wraps(Type::Restrict);
        break;
    case BTF_KIND_TYPE_TAG: // such as `__user`: stands for the type that it is attached to
        wraps(Type::Typedef);
        to.name = to.target ? type_name(to.target) : "void";
        break;
    case BTF_KIND_FUNC_PROTO: {
        to.kind = Type::Function;
        to.target = type(in, from.type);
        const auto* parameters = BtfFile::entries<struct btf_param>(from);
        for (uint32_t i = 0; i < BtfFile::entry_count(from); i++) {
            TypeMember parameter;
            parameter.name = in.types.name(parameters[i].name_off);
            parameter.type = type(in, parameters[i].type);
            if (parameters[i].type == 0)
                parameter.name = "...";
            to.members.push_back(std::move(parameter));
        }
        break;
    }
    default:
        break;
    }
}

void KernelTypes::complete(Type& record) {
    auto found = records_.find(&record);
    if (found == records_.end())
        return;
    auto [in, id] = found->second;
    records_.erase(found);
    const btf_type* from = in->types.at(id);
    if (BtfFile::kind(*from) == BTF_KIND_FWD) {
        // This is only a declaration. Another file may have the definition.
        uint32_t kind = record.kind == Type::Union ? BTF_KIND_UNION : BTF_KIND_STRUCT;
        for (const File& other : files_)
            if (uint32_t defined = other.types.find(record.name, kind)) {
                const Type* whole = sonde::complete(type(other, defined));
                record.members = whole->members;
                record.size = whole->size;
                record.incomplete = false;
                return;
            }
        return;
    }
    // Code that uses members of this type is only right for this build of the module; see check_module().
    if (!in->module.empty())
        modules_used_.insert(in->module);
    // If the flag is set, the offset also contains the size of a bit field.
    bool has_flag = BTF_INFO_KFLAG(from->info);
    const auto* members = BtfFile::entries<struct btf_member>(*from);
    for (uint32_t i = 0; i < BtfFile::entry_count(*from); i++) {
        TypeMember member;
        member.name = in->types.name(members[i].name_off);
        member.type = type(*in, members[i].type);
        uint64_t position = has_flag ? BTF_MEMBER_BIT_OFFSET(members[i].offset) : members[i].offset;
        member.bit_size = has_flag ? BTF_MEMBER_BITFIELD_SIZE(members[i].offset) : 0;
        member.byte_offset = position / 8;
        if (member.bit_size != 0 && strip(member.type))
            place_bits(member, position, strip(member.type)->size);
        record.members.push_back(std::move(member));
    }
}

} // namespace sonde
