// What happens if memory runs out while LLVM works.
//
// LLVM is compiled without exceptions. A std::bad_alloc that passes through LLVM leaves its data structures half
// changed, and their destructors then crash or never return. So the process ends immediately where an allocation fails,
// with the message that main.cc prints in other phases. This is safe because nothing is attached while a script is
// translated.
#pragma once

#include <new>

namespace sonde {

// While an object of this class exists, a failed allocation in any thread ends the process with a message and status 1.
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
