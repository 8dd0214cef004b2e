// Translates probes of other tracers to our probe points. The point also determines how statements are translated:
// whether addresses are a program's, and how arguments are named.
#pragma once

#include <string>
#include <string_view>

#include "frontend/bridge/bridged.h"

namespace sonde::bridge {

enum class PointKind {
    Begin, // also end and timers: not an event of a program
    Entry,
    Return,
    TypedEntry, // fentry: arguments by name
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
    std::string gap;         // why there is no such point in our language; empty if there is
};

// For example kprobe:vfs_read.
OurPoint point_of_bpftrace(const std::string& spec, const BridgeOptions& options);
// For example syscall::read:entry. `$target` stands for the process of -c and -x.
OurPoint point_of_dtrace(const std::string& spec, const BridgeOptions& options);

// Quotes the text as a string of our language.
std::string quoted(std::string_view text);

// For example process("/usr/bin/bash"). A path without `/` is searched.
std::string process_of(const std::string& path, const BridgeOptions& options);

} // namespace sonde::bridge
