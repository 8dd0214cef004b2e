// The kinds of probes and their traits. Each kind is one row of kinds.def.
//
// Code in all layers asks for a trait ("does it have registers?"), and never compares kinds by name or order. Only the
// files of a kind itself (its resolver and its mechanism) use its name. So adding a kind with the right traits is
// enough for all other code to support it.
#pragma once

#include <cstdint>

#include "runtime/plan/traits.h"

namespace sonde::plan {

enum class ProbeKind : uint8_t {
#define KIND(id, ...) id,
#include "runtime/plan/kinds.def"
#undef KIND
};

inline constexpr KindTraits kind_traits[] = {
#define KIND(id, ...) {__VA_ARGS__},
#include "runtime/plan/kinds.def"
#undef KIND
};
constexpr uint64_t kind_count = sizeof kind_traits / sizeof *kind_traits;

constexpr const KindTraits& traits(ProbeKind kind) { return kind_traits[static_cast<uint8_t>(kind)]; }

constexpr const char* name_of(ProbeKind kind) { return traits(kind).name; }
// A traced event triggers the handler, not the session itself.
constexpr bool is_event(ProbeKind kind) { return traits(kind).cause == Cause::Event; }
// The probe handles reading or writing of a control file.
constexpr bool is_file(ProbeKind kind) {
    return traits(kind).cause == Cause::Read || traits(kind).cause == Cause::Write;
}
// No other handler runs at the same time, because the session has not begun yet, or has ended.
constexpr bool runs_alone(ProbeKind kind) {
    Cause cause = traits(kind).cause;
    return cause == Cause::Start || cause == Cause::End || cause == Cause::Failure || cause == Cause::Nobody;
}
constexpr bool is_about(ProbeKind kind, Subject subject) { return traits(kind).subject == subject; }
constexpr bool is_sample(ProbeKind kind) { return is_about(kind, Subject::Sample); }
constexpr bool is_uprobe(ProbeKind kind) { return is_about(kind, Subject::UserCode); }
constexpr bool is_kernel_function(ProbeKind kind) { return is_about(kind, Subject::KernelFunction); }
// Begins and ends of processes and threads.
constexpr bool follows_tasks(ProbeKind kind) {
    return is_about(kind, Subject::Process) || is_about(kind, Subject::Thread);
}
constexpr bool is_task_event(ProbeKind kind) { return follows_tasks(kind) || is_about(kind, Subject::SystemCall); }
// Each hit is a separate event of a thread (Plan::tells_hits).
constexpr bool tells_hits(ProbeKind kind) {
    return is_event(kind) && !is_sample(kind) && !is_about(kind, Subject::Packet) &&
           !is_about(kind, Subject::ExistingTask);
}
// The handler's result decides what the kernel does.
constexpr bool decides(ProbeKind kind) { return traits(kind).decision != Decision::None; }
// Runs by a trampoline (fentry): without a breakpoint, and without registers.
constexpr bool is_trampoline(ProbeKind kind) { return traits(kind).context == Context::Helpers; }
// A breakpoint in a kernel function (kprobe), with all registers.
constexpr bool is_kernel_breakpoint(ProbeKind kind) {
    return is_kernel_function(kind) && traits(kind).context == Context::Registers;
}
// The event does not belong to the current task.
constexpr bool is_about_no_task(ProbeKind kind) { return traits(kind).user == UserRegisters::Nowhere; }

} // namespace sonde::plan
