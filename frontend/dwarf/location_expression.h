// Location expressions to data: DWARF 5, section 2.5 and 2.6, evaluated as far as a compiler can.
//
// The translation runs the expression symbolically: operations on registers, memory and constants are handed on, the
// frame base and the CFA are replaced by their own expressions, and what needs the caller's registers, another thread's
// memory or control flow ends in Unavailable with the reason in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <elfutils/libdw.h>

#include "frontend/dwarf/unit.h"
#include "frontend/types/location.h"

namespace sonde {

class DebugFiles;
class FunctionInstances;
class ProgramFile;

// What expressions refer to.
struct ExpressionContext {
    const ProgramFile& file;
    DebugFiles& debug;
    FunctionInstances& instances;
};

// The place that an expression gives at `address`, inside of `subprogram`. `attribute` is where the expression comes
// from; null for one of our own.
Location translate_expression(const ExpressionContext& context, Address address, FunctionRef subprogram,
                              Dwarf_Attribute* attribute, const Dwarf_Op* ops, size_t count);

// The number that an operation has in itself and pushes (DWARF 5, section 2.5.1.1, but for addresses); nullopt: it does
// something else.
std::optional<int64_t> pushed_number(const Dwarf_Op& op);

// An attribute whose value is an expression or a list of them; false: there is none.
bool location_attribute(Dwarf_Die& die, unsigned name, Dwarf_Attribute* attribute);

// A place in memory that is a register and a number of bytes away.
struct RegisterOffset {
    int64_t reg = -1; // DWARF's number
    int64_t bytes = 0;
};
std::optional<RegisterOffset> register_offset(const Location& place);

// Where a function finds what its caller has put on the stack, at its very entry: so many bytes above the return
// address. `by_address`: what is there is the address.
Location above_return_address(uint64_t offset, bool by_address = false);

} // namespace sonde
