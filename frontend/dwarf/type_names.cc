// Types and globals by the names that a script writes: `@cast(p, "struct s*")`, `@var("ns::x@source.c")`.
#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include <dwarf.h>

#include <fmt/format.h>

#include "frontend/dwarf/reader.h"

namespace sonde {
namespace {

std::string_view trim(std::string_view text) {
    size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// Removes `word` from the front, or from the end; false if it is not there.
bool take_first(std::string_view& text, std::string_view word) {
    if (text.size() <= word.size() || !text.starts_with(word) ||
        (text[word.size()] != ' ' && text[word.size()] != '\t'))
        return false;
    text = trim(text.substr(word.size()));
    return true;
}

bool take_last(std::string_view& text, std::string_view word) {
    if (text.size() <= word.size() || !text.ends_with(word))
        return false;
    char before = text[text.size() - word.size() - 1];
    if (before != ' ' && before != '\t' && before != '*')
        return false;
    text = trim(text.substr(0, text.size() - word.size()));
    return true;
}

struct TypeName {
    std::string_view name; // without the rest
    int tag = 0;           // of the keyword; 0 without one
    int stars = 0;
};

TypeName parse_type_name(std::string_view text) {
    TypeName parsed;
    text = trim(text);
    for (bool more = true; more;) {
        more = take_last(text, "const") || take_last(text, "volatile");
        if (text.ends_with('*')) {
            text = trim(text.substr(0, text.size() - 1));
            parsed.stars++;
            more = true;
        }
    }
    while (take_first(text, "const") || take_first(text, "volatile"))
        ;
    if (take_first(text, "struct") || take_first(text, "class"))
        parsed.tag = DW_TAG_structure_type;
    else if (take_first(text, "union"))
        parsed.tag = DW_TAG_union_type;
    else if (take_first(text, "enum"))
        parsed.tag = DW_TAG_enumeration_type;
    if (text.starts_with("::"))
        text = trim(text.substr(2));
    parsed.name = text;
    return parsed;
}

int without_class(int tag) { return tag == DW_TAG_class_type ? DW_TAG_structure_type : tag; }

const char* keyword_of(int tag) {
    switch (without_class(tag)) {
    case DW_TAG_structure_type:
        return "struct ";
    case DW_TAG_union_type:
        return "union ";
    case DW_TAG_enumeration_type:
        return "enum ";
    default:
        return "";
    }
}

// One spelling for "unsigned long", "long unsigned int" and "unsigned long int"; empty if it is no integer type.
std::string integer_name(std::string_view name) {
    int longs = 0, shorts = 0, chars = 0, ints = 0, is_unsigned = 0, is_signed = 0;
    for (std::string_view rest = trim(name); !rest.empty();) {
        std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
        int& count = word == "long"       ? longs
                     : word == "short"    ? shorts
                     : word == "char"     ? chars
                     : word == "int"      ? ints
                     : word == "unsigned" ? is_unsigned
                                          : is_signed;
        if (&count == &is_signed && word != "signed")
            return "";
        count++;
        rest = trim(rest.substr(word.size()));
    }
    bool other_size = longs + shorts + chars > 0;
    if ((is_unsigned && is_signed) || (!other_size && ints + is_unsigned + is_signed == 0) ||
        (longs > 0) + (shorts > 0) + (chars > 0) > 1)
        return "";
    std::string text = is_unsigned ? "unsigned" : chars && is_signed ? "signed" : "";
    for (int i = 0; i < longs; i++)
        text += " long";
    text += shorts ? " short" : chars ? " char" : longs ? "" : " int";
    return text;
}

// The part behind the last `::` that is not inside template arguments.
std::string_view last_component(std::string_view name) {
    int depth = 0;
    for (size_t i = name.size(); i-- > 1;) {
        if (name[i] == '>')
            depth++;
        else if (name[i] == '<')
            depth--;
        else if (depth == 0 && name[i] == ':' && name[i - 1] == ':')
            return name.substr(i + 1);
    }
    return name;
}

// "ns::C::x" is found by "C::x" too.
bool ends_in_name(std::string_view qualified, std::string_view name) {
    return qualified.ends_with(name) &&
           (qualified.size() == name.size() || qualified.substr(0, qualified.size() - name.size()).ends_with("::"));
}

std::string without_anonymous(std::string name) {
    constexpr std::string_view part = "(anonymous namespace)::";
    for (size_t at; (at = name.find(part)) != std::string::npos;)
        name.erase(at, part.size());
    return name;
}

const Type void_type = [] {
    Type type;
    type.kind = Type::Void;
    type.name = "void";
    return type;
}();

} // namespace

const NamedEntry* DwarfReader::best_type(std::string_view name, int tag, Unit* near, Unit** unit) {
    index_definitions();
    std::string_view last = last_component(name);
    using Rank = std::tuple<bool, bool, bool, int, Dwarf_Off, Dwarf_Off>;
    Rank best_rank;
    const NamedEntry* best = nullptr;
    auto consider = [&](Unit& candidate_unit, const NamedEntry& entry) {
        int kind = without_class(entry.tag);
        if ((tag != 0 && kind != tag) ||
            (last.size() != name.size() && !qualified_matches(candidate_unit, entry.scope, entry.name, name)))
            return;
        // Without a keyword a typedef's name comes first, as in C.
        int order = kind == DW_TAG_typedef || kind == DW_TAG_base_type ? 0
                    : kind == DW_TAG_structure_type                    ? 1
                    : kind == DW_TAG_union_type                        ? 2
                                                                       : 3;
        Rank rank(entry.local, &candidate_unit != near, entry.scope != no_index, order, candidate_unit.begin,
                  entry.offset);
        if (!best || rank < best_rank) {
            best = &entry;
            best_rank = rank;
            *unit = &candidate_unit;
        }
    };
    auto [first, end] = definitions_.equal_range(last);
    for (auto entry = first; entry != end; ++entry)
        consider(*entry->second.first, entry->second.first->types[entry->second.second]);
    std::string integer = best || tag != 0 ? "" : integer_name(name);
    if (integer.empty())
        return best;
    for (Unit& candidate_unit : units_.all())
        for (const NamedEntry& entry : candidate_unit.types)
            if (entry.tag == DW_TAG_base_type && integer_name(entry.name) == integer)
                consider(candidate_unit, entry);
    return best;
}

const Type* DwarfReader::find_type(std::string_view text, DieOffset near) {
    TypeName wanted = parse_type_name(text);
    constexpr int max_stars = 16;
    if (wanted.name.empty() || wanted.stars > max_stars)
        return nullptr;
    const Type* type = nullptr;
    if (wanted.name == "void" && wanted.tag == 0) {
        type = &void_type;
    } else {
        Dwarf_Die die;
        Unit* near_unit = units_.unit_of(near);
        Unit* unit = nullptr;
        const NamedEntry* entry = best_type(wanted.name, wanted.tag, near_unit, &unit);
        if (entry && dwarf_offdie(unit->dwarf, entry->offset, &die))
            type = type_from(die);
        else if (!debug_.found())
            type = go_runtime_type(wanted.name);
        if (!type)
            return nullptr;
    }
    complete_deep(type);
    for (int i = 0; i < wanted.stars; i++) {
        Type& pointer = types_.emplace_back();
        pointer.kind = Type::Pointer;
        pointer.size = 8;
        pointer.target = type->kind == Type::Void ? nullptr : type;
        type = &pointer;
    }
    return type;
}

// Anonymous enumerations are where constants live, and no index has them.
std::optional<int64_t> DwarfReader::enumerator_below(Dwarf_Die& parent, std::string_view name, bool in_structures,
                                                     int depth) {
    constexpr int max_depth = 16;
    Dwarf_Die die;
    if (depth > max_depth || dwarf_child(&parent, &die) != 0)
        return std::nullopt;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_enumeration_type) {
            for (const Enumerator& one : type_from(die)->enumerators)
                if (one.name == name)
                    return one.value;
        } else if (tag == DW_TAG_namespace ||
                   (in_structures &&
                    (tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type))) {
            if (std::optional<int64_t> value = enumerator_below(die, name, in_structures, depth + 1))
                return value;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return std::nullopt;
}

std::optional<int64_t> DwarfReader::enumerator(std::string_view name, DieOffset near) {
    std::string_view last = last_component(name);
    Unit* near_unit = units_.unit_of(near);
    if (near_unit)
        if (std::optional<int64_t> value = enumerator_below(near_unit->unit_die, last, true, 0))
            return value;
    for (Unit& unit : units_.all())
        if (&unit != near_unit)
            if (std::optional<int64_t> value = enumerator_below(unit.unit_die, last, true, 0))
                return value;
    return std::nullopt;
}

std::vector<std::string> DwarfReader::type_names() {
    std::set<std::string> names;
    for (Unit& unit : units_.all()) {
        scan(unit);
        for (const NamedEntry& entry : unit.types) {
            if (entry.declaration)
                continue;
            std::string plain = entry.name, keyword = keyword_of(entry.tag);
            names.insert(keyword + plain);
            if (entry.scope != no_index)
                names.insert(scope_prefix(unit, entry.scope) + plain);
            names.insert(std::move(plain));
        }
    }
    return {names.begin(), names.end()};
}

// The name with its namespaces and class; a definition outside of them takes them from its declaration.
std::string DwarfReader::qualified_global(Dwarf_Die& die) {
    const char* name = dwarf_diename(&die);
    if (!name)
        return "";
    std::string text = name;
    Dwarf_Attribute attribute;
    Dwarf_Die declaration = die;
    Dwarf_Die* scopes = nullptr;
    if (dwarf_attr(&die, DW_AT_specification, &attribute) && !dwarf_formref_die(&attribute, &declaration))
        return text;
    Dwarf_Off offset = dwarf_dieoffset(&declaration);
    if (Unit* unit = units_.unit_of(declaration)) {
        scan(*unit);
        auto entry = std::lower_bound(unit->variables.begin(), unit->variables.end(), offset,
                                      [](const NamedEntry& one, Dwarf_Off value) { return one.offset < value; });
        if (entry != unit->variables.end() && entry->offset == offset)
            return scope_prefix(*unit, entry->scope) + text;
    }
    // A static member before DWARF 5; libdw looks through the whole unit for it.
    int count = dwarf_getscopes_die(&declaration, &scopes);
    for (int i = 1; i < count; i++) { // the first is the declaration itself, the last the unit
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_namespace && tag != DW_TAG_structure_type && tag != DW_TAG_class_type &&
            tag != DW_TAG_union_type)
            break;
        const char* scope = dwarf_diename(&scopes[i]);
        text = fmt::format("{}::{}", scope_name({scope, no_index, tag == DW_TAG_namespace, false}), text);
    }
    if (count > 0)
        free(scopes);
    return text;
}

std::vector<Variable> DwarfReader::globals(std::string_view name, std::string_view file) {
    std::vector<Variable> found;
    std::string_view last = last_component(name);
    std::string pattern(file);
    for (Unit& unit : units_.all()) {
        scan(unit);
        for (const NamedEntry& entry : unit.variables) {
            Dwarf_Die die;
            if (entry.declaration || (entry.name && entry.name != last) ||
                !dwarf_offdie(unit.dwarf, entry.offset, &die))
                continue;
            const char* plain = entry.name ? entry.name : dwarf_diename(&die);
            if (!plain || plain != last)
                continue;
            if (last.size() != name.size() && !qualified_matches(unit, entry.scope, plain, name)) {
                std::string qualified = qualified_global(die);
                if (!ends_in_name(qualified, name) && !ends_in_name(without_anonymous(qualified), name))
                    continue;
            }
            const char* unit_name = dwarf_diename(&unit.unit_die);
            std::string declared = declaration_file(die);
            if (!file_matches(pattern, declared) && !(unit_name && file_matches(pattern, unit_name)))
                continue;
            std::optional<Variable> variable = make_variable(die);
            if (!variable)
                continue;
            variable->is_global = true;
            variable->file = declared;
            variable->external = flag_attribute(die, DW_AT_external);
            found.push_back(*std::move(variable));
        }
    }
    return found;
}

std::vector<std::string> DwarfReader::global_names() {
    std::set<std::string> names;
    for (Unit& unit : units_.all()) {
        scan(unit);
        for (const NamedEntry& entry : unit.variables) {
            Dwarf_Die die;
            const char* name = entry.name;
            if (!name && dwarf_offdie(unit.dwarf, entry.offset, &die))
                name = dwarf_diename(&die);
            if (name && !entry.declaration)
                names.emplace(name);
        }
    }
    return {names.begin(), names.end()};
}

} // namespace sonde
