// Paths as the kernel resolves them, including those of processes with other mounts.
#pragma once

#include <cstdint>
#include <string>

namespace sonde {

// The path without symbolic links. Unchanged if it does not exist, or if it is below /proc/PID, whose links do not lead
// to the path that readlink(2) returns.
std::string without_links(const std::string& path);

// "/proc/PID/root" if the path begins with that; otherwise empty.
std::string process_root(const std::string& path);

// The path, as seen from here, of the file that processes with the root directory `root` call `path`. Links are
// resolved as in these processes. "" stands for our own root. Returns "" if the path has more than 40 links.
std::string path_below(const std::string& root, const std::string& path);

// The path, as seen from here, of the file that a process calls `path`: the same name if the process has our mounts,
// otherwise a path below its root.
std::string path_in_process(int64_t pid, const std::string& path);

} // namespace sonde
