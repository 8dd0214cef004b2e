// The mappings of a process, /proc/PID/maps: the one reader of it (fs/proc/task_mmu.c, show_map_vma()).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct ProcessMapping {
    uint64_t start = 0, end = 0; // addresses in the process, [start, end)
    uint64_t offset = 0;         // in the file
    uint64_t inode = 0;          // 0: of no file
    uint64_t device = 0;         // of the file, as the kernel has it: on overlays another one than stat(2) says
    bool writable = false, executable = false, shared = false;
    // As the process sees it, maybe with " (deleted)" after it; "[heap]" and the like; empty: anonymous.
    std::string path;

    bool covers(uint64_t address) const { return address >= start && address < end; }
    bool has_file() const { return path.starts_with('/'); }
};

// By address. Empty for a process that is gone or that this user may not look at.
std::vector<ProcessMapping> read_process_maps(int64_t pid);
// Only if one of them is of a file with one of these inodes, else empty. Most processes map none of some files: their
// lines are not taken apart. `hidden`: whether this user may not look at the process.
std::vector<ProcessMapping> read_maps_of_files(int64_t pid, const std::set<uint64_t>& inodes, bool& hidden);
// Of this process.
std::vector<ProcessMapping> read_own_maps();

// One line, "7f01-7f02 r-xp 00001000 fe:00 1234   /lib/x.so"; nullopt: it is none.
std::optional<ProcessMapping> parse_process_mapping(const std::string& line);

} // namespace sonde
