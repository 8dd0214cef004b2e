// Probes of others as our probe points, and what that decides for the statements: where addresses lie, what arguments
// are called.
#pragma once

#include <string>
#include <string_view>

#include "frontend/bridge/bridge.h"

namespace sonde::bridge {

enum class PointKind {
    Begin, // and end, timers: no event of a program
    Entry,
    Return,
    TypedEntry, // arguments by name: fentry
    TypedReturn,
    Mark,
    SyscallEntry, // arguments by name and by number
    SyscallReturn,
    AnySyscallEntry,
    AnySyscallReturn,
    Tracepoint,
    RawTracepoint,
    Sample,
    Iterator,
};

struct OurPoint {
    std::string text; // kernel.function("vfs_read")
    PointKind kind = PointKind::Begin;
    bool in_program = false; // addresses are a program's
    std::string tracepoint;  // Tracepoint: "sched_switch"
    std::string gap;         // why there is no such point here; empty: there is
    std::string caveat;      // what differs; empty: nothing
};

// kprobe:vfs_read
OurPoint point_of_bpftrace(const std::string& spec, const BridgeOptions& options);
// syscall::read:entry. `$target` in it is the process of -c and -x.
OurPoint point_of_dtrace(const std::string& spec, const BridgeOptions& options);

// In a script's string, with quotes.
std::string quoted(std::string_view text);

// process("/usr/bin/bash"); a path that has no `/` is looked up.
std::string process_of(const std::string& path, const BridgeOptions& options);

} // namespace sonde::bridge
