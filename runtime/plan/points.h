// Probe points: the places to which handlers are attached.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/narrow_arguments.h"

namespace sonde::plan {

enum class ProbeKind : uint8_t; // kinds.h

// Events of a performance counter, in the terms of perf_event_open(2).
struct PerfSpec {
    uint32_t type = 0;
    uint64_t config = 0;
    uint64_t sample = 0;       // events between two runs of the handler, or with is_frequency, runs per second
    bool is_frequency = false; // if `sample` is 0, events are only counted
};
// A counter that handlers read by @perf("name").
struct Counter {
    std::string name;
    PerfSpec perf;
};
// Memory whose accesses are probed by debug registers of the processor (perf_event_open(2), PERF_TYPE_BREAKPOINT).
struct WatchSpec {
    uint64_t address = 0;
    uint32_t length = 1;      // 1, 2, 4 or 8 bytes; the address is a multiple of this
    bool reads = false;       // also probe reads, not only writes
    bool is_kernel = false;   // memory of the kernel; else of the process that runs Point::path
    bool is_relative = false; // relative to the load address of that file
    bool is_symbol = false;   // kernel: the running kernel's address of Point::symbol counts
};
// A hook of the network stack (include/uapi/linux/netfilter.h).
struct HookSpec {
    uint32_t family = 0, hook = 0; // NFPROTO_*, NF_INET_*
    int32_t priority = 0;
};
// A control file; Point::path is its name.
struct FileSpec {
    uint32_t mode = 0;     // permissions
    uint64_t max_size = 0; // maximum number of bytes that a reader gets; 0: max_string - 1
};

// One of the numbers by which 32-bit programs make a system call.
struct NarrowCall {
    int64_t number = 0;     // the number on i386, or one of narrow_arguments.h
    uint64_t arguments = 0; // positions of the arguments: bytes of narrow_arguments.h
};

// One place to which a handler is attached, with the results of pp() and similar functions there.
struct Point {
    std::string pp;       // pp(): the resolved point, process("/bin/x").function("f@f.c:3").call
    std::string pn;       // pn(): as the script writes it
    std::string function; // probefunc(), ppfunc()
    std::string path;     // uprobes: path of the file
    std::string symbol;   // tracepoints and kernel functions: the name
    std::string module;   // kernel functions: the module; empty: the kernel itself
    std::string meant;    // Python: the calls that the point means, in words; "" for other points
    int64_t number = -1;  // of a system call, at the tracepoint of all; -1: none, or only in 32-bit programs
    // The numbers of the same system call in 32-bit programs, at the same tracepoint.
    std::vector<NarrowCall> narrow_calls;
    std::string build_id;      // in hexadecimal; empty if the file has none
    uint64_t offset = 0;       // of the instruction: file offset (uprobes), or distance from the symbol (kprobes)
    uint64_t entry_offset = 0; // returns: the same for the function's entry, where parameters still have their values
    uint64_t ref_ctr_offset = 0;
    // The processes that the point concerns: those that run `program`, or the process `pid`, or all if both are empty.
    // Programs are compared by inode, so links and other names of the file are equal.
    std::string program;
    int64_t pid = 0;
    PerfSpec perf;    // Perf
    WatchSpec watch;  // Watch
    HookSpec hook;    // Netfilter
    FileSpec file;    // FileRead, FileWrite
    uint32_t row = 0; // index in Plan::rows, also the attach cookie (set by the last step of translation)

    bool is_system_call() const { return number >= 0 || !narrow_calls.empty(); }
};

// Returns the result of probe_type() at the point.
const char* type_at(ProbeKind kind, const Point& point);

struct TimerSpec {
    uint64_t interval_ns = 0; // Profile: 0 stands for the kernel's timer tick
    uint64_t random_ns = 0;   // each interval is random, between interval - random and interval + random
};

} // namespace sonde::plan
