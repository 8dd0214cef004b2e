// Short forms of probe points, as arguments of tools.
#pragma once

#include <cstdint>
#include <string>

#include "arch/architecture.h"
#include "base/result.h"

namespace sonde {

// The target, whose libraries and programs are searched first.
struct PointTarget {
    std::string command = {};                                // -c
    int64_t pid = 0;                                         // -x
    std::string program = {};                                // the program or library that a PLACE is in
    const Architecture* architecture = &host_architecture(); // of its programs
};

// Expands a short form to a probe point:
//
//   FUNCTION, p::FUNCTION              of the kernel
//   LIBRARY:FUNCTION, PATH:FUNCTION    of a library (`c`, `libc`, `libc.so.6`) or of a program
//   :FUNCTION                          of the target's program
//   t:SYSTEM:NAME                      a tracepoint
//   u:LIBRARY:MARK, u:LIBRARY:PROVIDER:MARK
//   r::FUNCTION, r:LIBRARY:FUNCTION    at the return
//
// A text with a `(`, or with a `.` and no `:`, is a point already. Functions may be patterns. Errors: the library does
// not exist, or a part is empty.
Result<std::string> expand_point(const std::string& written, const PointTarget& target);

// Returns the path of a library or a program (`bash`) by its name. Searches the target's process or program first, then
// the machine. A name with a `/` is a path already. In another mount namespace the path begins with /proc/PID/root.
Result<std::string> find_library_path(const std::string& name, const PointTarget& target);

} // namespace sonde
