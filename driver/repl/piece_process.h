// A process that runs one piece of an interactive session: a probe, or statements.
//
// Each piece is an ordinary session (run_session()) in a child process. So pieces do not disturb each other: each has
// its own rings, threads and limits, a piece that ends takes nothing with it, and the output of the others goes on
// while a new piece is translated. They share the maps of the globals, which the children inherit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "driver/options.h"
#include "runtime/load/shared_maps.h"
#include "runtime/plan/plan.h"

namespace sonde::repl {

// What a piece has done so far.
struct PieceCounts {
    bool is_known = false; // the piece has handlers in the kernel
    uint64_t hits = 0, total_ns = 0;
    uint64_t lost = 0; // hits whose handler did not run, or whose output was lost
};

class PieceProcess {
  public:
    // Descriptors for the child's standard output and standard error; -1: those of this process.
    struct Streams {
        int output = -1, errors = -1;
    };
    // Starts the process. `plan` and `options` are used in the child only. `rearrange` generates the plan again
    // (driver/run_plan.h).
    static Result<std::unique_ptr<PieceProcess>> start(const plan::Plan& plan, const Options& options,
                                                       const SharedMaps& maps, const Streams& streams,
                                                       const std::function<Result<plan::Plan>(uint32_t)>& rearrange);
    // Kills the process if it still runs.
    ~PieceProcess();
    PieceProcess(const PieceProcess&) = delete;
    PieceProcess& operator=(const PieceProcess&) = delete;

    // Readable when the piece has something to report, or has ended. Then call look().
    int report_fd() const { return reports_.get(); }
    int end_fd() const { return process_fd_.get(); }
    void look();
    // After look(): the state of the piece.
    bool is_armed() const { return is_armed_; }   // all its probes are attached, and its begin handlers have run
    bool has_exited() const { return exited_; }   // its script has called exit()
    bool has_ended() const { return has_ended_; } // the process has ended
    int status() const { return status_; }        // its exit status, after its end; 128 + N after a signal N

    void signal(int number) const; // to the whole process group
    // Stops or continues its handlers in the kernel.
    void pause(bool paused);
    PieceCounts counts() const;

  private:
    PieceProcess() = default;
    void take_report();

    pid_t pid_ = 0;
    Fd process_fd_, reports_;
    Fd data_, timing_, counts_; // maps of the piece, which it sends when it is armed
    uint32_t rows_ = 0, probes_ = 0;
    uint64_t* state_ = nullptr; // SessionWords::state, mapped
    const SharedMaps* maps_ = nullptr;
    bool is_armed_ = false, exited_ = false, has_ended_ = false;
    int status_ = 0;
};

} // namespace sonde::repl
