// The kernel's memory for host handlers: a small program in the kernel reads it for the session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fd.h"

namespace sonde {

// Opens when it is first used; where the kernel refuses the program, every address is a bad one.
class KernelMemory {
  public:
    KernelMemory() = default;
    ~KernelMemory();
    KernelMemory(const KernelMemory&) = delete;
    KernelMemory& operator=(const KernelMemory&) = delete;

    // False on a fault; `dst` is then as it was.
    bool read(char* dst, size_t size, uint64_t address);
    // At most `size` bytes with the NUL.
    bool read_string(char* dst, size_t size, uint64_t address);
    // The calling thread's task_struct; 0 if it cannot be found out.
    int64_t current_task();

  private:
    enum Command : uint64_t { Read, ReadString, CurrentTask };
    bool open();
    // Gives the helper's result; negative: it failed.
    int64_t ask(Command command, uint64_t size, uint64_t address);
    bool opened_ = false;
    Fd map_, program_;
    char* memory_ = nullptr; // the map's: the result, then what was read
};

} // namespace sonde
