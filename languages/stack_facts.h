// Language runtimes: interpreters that execute functions without machine code, which stacks show.
//
// Each runtime is a folder beside this file, and a row in runtime/plan/language_runtimes.def. The row's comment lists
// the runtime's other parts. The folder's code recognizes the interpreter in a program or library by symbols, and reads
// facts about it once for each file. Handlers get the facts, and follow the frames in the memory of processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "base/result.h"
#include "runtime/plan/language_runtimes.h"

namespace sonde {

struct StackFacts {
    std::string facts; // the bytes of struct sonde_NAME
    // The addresses of the loop, as linked, in ascending order, and its first instruction. Stacks show the language's
    // functions in place of the loop.
    std::vector<std::pair<uint64_t, uint64_t>> loop;
    uint64_t loop_entry = 0;
    // Code without tables for unwinding, whose functions all keep a frame pointer; empty: there is none.
    std::pair<uint64_t, uint64_t> frame_pointers{};
};

// Reads the facts for one language. Returns nullopt if the file does not contain an interpreter. Fails if it does, but
// sonde does not support it.
using ReadStackFacts = Result<std::optional<StackFacts>>(const ElfFile& file);
#define LANGUAGE_RUNTIME(id, name, ...) ReadStackFacts name##_stack_facts;
#include "runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME

} // namespace sonde
