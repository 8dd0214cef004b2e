// Short forms of probe points, as arguments of tools.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

// Where the names of libraries and programs are looked up: what the target has comes first.
struct PointTarget {
    std::string command; // -c
    int64_t pid = 0;     // -x
};

// The probe point that `written` stands for:
//   FUNCTION, p::FUNCTION              of the kernel
//   LIBRARY:FUNCTION, PATH:FUNCTION    of a library (`c`, `libc`, `libc.so.6`) or of a program
//   :FUNCTION                          of the target's program
//   t:SYSTEM:NAME                      a tracepoint
//   u:LIBRARY:MARK, u:LIBRARY:PROVIDER:MARK
//   r::FUNCTION, r:LIBRARY:FUNCTION    at the return
// What has a `(`, or a `.` and no `:`, is a point already. Functions may be patterns. An error: no such library.
Result<std::string> expand_point(const std::string& written, const PointTarget& target);

// The path of a library by its name, of the target's process, of its program, or else of this machine; what has a `/`
// is a path already. Programs count too (`bash`). In another mount namespace the path leads through /proc/PID/root.
Result<std::string> find_library_path(const std::string& name, const PointTarget& target);

} // namespace sonde
