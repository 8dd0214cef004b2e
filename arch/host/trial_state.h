// The state after a sample of arch/instruction_trial.h.
#pragma once

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arch/arm64/trial_state.h"
#else
#include "arch/x86_64/trial_state.h"
#endif
