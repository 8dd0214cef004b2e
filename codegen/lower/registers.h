// Registers at a probe.
#pragma once

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// By DWARF's number, as the probed instruction sees it.
llvm::Value* read_register(Lowerer& l, int dwarf);

} // namespace sonde
