// The state after a sample of arch/instruction_trial.h.
#pragma once

#include "arch/x86_64/trial_state.h"
