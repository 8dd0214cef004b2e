// A compilation unit of debug information, and the entries of it that the index keeps: functions, inlined copies,
// globals and type definitions, each with its place in .debug_info and its name.
//
// scan() fills a unit in one linear pass over its DIEs; an entry takes 48 bytes or less. Everything else (types,
// ranges, locations) is read through libdw for the few DIEs that matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>

#include "frontend/types/address.h"

namespace sonde {

constexpr uint32_t no_index = UINT32_MAX;

// A namespace, class or function that encloses others: parts of a qualified name.
struct ScopeEntry {
    const char* name = nullptr; // null: anonymous
    uint32_t parent = no_index;
    bool is_namespace = false;
    bool is_inline = false; // an inline namespace
};

// A DW_TAG_subprogram or DW_TAG_inlined_subroutine.
struct FunctionEntry {
    Dwarf_Off offset = 0;
    const char* name = nullptr;            // its own DW_AT_name
    const unsigned char* origin = nullptr; // value of DW_AT_abstract_origin or DW_AT_specification
    uint16_t origin_form = 0;
    bool inlined = false;
    bool has_code = false;
    bool declaration = false;
    uint32_t scope = no_index;  // enclosing namespace or class, in Unit::scopes
    uint32_t parent = no_index; // enclosing function, in Unit::functions
};

struct NamedEntry {
    Dwarf_Off offset = 0;
    const char* name = nullptr; // null: look it up through the DIE (a specification)
    int tag = 0;
    bool declaration = false;
    uint32_t scope = no_index;
    bool local = false; // inside a function
};

// Addresses [low, high) whose innermost function is `function`. A unit's spans do not overlap.
struct Span {
    Address low = 0, high = 0;
    uint32_t function = no_index;
};

struct Unit {
    Dwarf* dwarf = nullptr;       // of `die`; a split unit's is not the module's
    Dwarf_Die unit_die;           // has the line table and ranges (a skeleton, for split units)
    Dwarf_Die die;                // has the children
    Dwarf_Off begin = 0, end = 0; // of the header and after the last DIE, in `dwarf`'s section
    int version = 0;
    int language = 0;
    bool in_types_section = false; // of .debug_types (DWARF 4), which counts its offsets anew

    bool scanned = false;
    std::vector<ScopeEntry> scopes;
    std::vector<FunctionEntry> functions; // in order of offset
    std::vector<NamedEntry> types;        // struct, union, class, enum, typedef, base type
    std::vector<NamedEntry> variables;    // outside functions

    bool spans_built = false;
    std::vector<Span> spans;                       // sorted
    std::multimap<Address, uint32_t> copy_entries; // where inlined copies begin -> in `functions`
};

// A function of a unit; `unit` null is none.
struct FunctionRef {
    Unit* unit = nullptr;
    uint32_t index = no_index;
    explicit operator bool() const { return unit != nullptr; }
    const FunctionEntry& operator*() const { return unit->functions[index]; }
    const FunctionEntry* operator->() const { return &unit->functions[index]; }
    bool operator==(const FunctionRef&) const = default;
};

// Fills in the unit's scopes, functions, types and variables, once.
void scan(Unit& unit);

// The DIE of one of the unit's entries; false if it cannot be read.
bool die_at(const Unit& unit, Dwarf_Off offset, Dwarf_Die* die);
// False: there is no function, or its DIE cannot be read.
bool die_of(FunctionRef function, Dwarf_Die* die);
// The subprogram (not inlined copy) that a function is part of; itself for a subprogram.
FunctionRef enclosing_subprogram(FunctionRef function);

// As qualified names have it: "ns", "(anonymous namespace)".
const char* scope_name(const ScopeEntry& scope);
// "ns::C::", what stands before the name of an entry of that scope; empty outside of all.
std::string scope_prefix(const Unit& unit, uint32_t scope);
// The same from the DIEs around a declaration, for what is in no unit that is scanned. libdw looks through the whole
// unit for it.
std::string scope_prefix(Dwarf_Die& declaration);
// What a definition defines (DW_AT_specification); itself for what was not declared before.
Dwarf_Die declaration_of(Dwarf_Die& definition);
// Whether the pattern, which has a `::` or a wildcard, matches the whole qualified name or what follows a `::` in it,
// with and without template arguments, and with and without inline and anonymous namespaces. Blanks make no difference
// where there is a `<`.
bool qualified_matches(const Unit& unit, uint32_t scope, std::string_view name, std::string_view pattern);
// "f<int>" and "f<(anonymous namespace)::T>" are both found as "f".
std::string without_template_arguments(std::string_view name);

// Names with template arguments are compared so: `Box<int,3>` is `Box<int, 3>`.
std::string without_blanks(std::string_view name);

// The part after the last `::` that is not inside template arguments.
std::string_view last_component(std::string_view name);

} // namespace sonde
