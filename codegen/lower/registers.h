// Registers at a probe.
#pragma once

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Reads a register by its DWARF number, with its value at the probed instruction.
llvm::Value* read_register(Lowerer& l, int dwarf);
// At an instruction that leaves a function: the return address on top of the stack (0 if it cannot be read), and the
// stack pointer after the return.
llvm::Value* return_address(Lowerer& l);
llvm::Value* callers_stack(Lowerer& l);

} // namespace sonde
