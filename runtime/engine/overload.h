// Measures the cost of each probe while the session runs, and disarms probes that cost too much.
//
// The cost is the time of a probe's handlers plus the time of its traps, in percent of one processor.
//
// * The time of handlers: the kernel counts the runs of BPF programs and their time on request (BPF_ENABLE_STATS, Linux
//   5.8). While enabled, it reads the clock twice for each run of every BPF program on the machine. So sonde enables it
//   for at most a tenth of the time, and rarely while no probe is near a limit.
// * The time of traps, which no program can measure: sonde measures a breakpoint in user space once, on a function of
//   its own, if a probe has many hits. For other kinds of probes it uses typical values from a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"

namespace sonde {

// One object for each session. `plan` must outlive the object.
class OverloadGuard {
  public:
    // `limit`: disarm probes from this cost on, in percent of one processor; infinity: never.
    OverloadGuard(const plan::Plan& plan, const KernelObject& kernel, double limit);

    struct Disarmed {
        uint32_t probe;  // index into Plan::probes
        std::string why; // "after 2.1 s, as it took ..."
    };
    // Call this every few milliseconds with the current time of CLOCK_MONOTONIC. Returns the probes that the caller
    // must disarm now. Prints a warning once for each probe with a high cost.
    std::vector<Disarmed> look(int64_t now_ns);

  private:
    static constexpr int64_t shortest_pause = 90'000'000; // between measuring windows, ns
    // The measurements of a probe.
    struct Cost {
        std::vector<int> programs;               // file descriptors of the BPF programs
        uint64_t hits_before = 0, ns_before = 0; // at the begin of the current window
        uint64_t hits = 0, ns = 0;               // since the last judgment
        bool is_said = false, is_disarmed = false;
    };
    // Start and end a measuring window, in which the kernel counts the time of BPF programs.
    void begin_window();
    void end_window();
    // Computes the costs since the last judgment, warns, and chooses the length of the next pause.
    std::vector<Disarmed> judge(int64_t now);
    // True while the load is low, so that pauses are long.
    bool is_rare() const { return pause_ > shortest_pause; }
    // Returns the time of one trap of a probe, in nanoseconds.
    double trap_ns(const plan::Probe& probe, double hits_a_second);

    const plan::Plan& plan_;
    const double limit_;
    std::vector<Cost> costs_; // by probe
    Fd counting_;
    bool is_refused_ = false;
    int64_t began_ = 0, judged_ = 0, next_ = 0, window_began_ = 0;
    int64_t watched_ = 0; // total length of the windows since the last judgment
    int windows_ = 0;
    int64_t pause_ = shortest_pause;
    std::optional<double> breakpoint_ns_[2]; // of an instruction that the kernel emulates; of one that it single-steps
};

// Returns the nanoseconds that the breakpoints of a uprobe add to each hit; those of a return include the entry. sonde
// measures them on a function of its own. Returns nothing for other kinds of probes, and if the kernel does not allow
// it.
std::optional<double> measure_breakpoints(const plan::Probe& probe);

// The time that the trap of a probe adds to each hit.
struct TrapTime {
    double ns = 0;
    bool is_measured = false; // false: the usual value of such probes
};
TrapTime trap_of(const plan::Probe& probe);

// Returns the default limit: 75 % of all processors. If a target filter limits the slowdown to the target, the default
// is infinity.
double default_overload_limit(const plan::Plan& plan);

} // namespace sonde
