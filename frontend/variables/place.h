// Where a value is: in memory, or in parts that are registers, constants and pieces of memory. Components walk from
// place to place; reading one makes HIR (reading.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/variables/binding.h"

namespace sonde {

// Some bytes of a value that is not (all) in memory.
struct PlacePart {
    uint64_t offset = 0; // in the whole value
    uint64_t size = 0;
    enum Kind { Memory, Value, Missing } kind = Missing;
    hir::Expr* expr = nullptr; // Memory: the address; Value: the bytes, lowest first
    std::string why;           // Missing
};

// Where a value of `type` is.
struct Place {
    const Type* type = nullptr;
    hir::Expr* address = nullptr;    // in memory; else `parts`
    std::vector<PlacePart> parts;    // not in memory: the whole variable
    uint64_t offset = 0;             // of this value in `parts`
    uint32_t bit_offset = 0;         // a bitfield's lowest bit in the unit of the type's size
    uint32_t bit_size = 0;           // 0: no bitfield
    hir::Expr* descriptor = nullptr; // of the array that it is an inner dimension of
    bool at_entry = false;           // expressions hold at the function's entry: what is loaded must be saved there
    bool kernel = false;             // what it is in or points to is the kernel's memory
};

// A program's object in memory.
Place object_at(hir::Expr* address, const Type* type);
// A value of up to eight bytes that HIR gives.
Place value_place(const Type* type, hir::Expr* value);
// An enumerator's value, where a variable might stand.
Place constant_place(Binding& b, int64_t value);
// The part with the byte at `offset`; null: there is none.
const PlacePart* part_at(const Place& place, uint64_t offset);

// What an array's steps from its own address come to; null where the array is not in memory.
hir::Expr* follow_steps(Binding& b, const Place& array, const std::vector<ArrayStep>& steps);
// Where the array's elements begin; null where it is not in memory.
hir::Expr* first_element(Binding& b, const Place& array);

// A record's member.
Place inside(Binding& b, const Place& record, const TypeMember& member);
// `path` is members' names with dots between them. None if there is no such member; no report.
std::optional<Place> field(Binding& b, Place place, std::string_view path);

} // namespace sonde
