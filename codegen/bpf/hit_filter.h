// Decides whether an event is for a handler, and finds the point that was hit.
#pragma once

#include <optional>

#include "codegen/bpf/accounting.h"
#include "codegen/bpf/context.h"
#include "codegen/emit/environment.h"
#include "codegen/emit/target.h"

namespace sonde {

// If a tracepoint is about another task than the current one, its handler says so by `__about_task(N)`. Returns N, the
// index of the argument with that task, or nullopt.
std::optional<int> task_argument(const hir::Handler& handler);
// Begins the handler of an event about tasks; it ends if the event is of another type. Returns the inode of the task's
// program.
llvm::Value* begin_task_event(BpfContext& bpf, Environment& env);
// Goes on only in processes of the target (-c, -x).
void filter_target(BpfContext& bpf, Task& task, BpfAccounting& accounting, Environment& env);
// Goes on only in tasks of the control groups that the session is limited to (--container and others).
void filter_groups(BpfContext& bpf, BpfAccounting& accounting, Environment& env);
// The row of the probe's first point.
llvm::Value* first_row(BpfContext& bpf);
// Finds the point that was hit, and ends the handler if it is not for this process. `program`: the inode of the
// process' program, or null.
void find_row(BpfContext& bpf, Task& task, Registers& registers, const hir::Handler& handler, llvm::Value* program,
              Environment& env);

} // namespace sonde
