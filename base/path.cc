#include "base/path.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

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

std::string path_in_process(int64_t pid, const std::string& path) {
    std::error_code error;
    auto space = [&](const std::string& process) {
        return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/mnt", process), error).string();
    };
    std::string own = space("self"), other = space(fmt::to_string(pid));
    return own == other || other.empty() ? path : fmt::format("/proc/{}/root{}", pid, path);
}

} // namespace sonde
