// Reasons why a user stack is missing or incomplete.
//
// A handler that prints a stack sends its state, and the output shows the reason. A handler that uses a stack as a
// string or as an array key cannot show it. So handlers count such hits by state, in the map sonde_no_stacks, and the
// report at the session's end lists the counts.
#include "runtime/symbols/no_stacks.h"
#include "runtime/plan/object_names.h"

#include <bpf/bpf.h>

#include "runtime/plan/stack.h"

namespace sonde {

const char* why_no_stack(uint64_t state) {
    switch (state) {
    case SONDE_STACK_NO_PROCESS:
        return "this handler does not belong to a process";
    case SONDE_STACK_KERNEL_THREAD:
        return "this is a kernel thread";
    case SONDE_STACK_GONE:
        return "the process has already released its memory";
    case SONDE_STACK_OTHER_TASK:
        return "the handler's task does not run here, so its memory cannot be read";
    case SONDE_STACK_VISITED:
        return "the visited thread does not run here, so only functions that print a stack can read it";
    case SONDE_STACK_NO_PYTHON:
        return "the thread does not run Python";
    default:
        return "";
    }
}

void count_no_stacks(const plan::Plan& plan, const KernelObject& kernel, Accounting& accounting) {
    int counts = kernel.map_fd(plan::maps::no_stacks);
    for (uint32_t i = 0; i < plan.probes.size(); i++) {
        sonde_no_stacks row{};
        if (bpf_map_lookup_elem(counts, &i, &row) != 0)
            continue;
        auto add = [&](Loss loss, sonde_stack_state state) {
            accounting.add(loss, row.count[state - SONDE_STACK_COUNTED], plan.probes[i].place);
        };
        add(Loss::LostStack, SONDE_STACK_LOST);
        add(Loss::EarlyStack, SONDE_STACK_EARLY);
        add(Loss::GuessedStack, SONDE_STACK_GUESSED);
        for (uint64_t state = SONDE_STACK_NONE; state < SONDE_STACK_STATES; state++)
            accounting.add(Loss::NoStack, row.count[state - SONDE_STACK_COUNTED], plan.probes[i].place,
                           why_no_stack(state));
    }
}

} // namespace sonde
