// Process numbers inside a PID namespace: those that the session sees, and those of the initial namespace, which the
// kernel's side of sonde goes by.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "runtime/kernel/kernel_memory.h"
#include "runtime/plan/numbering.h"

namespace sonde {

class ProcessNumbers {
  public:
    // The initial namespace, where both are the same.
    ProcessNumbers() = default;
    // The session's namespace. Errors: it is another one than the initial, and the kernel does not let be read what
    // there is to know about it.
    Result<void> open(KernelMemory& memory);

    bool is_initial() const { return numbering_.level == 0; }
    const sonde_numbering& numbering() const { return numbering_; }
    // 0: there is no such process or thread; in_session: or it is outside of the session's namespace.
    int64_t in_kernel(int64_t number) const;
    int64_t in_session(int64_t number) const;

  private:
    // The struct pid of a number in a namespace; 0: none.
    uint64_t find(uint64_t space, int64_t number) const;
    // A number of a struct pid, `level` below the initial namespace; 0: it has none in `space`.
    int64_t number_at(uint64_t pid, uint64_t level, uint64_t space) const;
    template <typename Value> Value read(uint64_t address) const;

    KernelMemory* memory_ = nullptr;
    sonde_numbering numbering_{};
    uint64_t initial_ = 0; // the initial namespace
    // pid_namespace, idr, radix_tree_root, xa_node
    struct {
        uint64_t idr = 0, root = 0, base = 0, head = 0, shift = 0, slots = 0;
    } tree_;
};

// Empty, or why /proc shows other process numbers than the session's own, and what to do.
std::string why_no_own_proc();

} // namespace sonde
