// The bitcode of the routines, which is compiled when sonde is built. The two libraries (rtlib_...) are linked function
// by function. Each of the others consists of programs, and is linked as a whole if the script needs it.
#pragma once

#include <span>

namespace sonde {

std::span<const unsigned char> rtlib_bpf_bitcode();
std::span<const unsigned char> rtlib_host_bitcode();
std::span<const unsigned char> follow_bpf_bitcode();   // keeps the target's process tree
std::span<const unsigned char> groups_bpf_bitcode();   // keep the maps of control groups
std::span<const unsigned char> ask_bpf_bitcode();      // tells the runtime the inode of a file
std::span<const unsigned char> counters_bpf_bitcode(); // counts for threads
std::span<const unsigned char> tasks_bpf_bitcode();    // keep the subjects of process probes
std::span<const unsigned char> watch_bpf_bitcode();    // hold processes until they are watched
std::span<const unsigned char> moved_bpf_bitcode();    // stops processes that move their code

} // namespace sonde
