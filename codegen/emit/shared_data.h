// Access to the data area of a plan that shares globals with other plans (runtime/plan/shared_globals.h).
#pragma once

#include <cstdint>

#include "codegen/emit/emitter.h"
#include "runtime/plan/plan.h"

namespace sonde {

// In the kernel, the area from plan::shared_at on is a variable of its own. Returns null if no global is shared.
llvm::GlobalVariable* declare_shared_data(Emitter& e);
// The address at an offset of the data area. `data` is the address of its beginning.
llvm::Value* data_address(Emitter& e, llvm::Value* data, uint64_t offset);

} // namespace sonde
