// Adds types of kernel modules to the kernel's BTF.
//
// A module's BTF extends the kernel's: the numbers of its types and the offsets of its strings continue after those of
// the kernel. To merge several modules, the types and strings of each are appended to the kernel's, and the numbers of
// all but the first are increased.
//
// Modules that include the same header have the same structure, each in its own BTF. One of them is used. If they
// differ, the one of the module that the script probes is used, or none, because nothing tells which one the script
// means. Where the kernel or another module only declares a type (`struct s;`) and has pointers to it, these pointers
// are changed to point to the definition.
#include "codegen/c/module_types.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/suggest.h"

namespace sonde {
namespace {

constexpr int most_nested = 64;

template <typename Entry> Entry* entries(btf_type& type) { return reinterpret_cast<Entry*>(&type + 1); }

// Calls `names` for each field with the offset of a name, and `types` for each field with the number of a type.
template <typename Names, typename Types> void visit_places(btf_type& type, Names names, Types types) {
    const uint32_t count = BtfFile::entry_count(type);
    names(type.name_off);
    switch (BtfFile::kind(type)) {
    case BTF_KIND_PTR:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_CONST:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
    case BTF_KIND_TYPE_TAG:
        types(type.type);
        break;
    case BTF_KIND_ARRAY:
        types(entries<btf_array>(type)->type);
        types(entries<btf_array>(type)->index_type);
        break;
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        for (uint32_t i = 0; i < count; i++) {
            names(entries<btf_member>(type)[i].name_off);
            types(entries<btf_member>(type)[i].type);
        }
        break;
    case BTF_KIND_ENUM:
        for (uint32_t i = 0; i < count; i++)
            names(entries<btf_enum>(type)[i].name_off);
        break;
    case BTF_KIND_ENUM64:
        for (uint32_t i = 0; i < count; i++)
            names(entries<btf_enum64>(type)[i].name_off);
        break;
    case BTF_KIND_FUNC_PROTO:
        types(type.type);
        for (uint32_t i = 0; i < count; i++) {
            names(entries<btf_param>(type)[i].name_off);
            types(entries<btf_param>(type)[i].type);
        }
        break;
    case BTF_KIND_DATASEC:
        for (uint32_t i = 0; i < count; i++)
            types(entries<btf_var_secinfo>(type)[i].type);
        break;
    default:
        break;
    }
}

// The keyword of a type, for example "struct"; null if C cannot name the type this way.
const char* keyword_of(const btf_type& type) {
    switch (BtfFile::kind(type)) {
    case BTF_KIND_STRUCT:
        return "struct";
    case BTF_KIND_UNION:
        return "union";
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
        return "enum";
    case BTF_KIND_TYPEDEF:
        return "";
    default:
        return nullptr;
    }
}

// Calls `visit` for each name of a definition in C: its own, and those of an enumeration's values.
template <typename Visit> void visit_names(const BtfFile& file, const btf_type& type, Visit visit) {
    const char* keyword = keyword_of(type);
    if (!keyword)
        return;
    if (type.name_off)
        visit(keyword, file.name(type));
    for (uint32_t i = 0; i < BtfFile::entry_count(type); i++)
        if (BtfFile::kind(type) == BTF_KIND_ENUM)
            visit("", file.name(BtfFile::entries<btf_enum>(type)[i].name_off));
        else if (BtfFile::kind(type) == BTF_KIND_ENUM64)
            visit("", file.name(BtfFile::entries<btf_enum64>(type)[i].name_off));
}

// The name of a pointer's target, or "". The target need not be defined in the same BTF.
std::string_view name_of_target(const BtfFile& file, uint32_t id) {
    const btf_type* type = file.resolve(id);
    return type ? file.name(*type) : std::string_view();
}

bool is_same(const BtfFile& file, uint32_t one, uint32_t other, int depth = 0) {
    if (one == other)
        return true;
    const btf_type *a = file.at(one), *b = file.at(other);
    if (!a || !b || depth > most_nested || BtfFile::kind(*a) != BtfFile::kind(*b) || file.name(*a) != file.name(*b) ||
        BtfFile::entry_count(*a) != BtfFile::entry_count(*b))
        return false;
    const uint32_t count = BtfFile::entry_count(*a);
    switch (BtfFile::kind(*a)) {
    case BTF_KIND_PTR: {
        const std::string_view name = name_of_target(file, a->type);
        return name == name_of_target(file, b->type) && (!name.empty() || is_same(file, a->type, b->type, depth + 1));
    }
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_CONST:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_TYPE_TAG:
        return is_same(file, a->type, b->type, depth + 1);
    case BTF_KIND_ARRAY: {
        const auto *x = BtfFile::entries<btf_array>(*a), *y = BtfFile::entries<btf_array>(*b);
        return x->nelems == y->nelems && is_same(file, x->type, y->type, depth + 1);
    }
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION: {
        const auto *x = BtfFile::entries<btf_member>(*a), *y = BtfFile::entries<btf_member>(*b);
        for (uint32_t i = 0; i < count; i++)
            if (file.name(x[i].name_off) != file.name(y[i].name_off) || x[i].offset != y[i].offset ||
                !is_same(file, x[i].type, y[i].type, depth + 1))
                return false;
        return a->size == b->size;
    }
    case BTF_KIND_ENUM: {
        const auto *x = BtfFile::entries<btf_enum>(*a), *y = BtfFile::entries<btf_enum>(*b);
        for (uint32_t i = 0; i < count; i++)
            if (file.name(x[i].name_off) != file.name(y[i].name_off) || x[i].val != y[i].val)
                return false;
        return a->size == b->size;
    }
    case BTF_KIND_ENUM64: {
        const auto *x = BtfFile::entries<btf_enum64>(*a), *y = BtfFile::entries<btf_enum64>(*b);
        for (uint32_t i = 0; i < count; i++)
            if (file.name(x[i].name_off) != file.name(y[i].name_off) || x[i].val_lo32 != y[i].val_lo32 ||
                x[i].val_hi32 != y[i].val_hi32)
                return false;
        return a->size == b->size;
    }
    case BTF_KIND_FUNC_PROTO: // types contain functions only through pointers, so no offset depends on this
        return true;
    default:
        return a->size == b->size;
    }
}

std::string spell(const CTypeName& name) {
    return name.keyword.empty() ? name.name : fmt::format("{} {}", name.keyword, name.name);
}

} // namespace

const BtfFile& ModuleTypes::kernel() {
    if (!kernel_)
        kernel_.emplace(kernel_bytes_);
    return *kernel_;
}

void ModuleTypes::read_modules() {
    if (read_)
        return;
    read_.emplace();
    for (const std::string& name : modules_.names()) {
        Result<std::string> bytes = modules_.btf(name);
        if (!bytes) // built without BTF, or just unloaded
            continue;
        Module& module = read_->emplace_back();
        module.name = name;
        module.bytes = *std::move(bytes);
        module.types.emplace(module.bytes, &kernel());
        if (!module.types->complete())
            read_->pop_back();
    }
}

bool ModuleTypes::find(const std::set<CTypeName>& names) {
    std::set<CTypeName> fresh;
    std::set_difference(names.begin(), names.end(), asked_.begin(), asked_.end(), std::inserter(fresh, fresh.end()));
    if (fresh.empty())
        return false;
    asked_.insert(fresh.begin(), fresh.end());
    read_modules();
    const size_t before = found_.size();
    for (Module& module : *read_)
        for (uint32_t id = module.types->first(); id < module.types->count(); id++)
            visit_names(*module.types, *module.types->at(id), [&](const char* keyword, std::string_view name) {
                const CTypeName named{keyword, std::string(name)};
                if (fresh.contains(named)) {
                    found_.insert(named);
                    module.is_merged = true;
                }
            });
    if (found_.size() == before)
        return false;
    const size_t differed = differ_.size();
    merge();
    choose();
    return found_.size() - before > differ_.size() - differed;
}

// Appends the types and names of a module. In its own BTF, each module counts from the end of the kernel's:
//
//                            own numbers      after merging
//     kernel                 1 to N           1 to N
//     module a, 20 types     N + 1 to N + 20  the same
//     module b, 30 types     N + 1 to N + 30  N + 21 to N + 50
//
// So numbers up to N stay, and higher ones are increased by the types of the modules before. The same holds for offsets
// of names.
void ModuleTypes::append(Module& module, std::string& types, std::string& names) {
    const BtfFile& own = *module.types;
    const auto kernel_names = static_cast<uint32_t>(kernel().name_bytes().size());
    const uint32_t more_names = static_cast<uint32_t>(names.size()) - kernel_names,
                   more_types = module.first - own.first();
    const size_t begin = types.size();
    types += own.type_bytes();
    names += own.name_bytes();
    for (uint32_t id = own.first(); id < own.count(); id++) {
        const auto place = static_cast<size_t>(reinterpret_cast<const char*>(own.at(id)) - own.type_bytes().data());
        visit_places(
            *reinterpret_cast<btf_type*>(types.data() + begin + place),
            [&](uint32_t& offset) { offset += offset < kernel_names ? 0 : more_names; },
            [&](uint32_t& number) { number += number < own.first() ? 0 : more_types; });
    }
}

void ModuleTypes::merge() {
    std::string types(kernel().type_bytes()), names(kernel().name_bytes());
    uint32_t count = kernel().count();
    for (Module& module : *read_) {
        module.first = count;
        if (!module.is_merged)
            continue;
        append(module, types, names);
        count += module.types->count() - module.types->first();
    }
    btf_header header{};
    header.magic = BTF_MAGIC;
    header.version = BTF_VERSION;
    header.hdr_len = sizeof header;
    header.type_len = header.str_off = static_cast<uint32_t>(types.size());
    header.str_len = static_cast<uint32_t>(names.size());
    merged_.assign(reinterpret_cast<const char*>(&header), sizeof header);
    merged_ += types;
    merged_ += names;
}

// Chooses one definition of each type that was found. Pointers to other types of that name are changed to point to it.
void ModuleTypes::choose() {
    const BtfFile all(merged_);
    chosen_.clear();
    differ_.clear();
    std::map<CTypeName, std::vector<uint32_t>> definitions, declarations;
    for (uint32_t id = 1; id < all.count(); id++) {
        const btf_type& type = *all.at(id);
        if (id >= kernel().count())
            visit_names(all, type, [&](const char* keyword, std::string_view name) {
                if (CTypeName named{keyword, std::string(name)}; found_.contains(named))
                    definitions[std::move(named)].push_back(id);
            });
        if (BtfFile::kind(type) == BTF_KIND_FWD)
            if (CTypeName named{BTF_INFO_KFLAG(type.info) ? "union" : "struct", std::string(all.name(type))};
                found_.contains(named))
                declarations[std::move(named)].push_back(id);
    }
    auto module_of = [&](uint32_t id) -> const std::string& {
        return std::find_if(read_->rbegin(), read_->rend(),
                            [&](const Module& one) { return one.is_merged && one.first <= id; })
            ->name;
    };
    std::map<uint32_t, uint32_t> instead;
    for (const auto& [name, ids] : definitions) {
        std::vector<uint32_t> meant;
        std::copy_if(ids.begin(), ids.end(), std::back_inserter(meant),
                     [&](uint32_t id) { return probed_.contains(module_of(id)); });
        if (meant.empty())
            meant = ids;
        const uint32_t one = meant[0];
        const auto other =
            std::find_if(meant.begin(), meant.end(), [&](uint32_t id) { return !is_same(all, one, id); });
        if (other != meant.end()) {
            differ_[name] = fmt::format("the modules `{}` and `{}` have different types of this name; probe only one "
                                        "of these modules, or declare the type yourself under another name",
                                        module_of(one), module_of(*other));
            continue;
        }
        chosen_.insert(one);
        for (uint32_t id : ids)
            if (is_same(all, one, id))
                instead[id] = one;
        for (uint32_t id : declarations[name])
            instead[id] = one;
    }
    for (uint32_t id = 1; id < all.count(); id++)
        visit_places(
            *const_cast<btf_type*>(all.at(id)), [](uint32_t&) {}, // merged_ belongs to this object
            [&](uint32_t& number) {
                if (auto found = instead.find(number); found != instead.end())
                    number = found->second;
            });
}

std::set<std::string> ModuleTypes::used() const {
    std::set<std::string> names;
    for (const Module& module : read_ ? *read_ : std::deque<Module>())
        if (module.is_merged)
            names.insert(module.name);
    return names;
}

std::string ModuleTypes::why_missing(const CTypeName& name) {
    if (auto found = differ_.find(name); found != differ_.end())
        return found->second;
    // Other names without a keyword are usually variables.
    if (!asked_.contains(name) || found_.contains(name) || (name.keyword.empty() && !name.name.ends_with("_t")))
        return "";
    std::vector<std::string> known;
    auto collect = [&](const BtfFile& file) {
        for (uint32_t id = file.first(); id < file.count(); id++) {
            const btf_type& type = *file.at(id);
            if (const char* keyword = keyword_of(type); keyword && keyword == name.keyword && type.name_off)
                known.emplace_back(file.name(type));
        }
    };
    collect(kernel());
    for (const Module& module : *read_)
        collect(*module.types);
    const std::string nearest = nearest_name(name.name, known);
    if (nearest == name.name) // the type exists; the message has another cause
        return "";
    std::string out = read_->empty() ? fmt::format("the kernel does not have `{}`, and no module with types is {}",
                                                   spell(name), modules_.state)
                                     : fmt::format("neither the kernel nor any of the {} {} modules has `{}`",
                                                   read_->size(), modules_.state, spell(name));
    if (!nearest.empty())
        out += fmt::format("; did you mean `{}`?", spell({name.keyword, nearest}));
    if (modules_.state == "loaded")
        out += fmt::format("{} the types of a module are known only while the module is loaded",
                           nearest.empty() ? ";" : "");
    return out;
}

} // namespace sonde
