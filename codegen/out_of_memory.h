// What a want of memory does while LLVM works.
//
// LLVM is built without exceptions: a std::bad_alloc that passes through it leaves its structures half changed, and
// what takes them down then crashes or never ends. So the process ends where the memory was refused, with the message
// that it has for it elsewhere (main.cc). Nothing is attached as long as there is something to translate.
#pragma once

#include <new>

namespace sonde {

// As long as it lives, memory that is refused ends the process with status 1 and a message, in every thread.
class EndsWithoutMemory {
  public:
    EndsWithoutMemory();
    ~EndsWithoutMemory();
    EndsWithoutMemory(const EndsWithoutMemory&) = delete;
    EndsWithoutMemory& operator=(const EndsWithoutMemory&) = delete;

  private:
    std::new_handler before_;
};

} // namespace sonde
