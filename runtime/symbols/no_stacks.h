// Reasons why a user stack is missing or incomplete.
#pragma once

#include <cstdint>

#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/text/accounting.h"

namespace sonde {

// Returns the message for a sonde_stack_state of SONDE_STACK_NONE or above; "" for other states.
const char* why_no_stack(uint64_t state);

// Adds the missing and incomplete stacks to the accounting, by probe and reason. This covers stacks that scripts use as
// strings or numbers. Printed stacks show the reason in the output.
void count_no_stacks(const plan::Plan& plan, const KernelObject& kernel, Accounting& accounting);

} // namespace sonde
