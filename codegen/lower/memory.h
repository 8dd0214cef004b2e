// Numbers in memory: the memory of programs and of the kernel, and globals in the data area.
#pragma once

#include <cstdint>
#include <string>

#include "base/source.h"
#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Reads from an address with the size and sign of the expression. A fault raises an error.
llvm::Value* load(Lowerer& l, const hir::Load& expr, llvm::Value* address);
// Writes `size` bytes of a number to user memory. `what`: the script's name of the target, for messages.
void write_memory(Lowerer& l, llvm::Value* address, llvm::Value* value, uint32_t size, Range range,
                  const std::string& what);
// Reports that this code changes the behavior of the kernel or of a program (Plan::changes).
void note_change(Lowerer& l, Range range, const std::string& what);
// The same for code that writes memory.
void note_write(Lowerer& l, Range range, const std::string& what);

// The address of a global in the data area.
llvm::Value* global_address(Lowerer& l, const hir::Global& global);

} // namespace sonde
