// Runs samples of instructions on this machine, to see if the kernel executes them correctly under a breakpoint
// (runtime/attach/instruction_trial.cc). The machine code is that of the build, so these are functions, not members of
// Architecture.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "arch/instruction_hazards.h"

namespace sonde {

struct TrialState; // arch/host/trial_state.h

struct TrialSample {
    Hazard hazard;
    std::string_view code;
};

// Returns the samples that this processor can execute. Each is a different way in which a kernel can fail.
std::vector<TrialSample> trial_samples();
// Returns `size` bytes of code that consist of breakpoints, the sample at the offset `at`, and a jump that ends
// run_trial_sample(). The breakpoints catch a sample that jumps to a wrong address.
std::string trial_page(std::string_view sample, size_t size, size_t at);

// Sets the registers with which a sample begins. They point to `data` and `stack`. A sample that returns continues at
// `behind_sample`. Only one sample can run at a time in a process.
void begin_trial(std::string_view sample, char* data, char* stack, const char* behind_sample);
// Executes a sample until it ends, or until take_trial_signal().
void run_trial_sample(const void* code);
// Handles the signal of a sample that faults or jumps to a wrong address, and ends run_trial_sample(). It stores the
// registers, so that the fault itself is compared: some samples fault without a probe, too. `context`: as in
// sigaction(2).
void take_trial_signal(int signal, void* context);
// The registers after the sample.
const TrialState& trial_state();

} // namespace sonde
