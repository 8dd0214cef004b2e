// Whether an event is one that a handler is for, and which of its points.
#pragma once

#include <optional>

#include "codegen/bpf/accounting.h"
#include "codegen/bpf/context.h"
#include "codegen/environment.h"
#include "codegen/target.h"

namespace sonde {

// A tracepoint that is about a task other than the one at hand says so by `__about_task(N)`: it is the N'th argument,
// from 0 on.
std::optional<int> task_argument(const hir::Handler& handler);
// Begins the handler of an event about tasks: only if it is one of that kind. Gives the inode of the task's program.
llvm::Value* begin_task_event(BpfContext& bpf, Environment& env);
// Goes on only for the target's processes (-c, -x).
void filter_target(BpfContext& bpf, Task& task, BpfAccounting& accounting, Environment& env);
// Goes on only for tasks in the groups that the session is limited to (--container and the like).
void filter_groups(BpfContext& bpf, BpfAccounting& accounting, Environment& env);
// The row of the probe's first point.
llvm::Value* first_row(BpfContext& bpf);
// The point that was hit, if it is about this process; `program` is the inode of its program, or null.
void find_row(BpfContext& bpf, Task& task, Registers& registers, const hir::Handler& handler, llvm::Value* program,
              Environment& env);

} // namespace sonde
