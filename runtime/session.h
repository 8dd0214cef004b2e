// Runs a Plan: loads, attaches, pumps events, runs host handlers, detaches, reports.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/accounting.h"
#include "runtime/metrics/otlp_request.h"
#include "runtime/metrics/request.h"
#include "runtime/output.h"
#include "runtime/pictures/request.h"
#include "runtime/plan.h"

namespace sonde {

struct SessionOptions {
    std::string command;            // -c: run by the shell, started stopped, let go when every probe is armed
    int64_t target_pid = 0;         // -x
    std::vector<std::string> files; // -d: their tables are there from the beginning, not from when they are met
    OutputFile output;              // -o, -S
    double time_limit_s = 0;        // -T; 0: none
    std::string saved_as;           // the name of the saved plan that runs; empty: it was made just now
    // --output-wait: how long the end waits for a reader of the output that takes nothing. By default 2 seconds after a
    // signal or -T, and 300 after an end of the session's own.
    std::optional<double> output_wait_s;
    bool suppress_auto_print = false;
    bool raw = false; // --raw: terminals get what the traced programs say as it is
    int verbose = 0;
    bool timing = false;                  // -t
    bool one_by_one = false;              // -u: handlers of one point stand alone, and an error of one ends the session
    std::vector<PictureRequest> pictures; // --folded, --flame, --timeline, --heatmap
    std::string flame_base;       // --flame-against: a folded file that flame graphs are compared with; empty: none
    std::string report;           // --report: what became of the hits goes into this file, as JSON; empty: none
    std::optional<double> live_s; // --live: seconds from one picture on the screen to the next; empty: no screen
    MetricsRequest metrics;       // --metrics
    OtlpRequest otlp;             // --otlp
    HttpSettings pprof_push;      // --pprof=URL
    double pprof_interval_s = 0;  // --pprof-interval; 0: one profile, at the end
    // --overload: the percentage of one processor from which on a probe is disarmed; infinity: never.
    std::optional<double> overload;
    LossKinds tolerated; // --lossy-ok: these losses do not change the exit status
    // The points are several ways to see one kind of event: that some were never hit is no news, that none was is.
    bool several_ways = false;
    // How many inlined copies a point's function has that the point is not about; asked for points without a hit.
    std::function<uint64_t(const plan::Point&)> inlined_copies;
    // Called once, when every probe is armed.
    std::function<void()> armed = [] {};
    // Called again and again while it runs, at least once a second, as long as it gets on.
    std::function<void()> turned = [] {};
    // Called when it is to end because of SIGHUP.
    std::function<void()> hung_up = [] {};
    std::string attach = ""; // "perf_event" forces the oldest mechanism, "uretprobe" the one before sessions; empty:
                             // newest that works
};

// Error::os_error where the kernel's compiler (JIT) fails on a handler that its verifier has accepted: it is ENOTSUPP,
// which is the kernel's own. On x86-64 it makes jumps shorter until the size of all code stays the same; that happens
// too while one grows as another one shrinks (arch/x86/net/bpf_jit_comp.c, "bpf_jit: fatal error"). Other code of the
// same meaning goes.
constexpr int kernel_cannot_compile = 524;

// Exit status as stap's: 0 success (also when interrupted), 1 on errors. A failed -c command is reported and gives 1.
// exit_lossy (runtime/accounting.h) where all that went well, and something was lost.
// Errors: what could not be loaded or attached, in words, a verifier's refusal with the script's line; then nothing
// stays attached. kernel_cannot_compile.
Result<int> run_session(const plan::Plan& plan, const SessionOptions& options);

// What this kernel has, by trying (never by version).
struct KernelFeatures {
    bool may_goto = false;
    bool tracepoint_cookie = false; // programs at raw tracepoints have one
    bool register_writes = false;   // programs at programs' code can change registers
};
// Whether functions of the kernel can be probed: by trampolines and by breakpoints. Empty, or in words why not.
struct KernelFunctionProbing {
    std::string why_not_fentry, why_not_kprobe;
};
KernelFunctionProbing probe_kernel_functions();
// Why programs of a kind that decides (plan::decides) cannot do so on this kernel, in words; empty: they can.
// `function`: the kernel's, where they are about one.
std::string why_no_decision(plan::ProbeKind kind, const std::string& function);
// The error number of counting these events in this process; 0: they can be counted.
int try_counter(const plan::PerfSpec& perf);
// An error if the plan probes the kernel in a way that this kernel does not have: which one, and why.
Result<void> check_probing(const plan::Plan& plan);

KernelFeatures probe_kernel_features();

// What a kernel that does not run here has, as far as its types (BTF) tell.
struct FeaturesByTypes {
    bool may_goto = false, tracepoint_cookie = false, uprobe_session = false, fentry = false, kprobe = false,
         netfilter = false, lsm = false, register_writes = false, error_injection = false;
    // As the function of that name says of the kernel that runs here.
    std::string why_no_decision(plan::ProbeKind kind, const std::string& function) const;
};
FeaturesByTypes read_features(std::string_view types);
// Of a function whose result cannot be set, where the kernel has no list of functions for which it can.
inline constexpr const char* only_security_functions =
    "it is built without error injection (CONFIG_FUNCTION_ERROR_INJECTION), which leaves functions `security_...`";
// Whether one program can be at a function's entry and return (runtime/uprobe_session.h).
bool has_uprobe_session();
// By which of several ways the plan's probes are attached on this kernel.
plan::Ways find_ways(const plan::Plan& plan, bool only_perf_events);

// Why handlers cannot write user memory on this kernel, in words; empty: they can.
std::string why_not_write();

} // namespace sonde
