// Translates process numbers between the session's PID namespace and the initial one.
//
// In a container, getpid() and /proc show the numbers of the container's namespace. BPF programs use the numbers of the
// initial namespace. A filter with the wrong numbers would trace no process, or another one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "runtime/kernel/kernel_memory.h"
#include "runtime/plan/numbering.h"

namespace sonde {

// Numbers of the session's namespace are those in messages, options and /proc. Numbers of the initial namespace are
// those in maps.
class ProcessNumbers {
  public:
    // In the initial namespace both numbers are equal.
    ProcessNumbers() = default;
    // Reads from the kernel's memory which namespace the session runs in. Returns an error if it is not the initial one
    // and the kernel's memory cannot be read. `memory` must outlive this object.
    Result<void> open(KernelMemory& memory);

    bool is_initial() const { return numbering_.level == 0; }
    // Offsets and addresses for the programs in the kernel, which translate numbers themselves.
    const sonde_numbering& numbering() const { return numbering_; }
    // Both return 0 if no such process or thread exists. in_session() also returns 0 if it is outside of the session's
    // namespace.
    int64_t in_kernel(int64_t number) const;
    int64_t in_session(int64_t number) const;

  private:
    // Returns the address of the struct pid for a number in a namespace; 0 if none exists.
    uint64_t find(uint64_t space, int64_t number) const;
    // Returns the number of a struct pid in the namespace `space`, which is `level` levels below the initial one.
    // Returns 0 if the process is outside of `space`.
    int64_t number_at(uint64_t pid, uint64_t level, uint64_t space) const;
    // Reads a value from the kernel's memory; 0 if the address is invalid.
    template <typename Value> Value read(uint64_t address) const;

    KernelMemory* memory_ = nullptr;
    sonde_numbering numbering_{};
    uint64_t initial_ = 0; // address of the initial namespace
    // offsets in pid_namespace, idr, radix_tree_root and xa_node
    struct {
        uint64_t idr = 0, root = 0, base = 0, head = 0, shift = 0, slots = 0;
    } tree_;
};

// Returns an empty string, or why /proc shows the numbers of another PID namespace, and a solution.
std::string why_no_own_proc();

} // namespace sonde
