// Converts location expressions to data: DWARF 5, sections 2.5 and 2.6.
//
// The translation evaluates an expression symbolically. Operations on registers, memory and constants are copied. The
// frame base and the CFA are replaced by their own expressions. An expression that needs the registers of the caller,
// the memory of another thread or control flow becomes Unavailable, with a reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <elfutils/libdw.h>

#include "arch/registers.h"
#include "frontend/dwarf/unit.h"
#include "frontend/machine/location.h"

namespace sonde {

class DebugFiles;
class FunctionInstances;
class ProgramFile;

// Operands of LocationOp::Register from here on stand for the values that registers had when the function was entered.
// Only in a module that accepts them (Frames::accept_entry_values()).
constexpr int64_t first_entry_register = 1000;

// The objects that expressions refer to.
struct ExpressionContext {
    const ProgramFile& file;
    DebugFiles& debug;
    FunctionInstances& instances;
    bool accepts_entry_values = false; // Frames::accept_entry_values()
};

// Returns the location that an expression describes at `address` in `subprogram`. `attribute` contains the expression;
// it is null for an expression that sonde has built. `depth`: the number of implicit pointers that led here.
Location translate_expression(const ExpressionContext& context, Address address, FunctionRef subprogram,
                              Dwarf_Attribute* attribute, const Dwarf_Op* ops, size_t count, int depth = 0);

// Returns the number that an operation pushes, if it is a constant (DWARF 5, section 2.5.1.1, without addresses); else
// nullopt.
std::optional<int64_t> pushed_number(const Dwarf_Op& op);

// Returns an attribute whose value is an expression or a location list. Returns false if the DIE does not have it.
bool location_attribute(Dwarf_Die& die, unsigned name, Dwarf_Attribute* attribute);

// A place in memory, as a register plus an offset.
struct RegisterOffset {
    int64_t reg = -1; // DWARF number
    int64_t bytes = 0;
};
// Returns the sum of the constants that operations add to a value, from number `at` on. Sets `at` to the first
// operation that does something else.
int64_t constants_added(const std::vector<LocationOp>& ops, size_t& at);
// Returns nullopt for a location of another form.
std::optional<RegisterOffset> register_offset(const Location& place);

// Returns the location of a stack argument at the entry of a function, `offset` bytes above the return address. With
// `by_address`, that place contains the argument's address.
Location above_return_address(const RegisterFile& registers, uint64_t offset, bool by_address = false);

} // namespace sonde
