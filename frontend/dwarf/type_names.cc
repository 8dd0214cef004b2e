// A name in a script is C source text: "const struct s *", "unsigned long", "ns::C<int>". It is parsed only as far as
// the index needs it: a keyword, a name, and the number of stars. Qualifiers are dropped, because they do not change
// the layout.
//
// A name can have several definitions, for example `struct node` in two files. A C compiler would use the one in scope.
// Here the scope is a probe point, so definitions in its unit are preferred (`near`), then global ones. The choice must
// not depend on the order in which a hash table returns its entries: a script must mean the same in each session.
#include "frontend/dwarf/type_names.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include <dwarf.h>

#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/go.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/scopes.h"
#include "frontend/dwarf/type_definitions.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {
namespace {

std::string_view trim(std::string_view text) {
    size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// Removes `word` from the front or the end of the text. Returns false if the text does not begin or end with `word`.
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

// The parts of a parsed name.
struct TypeName {
    std::string_view name; // without keyword and stars
    int tag = 0;           // of the keyword; 0 if there is none
    int stars = 0;
};

// Parses "const struct s * const *" and similar names. Qualifiers do not matter for finding the type.
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

// In C++, `struct` and `class` name the same types.
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

// Returns one spelling for "unsigned long", "long unsigned int" and "unsigned long int"; "" if the name is not an
// integer type.
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

// Returns the unit of the source in which a DIE is. dwz moves DIEs that sources share to partial units, which belong to
// no source.
Unit* unit_of_source(UnitIndex& units, DebugFiles& debug, DieOffset near) {
    Dwarf_Die die;
    if (debug.unpack(near, &die)) {
        die = original(die);
        Unit* unit = units.unit_of(die);
        if (unit && dwarf_tag(&unit->die) != DW_TAG_partial_unit)
            return unit;
    }
    return units.unit_of(near);
}

const Type void_type = [] {
    Type type;
    type.kind = Type::Void;
    type.name = "void";
    return type;
}();

} // namespace

// Several types can have the same name: in other units, in other scopes, or a structure and a typedef. Finds the type
// that the compiler would choose in the source at the probe. The index does not always have enough information for
// this.
const NamedEntry* TypeNames::best_type(std::string_view name, int tag, Unit* near, Unit** unit) {
    // The tuple orders the candidates: global before local to a function, the same unit before others, the top level
    // before scopes, then by kind. The offsets make the choice deterministic.
    std::string_view last = last_component(name);
    using Rank = std::tuple<bool, bool, bool, int, Dwarf_Off, Dwarf_Off>;
    Rank best_rank;
    const NamedEntry* best = nullptr;
    auto consider = [&](Unit& candidate_unit, const NamedEntry& entry) {
        int kind = without_class(entry.tag);
        if ((tag != 0 && kind != tag) ||
            (last.size() != name.size() && !qualified_matches(candidate_unit, entry.scope, entry.name, name)))
            return;
        // Without a keyword, a typedef takes precedence, as in C.
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
    definitions_.for_each_named(last, consider);
    // No type has exactly this name, but C has several spellings for integer types.
    std::string integer = best || tag != 0 ? "" : integer_name(name);
    if (integer.empty())
        return best;
    units_.for_each_with_types([&](Unit& candidate_unit) {
        for (const NamedEntry& entry : candidate_unit.types)
            if (entry.tag == DW_TAG_base_type && integer_name(entry.name) == integer)
                consider(candidate_unit, entry);
    });
    return best;
}

const Type* TypeNames::find_type(std::string_view text, DieOffset near) {
    TypeName wanted = parse_type_name(text);
    constexpr int max_stars = 16;
    if (wanted.name.empty() || wanted.stars > max_stars)
        return nullptr;
    const Type* type = nullptr;
    if (wanted.name == "void" && wanted.tag == 0) {
        type = &void_type;
    } else {
        Dwarf_Die die;
        Unit* near_unit = unit_of_source(units_, debug_, near);
        Unit* unit = nullptr;
        const NamedEntry* entry = best_type(wanted.name, wanted.tag, near_unit, &unit);
        if (entry && die_at(*unit, entry->offset, &die))
            type = types_.type_from(die);
        else if (!debug_.found())
            type = go_runtime_type(file_.elf(), wanted.name, types_);
        if (!type)
            return nullptr;
    }
    complete_deep(type);
    for (int i = 0; i < wanted.stars; i++) {
        Type& pointer = types_.add();
        pointer.kind = Type::Pointer;
        pointer.size = file_.is_32_bit() ? 4 : 8;
        pointer.target = type->kind == Type::Void ? nullptr : type;
        type = &pointer;
    }
    return type;
}

// Constants are often in anonymous enumerations, which no index contains.
std::optional<int64_t> TypeNames::enumerator_below(Dwarf_Die& parent, std::string_view name, bool in_structures,
                                                   int depth) {
    constexpr int max_depth = 16;
    Dwarf_Die die;
    if (depth > max_depth || dwarf_child(&parent, &die) != 0)
        return std::nullopt;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_enumeration_type) {
            for (const Enumerator& one : types_.type_from(die)->enumerators)
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

// The unit of the probe point comes first: two units can have an enumerator with the same name and different values.
std::optional<int64_t> TypeNames::enumerator(std::string_view name, DieOffset near) {
    std::string_view last = last_component(name);
    Unit* near_unit = unit_of_source(units_, debug_, near);
    if (near_unit)
        if (std::optional<int64_t> value = enumerator_below(near_unit->die, last, true, 0))
            return value;
    std::optional<int64_t> value;
    units_.for_each_with_types([&](Unit& unit) {
        if (!value && &unit != near_unit)
            value = enumerator_below(unit.die, last, true, 0);
    });
    return value;
}

std::vector<std::string> TypeNames::all() {
    std::set<std::string> names;
    units_.for_each_with_types([&](Unit& unit) {
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
    });
    return {names.begin(), names.end()};
}

std::optional<int64_t> TypeNames::visible_enumerator(const FunctionInstance& function, Address address,
                                                     std::string_view name) {
    FunctionRef found = units_.find_function(function.die);
    std::vector<Dwarf_Die> scopes = scopes_around(found, address);
    if (scopes.empty())
        return std::nullopt;
    scan(*found.unit);
    // In C, an enumeration inside a structure belongs to the enclosing scope; in C++, to the class.
    const bool inside = is_c_language(found.unit->language);
    if (const Unit* source = unit_of_source(units_, debug_, function.die))
        scopes.push_back(source->die);
    scopes.push_back(found.unit->die);
    for (Dwarf_Die& scope : scopes)
        if (std::optional<int64_t> value = enumerator_below(scope, name, inside, 0))
            return value;
    return std::nullopt;
}

} // namespace sonde
