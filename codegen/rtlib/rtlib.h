// The bitcode of the routines, which is compiled when sonde is built. The two libraries (rtlib_...) are linked function
// by function. Each of the others consists of programs, and is linked as a whole if the script needs it.
#pragma once

#include <span>
#include <string_view>

namespace sonde {

// The routines of an architecture.
struct Routines {
    using Bitcode = std::span<const unsigned char>;
    std::string_view architecture; // the first of Architecture::names()
    Bitcode rtlib_bpf, rtlib_host;
    Bitcode follow_bpf;   // keeps the target's process tree
    Bitcode groups_bpf;   // keep the maps of control groups
    Bitcode ask_bpf;      // tells the runtime the inode of a file
    Bitcode thread_bpf;   // copies a thread's registers
    Bitcode counters_bpf; // counts for threads
    Bitcode tasks_bpf;    // keep the subjects of process probes
    Bitcode watch_bpf;    // hold processes until they are watched
    Bitcode moved_bpf;    // stops processes that move their code
};
std::span<const Routines> all_routines();

} // namespace sonde
