// Lists processes and threads from /proc's numbered folders (proc(5)). Nothing else in sonde reads these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde {

// Whether a process or thread with this number exists.
bool is_process(int64_t number);
// All processes, by their numbers in the PID namespace of the mounted /proc. Empty if /proc is not mounted.
std::vector<int64_t> all_processes();
// Empty if the process has ended.
std::vector<int64_t> threads_of(int64_t process);
// The program's path as the process sees it. Empty if the process has ended, is a kernel thread, or is hidden from this
// user.
std::string process_program(int64_t process);
// Child processes of all its threads that still exist.
std::vector<int64_t> children_of(int64_t process);

} // namespace sonde
