// The processes that are seen here, and their threads: the one reader of /proc's numbered folders (proc(5)).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde {

// Whether a process or a thread has that number now.
bool is_process(int64_t number);
// By the numbers of the PID namespace that /proc is mounted for. Empty where there is no /proc.
std::vector<int64_t> all_processes();
// Empty for a process that is gone.
std::vector<int64_t> threads_of(int64_t process);
// The file that it runs, by its path there. Empty: it is gone, a thread of the kernel, or not shown to this user.
std::string process_program(int64_t process);
// What its threads have begun and is still there.
std::vector<int64_t> children_of(int64_t process);

} // namespace sonde
