// A place: where a value is. It is in memory, or consists of parts that are registers, constants and pieces of memory.
// Components go from place to place; reading.h turns a place into HIR.
//
// For example, `$p->next->size` begins with the place of `$p`, which may be the register rdi. `->next` reads it, and
// the new place is the memory at that address plus the member's offset. `->size` does the same again. Only then is the
// value of the last place loaded. So `&$p->next->size` and an assignment use the same places.
//
// A structure that the compiler keeps in two registers is a place with two parts. A member of it is in one part, or in
// both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/variables/binding.h"

namespace sonde {

// Some bytes of a value that is not, or not completely, in memory.
struct PlacePart {
    uint64_t offset = 0; // in the whole value
    uint64_t size = 0;
    enum Kind { Memory, Value, Missing } kind = Missing;
    hir::Expr* expr = nullptr; // Memory: the address; Value: the bytes, lowest first
    std::string why;           // Missing: the reason
};

// The place of a value of `type`.
struct Place {
    const Type* type = nullptr;
    hir::Expr* address = nullptr;    // if in memory; otherwise `parts` is used
    std::vector<PlacePart> parts;    // of the whole variable
    uint64_t offset = 0;             // of this value in `parts`
    uint32_t bit_offset = 0;         // lowest bit of a bitfield in a unit of the type's size
    uint32_t bit_size = 0;           // 0: not a bitfield
    hir::Expr* descriptor = nullptr; // of the array, if this is an inner dimension of one
    bool at_entry = false;           // the expressions are valid at the function's entry, so values must be saved there
    bool kernel = false;             // it is in kernel memory, or points there
    // A pointer or reference that was optimized out: the object that it points to.
    std::shared_ptr<const Place> pointee = nullptr;
};

// An object in a program's memory.
Place object_at(hir::Expr* address, const Type* type);
// A value of up to eight bytes, given as HIR.
Place value_place(const Type* type, hir::Expr* value);
// The value of an enumerator that is used like a variable.
Place constant_place(Binding& b, int64_t value);
// The part that contains the byte at `offset`, or null.
const PlacePart* part_at(const Place& place, uint64_t offset);

// The result of the steps from an array's own address; null if the array is not in memory.
hir::Expr* follow_steps(Binding& b, const Place& array, const std::vector<ArrayStep>& steps);
// The address of the array's first element; null if the array is not in memory.
hir::Expr* first_element(Binding& b, const Place& array);

// A member of a record.
Place inside(Binding& b, const Place& record, const TypeMember& member);
// A nested member; `path` is names separated by dots. nullopt without a report if it does not exist.
std::optional<Place> field(Binding& b, Place place, std::string_view path);

} // namespace sonde
