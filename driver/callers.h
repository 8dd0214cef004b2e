// The variables of a stack's functions, for stacks that are printed with the variables of callers (`sonde snapshot`).
//
// The problem: only the translator knows debug information, types and the texts of values. It translates for a probe,
// but the callers of a probed function are known only at the hit.
//
// The idea: at the hit, a handler copies the stack (runtime/plan/copied_memory.h). The session then starts sonde again
// with the copy. This process finds the functions of the stack in their programs and libraries, and writes a script
// that prints their variables:
//
//     probe __frame("/src/orders").address(0x11f1).function(0).number(1) { printf("1 0 A argc v %s\n", $argc$) ... }
//
// The script is an ordinary one, except that its handlers read registers and memory from the copy. So values of callers
// look like those of the probed function, in all languages.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan/stack_copy.h"
#include "runtime/symbols/frame_values.h"

namespace sonde {

// Returns the variables for each frame of the copy, by starting sonde again.
std::vector<FrameValues> describe_frames(const plan::StackCopy& copy);

// The first word of sonde's command line in the process that describe_frames() starts. Its standard input is the copy.
inline constexpr const char* describes_frames = "--describe-frames";
// The command line with which this process goes on, and the copy for which the script on this command line is.
struct FrameScript {
    std::vector<std::string> words;
    plan::StackCopy copy;
};
// Also prints the reasons for functions for which no script is possible. Fails if standard input is not a copy.
Result<FrameScript> write_frame_script();

} // namespace sonde
