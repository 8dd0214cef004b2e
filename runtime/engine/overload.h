// What each probe costs while the session runs, and what is done about one that costs too much.
//
// A probe's share is the time that its handlers take and the time that its traps take, in percent of one processor.
// The kernel counts a program's runs and their time while somebody asks for it (BPF_ENABLE_STATS, 5.8), which costs
// each run of every program of the machine two readings of the clock. So it is asked for during a tenth of the time at
// most, and seldom while there is little. What the trap takes no program can see: a breakpoint in user space is
// measured once, on a function of this program's, when there are many hits; the others are a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"

namespace sonde {

class OverloadGuard {
  public:
    // `limit`: percent of one processor from which on a probe is disarmed; infinity: none is.
    OverloadGuard(const plan::Plan& plan, const KernelObject& kernel, double limit);

    struct Disarmed {
        uint32_t probe;  // index in Plan::probes
        std::string why; // "after 2.1 s: ..."
    };
    // To be called every few milliseconds, with the time that the session has run; gives the probes that are to be
    // taken off now. Warns once of each costly probe.
    std::vector<Disarmed> look(int64_t now_ns);

  private:
    static constexpr int64_t shortest_pause = 90'000'000; // ns between windows
    struct Cost {
        std::vector<int> programs;               // descriptors
        uint64_t hits_before = 0, ns_before = 0; // when the last window began
        uint64_t hits = 0, ns = 0;               // in the windows that are judged together
        bool is_said = false, is_disarmed = false;
    };
    void begin_window(int64_t now);
    void end_window(int64_t now);
    std::vector<Disarmed> judge(int64_t now);
    bool is_rare() const { return pause_ > shortest_pause; }
    double trap_ns(const plan::Probe& probe, double hits_a_second);

    const plan::Plan& plan_;
    const double limit_;
    std::vector<Cost> costs_; // by probe
    Fd counting_;
    bool is_refused_ = false;
    int64_t began_ = 0, next_ = 0, window_began_ = 0;
    int64_t watched_ = 0; // length of the windows that are judged together
    int windows_ = 0;
    int64_t pause_ = shortest_pause;
    std::optional<double> breakpoint_ns_[2]; // of an emulated instruction, and of one that is single-stepped
};

// By default: as if there were none while only the target is slowed, otherwise three quarters of all processors.
double default_overload_limit(const plan::Plan& plan);

} // namespace sonde
