// Tables of addresses, as stores.
#pragma once

#include <llvm/IR/Constant.h>
#include <llvm/IR/Module.h>

namespace sonde {

// Whether there is something in it that only the kernel could fill in: an address.
bool holds_address(const llvm::Constant& value);

// `const char *names[] = {"a", "b"}` in a function is a copy of a constant to clang. Its addresses are known only when
// the program is loaded, and nobody fills them in; stores of each are code, where they are filled in.
void fill_by_stores(llvm::Module& module);

} // namespace sonde
