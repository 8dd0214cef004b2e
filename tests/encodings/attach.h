// Uprobes on all instructions of a file, by nothing but system calls. The program that they run counts.
#pragma once

#include <string>
#include <vector>

#include "tests/encodings/machine.h"

namespace encodings {

struct Counter {
    int map = -1;
    volatile uint64_t* hits = nullptr;
};

Counter load_counter();
// One link for all. False: the kernel has no such links (before 6.6).
bool attach_multi(const Counter& counter, const std::string& path, const std::vector<Instruction>& instructions);
// An event for each.
void attach_events(const Counter& counter, const std::string& path, const std::vector<Instruction>& instructions);

} // namespace encodings
