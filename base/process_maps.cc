#include "base/process_maps.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

std::optional<ProcessMapping> parse_process_mapping(const std::string& line) {
    unsigned long long start = 0, end = 0, offset = 0, inode = 0;
    char access[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*s %llu %n", &start, &end, access, &offset, &inode, &path_at) !=
        5)
        return std::nullopt;
    return ProcessMapping{start,
                          end,
                          offset,
                          inode,
                          access[2] == 'x',
                          path_at > 0 ? line.substr(static_cast<size_t>(path_at)) : std::string()};
}

namespace {

std::vector<ProcessMapping> read_maps(const std::string& path) {
    std::vector<ProcessMapping> out;
    Result<std::string> maps = read_file(path);
    for (std::string_view rest = maps ? std::string_view(*maps) : ""; !rest.empty();) {
        std::string line(rest.substr(0, rest.find('\n')));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (std::optional<ProcessMapping> mapping = parse_process_mapping(line))
            out.push_back(*std::move(mapping));
    }
    return out;
}

} // namespace

std::vector<ProcessMapping> read_process_maps(int64_t pid) { return read_maps(fmt::format("/proc/{}/maps", pid)); }

std::vector<ProcessMapping> read_own_maps() { return read_maps("/proc/self/maps"); }

} // namespace sonde
