// Collects the files that the target's processes execute and map as code.
//
// /proc/PID/maps is not enough: a program that lives for a millisecond would be missed, and stopping a process at each
// library would slow it down. So the kernel reports the mappings: a perf event with PERF_RECORD_MMAP2 records
// (perf_event_open(2)), which child processes inherit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"

namespace sonde {

// The files of one target, or of all processes. Call drain() while the target runs.
class TargetFiles {
  public:
    TargetFiles() = default;
    ~TargetFiles();
    TargetFiles(const TargetFiles&) = delete;
    TargetFiles& operator=(const TargetFiles&) = delete;

    // Starts to follow a waiting process and its future children. If the kernel refuses, is_complete() stays false.
    void follow(pid_t process);
    // Adds the current mappings of a running process and its children. May be called again.
    void look_at(int64_t process);
    // Does the same for all processes whose maps this user is permitted to read.
    void look_at_all();
    // Reads the kernel's records. Call this often enough that its buffers do not overflow.
    void drain();

    // Whether all mappings are known.
    bool is_complete() const { return complete_; }
    // The inodes of the files that were mapped from this path. Empty if none was.
    std::set<uint64_t> inodes_at(const std::string& path) const;
    bool has_inode(uint64_t inode) const { return inodes_.contains(inode); }
    // The first program of the followed process. Empty if unknown.
    const std::string& program() const { return program_; }

  private:
    // A perf event on one processor, with its mapped ring buffer.
    struct Buffer {
        Fd event;
        char* memory;
    };
    void add(const std::string& path, uint64_t inode);
    // Returns whether the process has files mapped, and its maps can be read.
    bool look_at_one(int64_t process);
    // Reads the records of one buffer.
    void take(const Buffer& buffer);
    std::vector<Buffer> buffers_;
    pid_t process_ = 0;
    bool complete_ = false;
    std::string program_;
    std::map<std::string, std::set<uint64_t>> paths_;
    std::set<uint64_t> inodes_;
};

} // namespace sonde
