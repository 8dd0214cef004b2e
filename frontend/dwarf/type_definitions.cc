// A program has many declarations of a type (`struct file;`) and few definitions. Reading a member through a pointer to
// a declared type needs the definition, which is often in another unit. The index maps names to all definitions.
//
// C allows two different types with the same name in two files, and then the definition of the declaring unit is the
// right one. In C++ the scopes must agree, too: `a::node` and `b::node` are different types. And with
// -gsimple-template-names, `Box<int>` and `Box<long>` both have the name `Box`. Then the arguments are compared.
#include "frontend/dwarf/type_definitions.h"

#include <algorithm>
#include <cstring>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/debug/die.h"

namespace sonde {

// Declarations are not indexed: nobody searches for them.
void TypeDefinitions::index() {
    if (indexed_)
        return;
    indexed_ = true;
    units_.for_each_with_types([&](Unit& unit) {
        scan(unit);
        for (uint32_t i = 0; i < unit.types.size(); i++)
            if (!unit.types[i].declaration)
                by_name_.emplace(unit.types[i].name, std::pair(&unit, i));
    });
}

bool TypeDefinitions::find(Dwarf_Die& declaration, Dwarf_Die* definition) {
    const char* name = dwarf_diename(&declaration);
    if (!name)
        return false;
    index();
    // In C++, the scopes must agree as well.
    Unit* own = units_.unit_of(declaration);
    const std::string prefix = scope_of(declaration), arguments = arguments_of(declaration);
    bool is_enum = dwarf_tag(&declaration) == DW_TAG_enumeration_type;
    bool is_union = dwarf_tag(&declaration) == DW_TAG_union_type;
    const std::pair<Unit*, uint32_t>* best = nullptr;
    auto [first, last] = by_name_.equal_range(name);
    for (auto entry = first; entry != last; ++entry) {
        const NamedEntry& type = entry->second.first->types[entry->second.second];
        if (type.local || type.tag == DW_TAG_typedef || type.tag == DW_TAG_base_type ||
            (type.tag == DW_TAG_enumeration_type) != is_enum || (type.tag == DW_TAG_union_type) != is_union ||
            scope_prefix(*entry->second.first, type.scope) != prefix ||
            arguments_of(*entry->second.first, type) != arguments)
            continue;
        // Prefer the same unit; otherwise the first definition in the file, so that the result is deterministic.
        bool better = !best || (entry->second.first == own && best->first != own) ||
                      (best->first != own && entry->second.first->begin < best->first->begin);
        if (better)
            best = &entry->second;
    }
    return best && die_at(*best->first, best->first->types[best->second].offset, definition);
}

std::string TypeDefinitions::scope_of(Dwarf_Die& die) {
    Dwarf_Die declaration = declaration_of(die);
    Dwarf_Off offset = dwarf_dieoffset(&declaration);
    Unit* unit = units_.unit_of(declaration);
    if (!unit)
        return scope_prefix(declaration);
    scan(*unit);
    auto entry = std::lower_bound(unit->types.begin(), unit->types.end(), offset,
                                  [](const NamedEntry& one, Dwarf_Off value) { return one.offset < value; });
    bool found = entry != unit->types.end() && entry->offset == offset;
    return found ? scope_prefix(*unit, entry->scope) : scope_prefix(declaration);
}

// Returns a text that is the same for the same type in all units. It need not be readable.
std::string TypeDefinitions::text_of(Dwarf_Die type, int depth) {
    constexpr int max_depth = 16;
    if (depth > max_depth)
        return "?";
    std::string text = fmt::format("{:x} ", dwarf_tag(&type));
    if (const char* name = dwarf_diename(&type))
        return text + scope_of(type) + name + parameters_of(type, depth + 1);
    // A type without a name: a pointer, an array, a function, and so on.
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    if (dwarf_attr_integrate(&type, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, &target))
        text += text_of(target, depth + 1);
    for_each_child(type, [&](Dwarf_Die& child) {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_formal_parameter || tag == DW_TAG_subrange_type)
            text += "," + text_of(child, depth + 1);
        return true;
    });
    for (unsigned number : {DW_AT_count, DW_AT_upper_bound})
        if (std::optional<uint64_t> value = number_attribute(type, number))
            text += fmt::format("[{}]", *value);
    return text;
}

std::string TypeDefinitions::parameters_of(Dwarf_Die& type, int depth) {
    std::string text;
    const char* name = dwarf_diename(&type);
    if (name && strchr(name, '<'))
        return text;
    const auto visit = [&](auto& self, Dwarf_Die& child) -> bool {
        Dwarf_Attribute attribute;
        Dwarf_Die argument;
        switch (dwarf_tag(&child)) {
        case DW_TAG_template_value_parameter:
            text += fmt::format("<={}", number_attribute(child, DW_AT_const_value).value_or(0));
            [[fallthrough]];
        case DW_TAG_template_type_parameter:
            text += "<";
            if (dwarf_attr(&child, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, &argument))
                text += text_of(argument, depth + 1);
            break;
        case DW_TAG_GNU_template_template_param:
            if (const char* target = string_attribute(child, DW_AT_GNU_template_name))
                text += fmt::format("<{}", target);
            break;
        case DW_TAG_GNU_template_parameter_pack:
            for_each_child(child, [&](Dwarf_Die& packed) { return self(self, packed); });
            break;
        default:
            break;
        }
        return true;
    };
    for_each_child(type, [&](Dwarf_Die& child) { return visit(visit, child); });
    return text;
}

std::string TypeDefinitions::arguments_of(const Unit& unit, const NamedEntry& type) {
    const auto [known, is_new] = arguments_.try_emplace(&type);
    if (!is_new)
        return known->second;
    Dwarf_Die die;
    std::string text = die_at(unit, type.offset, &die) ? parameters_of(die, 0) : "";
    for (uint32_t at = type.scope; at != no_index; at = unit.scopes[at].parent)
        if (!unit.scopes[at].is_namespace && die_at(unit, unit.scopes[at].offset, &die))
            text += "::" + parameters_of(die, 0);
    return arguments_[&type] = text;
}

std::string TypeDefinitions::arguments_of(Dwarf_Die& die) {
    Dwarf_Die declaration = declaration_of(die);
    const Dwarf_Off offset = dwarf_dieoffset(&declaration);
    if (Unit* unit = units_.unit_of(declaration)) {
        scan(*unit);
        auto entry = std::lower_bound(unit->types.begin(), unit->types.end(), offset,
                                      [](const NamedEntry& one, Dwarf_Off value) { return one.offset < value; });
        if (entry != unit->types.end() && entry->offset == offset)
            return arguments_of(*unit, *entry);
    }
    return parameters_of(declaration, 0);
}

void TypeDefinitions::forget() {
    arguments_.clear();
    by_name_.clear();
    indexed_ = false;
}

} // namespace sonde
