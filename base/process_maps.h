// Reads /proc/PID/maps, the mappings of a process (fs/proc/task_mmu.c, show_map_vma()). Nothing else in sonde reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// A line of /proc/PID/maps.
struct ProcessMapping {
    uint64_t start = 0, end = 0; // addresses in the process, [start, end)
    uint64_t offset = 0;         // in the file
    uint64_t inode = 0;          // 0: not a file
    uint64_t device =
        0; // the kernel's number of the file's device; on overlay file systems, stat(2) returns another one
    bool writable = false, executable = false, shared = false;
    // The path as the process sees it, with " (deleted)" after a deleted file; "[heap]" and others; empty for anonymous
    // memory.
    std::string path;

    bool covers(uint64_t address) const { return address >= start && address < end; }
    bool has_file() const { return path.starts_with('/'); }
};

// Sorted by address. Empty if the process has ended, or this user has no permission to see its mappings.
std::vector<ProcessMapping> read_process_maps(int64_t pid);
// All mappings, if one of them is of a file with one of these inodes; otherwise empty. This is faster for processes
// that do not map such a file, because their lines are not parsed. `hidden`: set if this user has no permission.
std::vector<ProcessMapping> read_maps_of_files(int64_t pid, const std::set<uint64_t>& inodes, bool& hidden);
// The mappings of sonde's own process.
std::vector<ProcessMapping> read_own_maps();

// Parses a line such as "7f01-7f02 r-xp 00001000 fe:00 1234   /lib/x.so". nullopt if it is not such a line.
std::optional<ProcessMapping> parse_process_mapping(const std::string& line);

} // namespace sonde
