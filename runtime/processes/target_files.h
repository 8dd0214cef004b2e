// Which files the target's processes run and map as code, as the kernel reports it: the mapping records that perf
// events give (perf_event_open(2), PERF_RECORD_MMAP2), followed into children. That nothing is in a session's way when
// a library is loaded, and that a program which lived for a millisecond is known too, is what /proc/PID/maps could not
// give.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"

namespace sonde {

class TargetFiles {
  public:
    TargetFiles() = default;
    ~TargetFiles();
    TargetFiles(const TargetFiles&) = delete;
    TargetFiles& operator=(const TargetFiles&) = delete;

    // From here on, for a process that waits and what it will start. Where the kernel refuses, nothing is known.
    void follow(pid_t process);
    // What a running process and its children have mapped now; may be called again.
    void look_at(int64_t process);
    // The same of all processes whose files this user may see.
    void look_at_all();
    // Takes what the kernel has reported; often enough that its buffers do not overflow.
    void drain();

    // Everything that was mapped is known.
    bool is_complete() const { return complete_; }
    // Inodes of the files that were mapped by this path; empty: none was.
    std::set<uint64_t> inodes_at(const std::string& path) const;
    bool has_inode(uint64_t inode) const { return inodes_.contains(inode); }
    // The first program; empty: unknown.
    const std::string& program() const { return program_; }

  private:
    struct Buffer {
        Fd event;
        char* memory;
    };
    void add(const std::string& path, uint64_t inode);
    // Whether the process had files mapped that could be looked at.
    bool look_at_one(int64_t process);
    void take(const Buffer& buffer);
    std::vector<Buffer> buffers_;
    pid_t process_ = 0;
    bool complete_ = false;
    std::string program_;
    std::map<std::string, std::set<uint64_t>> paths_;
    std::set<uint64_t> inodes_;
};

} // namespace sonde
