// Unwinds the stacks of threads that run no handler, for handlers that visit existing threads (plan/thread_walk.h).
//
// The thread is neither stopped nor changed. Two pictures of it, before and after its memory was read, show whether it
// has run meanwhile. Then the stack would be a mixture of two moments, and is read again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/process_maps.h"
#include "runtime/load/load.h"
#include "runtime/plan/thread_walk.h"

namespace sonde {

class Symbols;

// A function of a stack, with the state that leads to its arguments.
struct ThreadFrame {
    uint64_t address = 0;
    // The registers, if the unwinder has found them. Null: a function of a language runtime.
    const sonde_walked_function* registers = nullptr;
};

// The stack of a thread. Valid until the next one is read.
struct ThreadStack {
    std::string none;  // the reason why the stack cannot be read; empty: it was read
    std::string doing; // "waits in nanosleep() for 1.5 s"; empty: unknown
    uint64_t process = 0;
    std::vector<ThreadFrame> frames; // innermost first
    uint64_t state = 0;              // sonde_stack_state
    // Reads memory of the thread's process. Returns false if a part of it cannot be read.
    std::function<bool(uint64_t address, void* to, size_t size)> read;
};

class ThreadStacks {
  public:
    // Both must outlive the object.
    ThreadStacks(Symbols& symbols, const KernelObject& kernel);
    ~ThreadStacks();

    // Reads the stack of a thread, with at most `most` addresses. Both numbers are those of the initial PID namespace.
    ThreadStack read(uint64_t process, uint64_t thread, uint64_t most);

  private:
    struct Process;
    struct Walk;
    // Asks the kernel about the thread whose folder in /proc is open. Returns false if it is gone.
    bool ask(int folder, bool only_schedule, sonde_thread& to);
    // Returns how long ago the thread has got its last processor, in nanoseconds.
    std::optional<int64_t> since_arrival(int folder, const sonde_thread& thread);
    std::string describe(int folder, const sonde_thread& thread);
    Process& process_of(const sonde_thread& thread, int64_t here);

    Symbols& symbols_;
    const KernelObject& kernel_;
    std::unordered_map<uint64_t, std::unique_ptr<Process>> processes_;
    std::unique_ptr<Walk> walk_;
    // The scheduler's clock minus CLOCK_MONOTONIC, and when this was measured.
    int64_t clock_offset_ = 0, measured_ = 0;
};

} // namespace sonde
