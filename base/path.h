// Paths as the kernel sees them, also of processes that have other mounts.
#pragma once

#include <cstdint>
#include <string>

namespace sonde {

// The path without symbolic links; as it is where there is none, and below /proc/PID, whose links lead where their text
// does not.
std::string without_links(const std::string& path);

// "/proc/PID/root" of a path that begins with it; else empty.
std::string process_root(const std::string& path);

// The same of what processes whose root lies at `root` call `path`: links lead where they lead there. "" is the root of
// here.
std::string path_below(const std::string& root, const std::string& path);

// How the file is reached from here that a process calls `path`: the same name where both see one tree of mounts, else
// below the process' root.
std::string path_in_process(int64_t pid, const std::string& path);

} // namespace sonde
