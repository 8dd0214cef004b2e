// Why there is no user stack, or not all of it, where a handler asks for one.
#pragma once

#include <cstdint>

#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/text/accounting.h"

namespace sonde {

// Of a sonde_stack_state from SONDE_STACK_NONE on.
const char* why_no_stack(uint64_t state);

// How often text or numbers were asked for, for each probe and reason. What prints a stack has said it in the output.
void count_no_stacks(const plan::Plan& plan, const KernelObject& kernel, Accounting& accounting);

} // namespace sonde
