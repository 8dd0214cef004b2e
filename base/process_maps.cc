// Reads /proc/PID/maps.
//
// A line has this form (proc_pid_maps(5)):
//
//     7f01a000-7f01c000 r-xp 00001000 fe:00 1234   /lib/x.so
//
// A path can contain blanks, so it is everything after the blanks that follow the inode. A newline in a path is escaped
// by the kernel as \012.
//
// Some processes have tens of thousands of mappings. read_maps_of_files() first searches the text for the wanted
// inodes, and parses the lines only if one occurs.
#include "base/process_maps.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

std::optional<ProcessMapping> parse_process_mapping(const std::string& line) {
    unsigned long long start = 0, end = 0, offset = 0, inode = 0;
    unsigned major = 0, minor = 0;
    char access[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, access, &offset, &major, &minor,
                    &inode, &path_at) != 7)
        return std::nullopt;
    ProcessMapping out;
    out.start = start;
    out.end = end;
    out.offset = offset;
    out.inode = inode;
    out.device = uint64_t{major} << 32 | minor;
    out.writable = access[1] == 'w';
    out.executable = access[2] == 'x';
    out.shared = access[3] == 's';
    out.path = path_at > 0 ? line.substr(static_cast<size_t>(path_at)) : std::string();
    return out;
}

namespace {

std::vector<ProcessMapping> parse_maps(std::string_view rest) {
    std::vector<ProcessMapping> out;
    while (!rest.empty()) {
        std::string line(rest.substr(0, rest.find('\n')));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (std::optional<ProcessMapping> mapping = parse_process_mapping(line))
            out.push_back(*std::move(mapping));
    }
    return out;
}

std::vector<ProcessMapping> read_maps(const std::string& path) {
    Result<std::string> maps = read_file(path);
    return maps ? parse_maps(*maps) : std::vector<ProcessMapping>();
}

} // namespace

std::vector<ProcessMapping> read_maps_of_files(int64_t pid, const std::set<uint64_t>& inodes, bool& hidden) {
    const Result<std::string> maps = read_file(fmt::format("/proc/{}/maps", pid));
    hidden = !maps && (maps.error().os_error == EACCES || maps.error().os_error == EPERM);
    const auto has = [&](uint64_t inode) { return maps->find(fmt::format(" {} ", inode)) != std::string::npos; };
    return maps && std::ranges::any_of(inodes, has) ? parse_maps(*maps) : std::vector<ProcessMapping>();
}

std::vector<ProcessMapping> read_process_maps(int64_t pid) { return read_maps(fmt::format("/proc/{}/maps", pid)); }

std::vector<ProcessMapping> read_own_maps() { return read_maps("/proc/self/maps"); }

} // namespace sonde
