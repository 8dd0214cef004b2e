// A compilation unit, and the entries that the index keeps: functions, inlined copies, globals and type definitions,
// each with its name and its offset in .debug_info.
//
// scan() fills a unit in one pass over its DIEs; an entry takes at most 48 bytes. Everything else (types, ranges,
// locations) is read through libdw, for the few DIEs that matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>

#include "frontend/machine/address.h"

namespace sonde {

constexpr uint32_t no_index = UINT32_MAX;

// A namespace, class or function that contains others: part of a qualified name.
struct ScopeEntry {
    const char* name = nullptr; // null: anonymous
    uint32_t parent = no_index;
    bool is_namespace = false;
    bool is_inline = false; // an inline namespace
    Dwarf_Off offset = 0;
};

// A DW_TAG_subprogram or DW_TAG_inlined_subroutine.
struct FunctionEntry {
    Dwarf_Off offset = 0;
    const char* name = nullptr;            // its own DW_AT_name
    const unsigned char* origin = nullptr; // the value of DW_AT_abstract_origin or DW_AT_specification
    uint16_t origin_form = 0;
    bool inlined = false;
    bool has_code = false;
    bool declaration = false;
    uint32_t scope = no_index;  // the enclosing namespace or class, in Unit::scopes
    uint32_t parent = no_index; // the enclosing function, in Unit::functions
};

// A type or a variable.
struct NamedEntry {
    Dwarf_Off offset = 0;
    const char* name = nullptr; // null: must be read from the DIE (a specification)
    int tag = 0;
    bool declaration = false;
    uint32_t scope = no_index;
    bool local = false; // inside a function
};

// A range of addresses [low, high) whose innermost function is `function`. The spans of a unit do not overlap.
struct Span {
    Address low = 0, high = 0;
    uint32_t function = no_index;
};

// A unit: a compilation unit, a partial unit or a type unit.
struct Unit {
    Dwarf* dwarf = nullptr;       // contains `die`; for a split unit, not the module's
    Dwarf_Die unit_die;           // has the line table and ranges; a skeleton for split units
    Dwarf_Die die;                // has the children
    Dwarf_Off begin = 0, end = 0; // offsets of the header and of the end of the last DIE, in the section of `dwarf`
    int version = 0;
    int language = 0;
    bool in_types_section = false; // in .debug_types (DWARF 4), whose offsets are separate

    bool scanned = false;
    std::vector<ScopeEntry> scopes;
    std::vector<FunctionEntry> functions; // in order of offset
    std::vector<NamedEntry> types;        // struct, union, class, enum, typedef, base type
    std::vector<NamedEntry> variables;    // outside functions

    bool spans_built = false;
    std::vector<Span> spans;                       // sorted
    std::multimap<Address, uint32_t> copy_entries; // beginning of an inlined copy -> index in `functions`
};

// A function in a unit; a null `unit` means none.
struct FunctionRef {
    Unit* unit = nullptr;
    uint32_t index = no_index;
    explicit operator bool() const { return unit != nullptr; }
    const FunctionEntry& operator*() const { return unit->functions[index]; }
    const FunctionEntry* operator->() const { return &unit->functions[index]; }
    bool operator==(const FunctionRef&) const = default;
};

// Fills in the unit's scopes, functions, types and variables. Does nothing the second time.
void scan(Unit& unit);

// Finds the DIE of one of the unit's entries. Returns false if it cannot be read.
bool die_at(const Unit& unit, Dwarf_Off offset, Dwarf_Die* die);
// Returns false if the reference is empty or the DIE cannot be read.
bool die_of(FunctionRef function, Dwarf_Die* die);
// Returns the function that contains an inlined copy; the function itself if it is not an inlined copy.
FunctionRef enclosing_subprogram(FunctionRef function);
// Whether `inner` is in the code of `outer`: an inlined copy, or a copy in such a copy.
bool is_inside_of(FunctionRef inner, FunctionRef outer);

// Returns the name as in qualified names: "ns", "(anonymous namespace)".
const char* scope_name(const ScopeEntry& scope);
// Returns "ns::C::", the prefix of names in that scope; "" at the top level.
std::string scope_prefix(const Unit& unit, uint32_t scope);
// The same, from the DIEs around a declaration. For declarations in units that are not scanned. This is slow, because
// libdw searches the whole unit.
std::string scope_prefix(Dwarf_Die& declaration);
// Returns the declaration of a definition (DW_AT_specification); the definition itself if it was not declared before.
Dwarf_Die declaration_of(Dwarf_Die& definition);
// Whether the pattern, which contains `::` or a wildcard, matches the whole qualified name or the part after a `::`.
// The name may be used with or without template arguments, inline namespaces and anonymous namespaces. In names with
// `<`, blanks do not matter.
bool qualified_matches(const Unit& unit, uint32_t scope, std::string_view name, std::string_view pattern);
// Returns "f" for "f<int>" and "f<(anonymous namespace)::T>".
std::string without_template_arguments(std::string_view name);

// Removes blanks, so that `Box<int,3>` equals `Box<int, 3>`.
std::string without_blanks(std::string_view name);

// Returns the part after the last `::` that is not inside template arguments.
std::string_view last_component(std::string_view name);

} // namespace sonde
