// Recognizes V8 in a program or library, such as Node.js, and reads facts about it.
//
// The problem: handlers read JavaScript's functions from V8's objects, whose layout differs between versions. V8 has no
// public headers for them, and programs are stripped.
//
// The idea: V8 exports constants for debuggers, `v8dbg_*`, which describe types and members. They lack only a few
// offsets, which the version selects from a table. All builds of a version have the same ones, because pointer
// compression and the sandbox are refused.
//
// The built-in functions are machine code without tables for unwinding. All of it keeps a frame pointer. Exported
// functions return its address and size.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/elf_file.h"
#include "base/result.h"
#include "runtime/plan/javascript.h"

namespace sonde {

struct JavascriptInterpreter {
    sonde_javascript layout{};
    std::pair<uint64_t, uint64_t> code;     // all code of the file, as linked
    std::pair<uint64_t, uint64_t> built_in; // V8's built-in functions
};

// Returns nullopt if the file does not contain V8. Fails if it does, but sonde does not support it.
Result<std::optional<JavascriptInterpreter>> read_javascript(const ElfFile& file);

} // namespace sonde
