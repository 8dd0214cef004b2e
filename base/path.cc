// Paths as the kernel resolves them.
//
// A container's file is reachable from outside through the root directory of one of its processes:
// /proc/42/root/etc/passwd. But an absolute symbolic link on that path would lead out of the container:
//
//     /proc/42/root/lib -> /usr/lib
//
// The kernel resolves the link from the root of the process that opens the file, which is sonde. So path_below()
// follows the links itself, component by component. An absolute link continues at the given root, and `..` stops there.
//
// As in the kernel (ELOOP), a path with more than 40 links has no file, because links can form a circle.
#include "base/path.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace sonde {

std::string without_links(const std::string& path) {
    if (path.starts_with("/proc/"))
        return path;
    std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
    return real ? real.get() : path;
}

std::string process_root(const std::string& path) {
    if (!path.starts_with("/proc/"))
        return "";
    size_t slash = path.find('/', 6);
    return slash != std::string::npos && path.compare(slash, 6, "/root/") == 0 ? path.substr(0, slash + 5) : "";
}

std::string path_below(const std::string& root, const std::string& path) {
    constexpr int most_links = 40; // as in path_resolution(7)
    std::deque<std::string> todo;
    const auto push = [&](const std::string& text) {
        std::vector<std::string> parts;
        for (const std::filesystem::path& part : std::filesystem::path(text))
            parts.push_back(part);
        todo.insert(todo.begin(), parts.begin(), parts.end());
    };
    push(path);
    std::string out;
    for (int links = 0; !todo.empty();) {
        const std::string part = todo.front();
        todo.pop_front();
        if (part.empty() || part == "/" || part == ".")
            continue;
        if (part == "..") {
            out.erase(std::min(out.rfind('/'), out.size()));
            continue;
        }
        std::error_code error;
        const std::string link = std::filesystem::read_symlink(fmt::format("{}{}/{}", root, out, part), error);
        if (error) {
            out += "/" + part;
            continue;
        }
        if (++links > most_links)
            return "";
        if (link.starts_with('/'))
            out.clear();
        push(link);
    }
    return root + out;
}

std::string path_in_process(int64_t pid, const std::string& path) {
    std::error_code error;
    auto space = [&](const std::string& process) {
        return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/mnt", process), error).string();
    };
    std::string own = space("self"), other = space(fmt::to_string(pid));
    return own == other || other.empty() ? path : fmt::format("/proc/{}/root{}", pid, path);
}

} // namespace sonde
