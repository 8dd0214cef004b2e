// Replaces tables of addresses by stores.
#pragma once

#include <llvm/IR/Constant.h>
#include <llvm/IR/Module.h>

namespace sonde {

// Whether the constant contains the address of a variable or function, which is known only after loading.
bool holds_address(const llvm::Constant& value);

// In a function, `const char *names[] = {"a", "b"}` is compiled to a copy of a constant. The constant contains
// addresses, which BPF loaders do not fill in. So this replaces the copy by a store of each element, because code with
// addresses is relocated.
void fill_by_stores(llvm::Module& module);

} // namespace sonde
