// Reads the kernel's memory for handlers that run in the session's own process.
//
// A process cannot read the kernel's memory, but a BPF program can. So a small BPF program reads it on request.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fd.h"

namespace sonde {

// Loads the program when it is first used. If the kernel refuses the program, all reads fail.
class KernelMemory {
  public:
    KernelMemory() = default;
    ~KernelMemory();
    KernelMemory(const KernelMemory&) = delete;
    KernelMemory& operator=(const KernelMemory&) = delete;

    // Returns false if the address is invalid. Then `dst` may be partly written if `size` is over 4096.
    bool read(char* dst, size_t size, uint64_t address);
    // Reads a string of at most `size` bytes, including the final NUL. Returns false if the address is invalid.
    bool read_string(char* dst, size_t size, uint64_t address);
    // Returns the address of the calling thread's task_struct, or 0 if it is unknown.
    int64_t current_task();

  private:
    enum Command : uint64_t { Read, ReadString, CurrentTask };
    // Loads the program once. Returns whether it is available.
    bool open();
    // Runs the program. Returns the result of the helper that it calls; negative if the helper failed.
    int64_t ask(Command command, uint64_t size, uint64_t address);
    bool opened_ = false;
    Fd map_, program_;
    char* memory_ = nullptr; // the map's memory: the result, followed by the data
};

} // namespace sonde
