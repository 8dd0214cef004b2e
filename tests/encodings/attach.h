// Attaches uprobes to all instructions of a file, with system calls only. Their program counts the hits.
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
// One link for all. Returns false if the kernel has no such links (before 6.6).
bool attach_multi(const Counter& counter, const std::string& path, const std::vector<Instruction>& instructions);
// One event for each instruction.
void attach_events(const Counter& counter, const std::string& path, const std::vector<Instruction>& instructions);

} // namespace encodings
