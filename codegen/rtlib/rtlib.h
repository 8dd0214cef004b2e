// C++ access to the routines' bitcode, compiled when sonde is built.
#pragma once

#include <span>

namespace sonde {

std::span<const unsigned char> rtlib_bpf_bitcode();
std::span<const unsigned char> rtlib_host_bitcode();
std::span<const unsigned char> follow_bpf_bitcode();   // the programs that keep the target's process tree
std::span<const unsigned char> groups_bpf_bitcode();   // those that keep the maps of control groups
std::span<const unsigned char> ask_bpf_bitcode();      // the program that tells the runtime which file is which
std::span<const unsigned char> counters_bpf_bitcode(); // the program that counts for threads
std::span<const unsigned char> tasks_bpf_bitcode();    // the programs that keep what process probes are about
std::span<const unsigned char> watch_bpf_bitcode();    // the programs that hold processes until they are watched
std::span<const unsigned char> moved_bpf_bitcode();    // the program that stops processes that move their code

} // namespace sonde
