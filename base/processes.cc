// Lists processes and threads from /proc.
//
// Every list is out of date when it is returned: processes begin and end at any time. Callers must expect that a number
// no longer exists, or belongs to another process. Where that matters, they follow new processes by tracepoints first,
// and read the list afterwards.
#include "base/processes.h"

#include <signal.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace sonde {
namespace {

std::vector<int64_t> numbered_entries(const std::string& folder) {
    std::vector<int64_t> out;
    std::error_code failed;
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
        const std::string name = at->path().filename();
        int64_t number = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), number).ptr == name.data() + name.size() &&
            number > 0)
            out.push_back(number);
    }
    return out;
}

} // namespace

bool is_process(int64_t number) {
    return number > 0 && number <= INT32_MAX && (kill(static_cast<pid_t>(number), 0) == 0 || errno != ESRCH);
}

std::vector<int64_t> all_processes() { return numbered_entries("/proc"); }

std::vector<int64_t> threads_of(int64_t process) { return numbered_entries(fmt::format("/proc/{}/task", process)); }

std::string process_program(int64_t process) {
    std::error_code unknown;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), unknown).string();
}

std::vector<int64_t> children_of(int64_t process) {
    std::vector<int64_t> out;
    for (int64_t thread : threads_of(process)) {
        std::ifstream children(fmt::format("/proc/{}/task/{}/children", process, thread));
        for (int64_t child = 0; children >> child;)
            out.push_back(child);
    }
    return out;
}

} // namespace sonde
