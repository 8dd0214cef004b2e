// The input of a translation besides its text, and the result.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sonde::bridge {

enum class Dialect { Bpftrace, Dtrace, Perf };

struct Gap {
    size_t begin = 0, end = 0; // bytes of the original
    std::string text;          // for example: `cat`: use `system("cat FILE")` to print a file
    bool is_lost = true;       // false: it has another meaning here, or needs no counterpart
};

struct Bridged {
    std::string script; // ends in a newline
    std::vector<Gap> gaps;
    bool needs_guru = false; // must run with -g
};

struct BridgeOptions {
    // Returns the path of a library or program by its name (`libc`, `bash`), or "". May be null.
    std::function<std::string(const std::string&)> find_path;
    std::string program; // the path of the target's program; empty without a target
};

} // namespace sonde::bridge
