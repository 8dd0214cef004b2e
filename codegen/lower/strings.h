// Copies of strings in slots and variables.
#pragma once

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Copies a text to a slot. Returns the length in bytes, without the NUL.
llvm::Value* copy_text(Lowerer& l, llvm::Value* slot, llvm::Value* text);
// The same without the length. `destination` must be a slot, or a string's memory in a frame or in the data area.
void store_string(Lowerer& l, llvm::Value* destination, llvm::Value* source);
// Copies the string to a new slot.
llvm::Value* copy_of(Lowerer& l, llvm::Value* string);

} // namespace sonde
