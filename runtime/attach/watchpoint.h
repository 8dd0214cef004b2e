// Watchpoints in processes' memory.
//
// A processor's debug registers are a thread's, so each thread gets the events, and what it starts inherits them. Where
// a program is loaded is known only when it runs: a handler of ours stops each process that begins with a watched
// program before its first instruction (plan::Began), and it goes on when the events are there.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/attach/attach.h"

namespace sonde {

class Watchpoints {
  public:
    Watchpoints(const plan::Plan& plan, const KernelObject& kernel) : plan_(plan), kernel_(kernel) {}

    // Watches the processes that run already: those that a probe names by their number, and those of the named programs
    // among `processes`. Errors: a process that was asked for by its number cannot be watched.
    Result<void> begin(const std::vector<int64_t>& processes);
    // A process has begun, and is stopped. What cannot be watched is said on standard error.
    void process_began(int64_t process);
    void clear() { watched_.clear(); }

  private:
    // All that is about this process; `by_number` only those that name it, else only those that name its program.
    Result<Attachments> watch(int64_t process, bool by_number);
    const plan::Plan& plan_;
    const KernelObject& kernel_;
    std::map<int64_t, Attachments> watched_; // by process
};

} // namespace sonde
