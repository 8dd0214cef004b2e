// The variables of a stack's functions, evaluated in a copy of the stack (runtime/plan/stack_copy.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/stack_copy.h"

namespace sonde {

struct FrameValue {
    std::string name;
    std::string text; // the value as the script language prints it; or the reason why it is not available
    bool is_argument = false;
    bool is_available = true;
};
// The variables at an address of a stack.
struct FrameValues {
    std::string none; // the reason why no variables are known; empty: `functions` has them
    // For each function at the address, in the order of places_at(): arguments first.
    std::vector<std::vector<FrameValue>> functions = {};
};

// The variables of a whole stack.
struct CallerValues {
    std::string none;                     // the reason why none are known; empty: `frames` has them
    std::vector<FrameValues> frames = {}; // for each address of the stack
    bool is_cut = false;                  // memory to which they point did not fit into the copy
};

// A symbolizer that can evaluate variables.
class CallerValuesSource {
  public:
    // Returns the variables of the functions at the addresses of a stack that a handler has copied. Those of the
    // innermost function are missing, except for functions into which it is inlined.
    virtual CallerValues caller_values(uint64_t process, const std::vector<uint64_t>& addresses) = 0;

  protected:
    ~CallerValuesSource() = default;
};

// Returns the variables if the symbolizer can evaluate them, else the reason.
CallerValues caller_values(class Symbolizer& symbols, uint64_t process, const std::vector<uint64_t>& addresses);

// Returns the variables for each frame of the copy.
using DescribeFrames = std::function<std::vector<FrameValues>(const plan::StackCopy& copy)>;

} // namespace sonde
