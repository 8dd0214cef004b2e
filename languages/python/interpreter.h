// Recognizes an interpreter of Python (CPython) in a program or library, and reads facts about it.
//
// The problem: handlers read a Python program's functions and values from the interpreter's memory, and the layout of
// this memory differs between versions. Most interpreters are stripped, so debug information cannot describe it.
//
// The idea: interpreters export a few symbols for extension modules, also when stripped. `_PyRuntime` is the state of
// all threads. `_PyEval_EvalFrameDefault` is the loop that executes functions. The version selects a layout:
//
// * 3.8 to 3.12: one from a table (layouts.cc). Layouts are the same in all patch releases of a minor version.
// * from 3.13 on: `_PyRuntime` begins with a description of the layout, `_Py_DebugOffsets`. The table has the members
//   that it does not describe.
//
// What would break this: a build with other structures, such as a free-threaded one. These are refused if they say so.
// Handlers also check that the types of objects are right before they read an object.
//
// Sources: CPython's headers, Include/cpython and Include/internal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "base/result.h"
#include "runtime/plan/python.h"

namespace sonde {

struct PythonInterpreter {
    sonde_python layout{};
    std::string version; // "3.11.2"; before 3.11 without the last number
    // The addresses of the loop, as linked, in ascending order: the function, and parts that the compiler has moved.
    std::vector<std::pair<uint64_t, uint64_t>> loop;
    // The handlers of the loop's instructions: an address for each opcode. Empty before 3.11, and if the interpreter
    // does not have exactly one such table.
    std::vector<uint64_t> handlers;
    uint64_t loop_entry = 0;     // the loop's first instruction
    uint64_t note_exception = 0; // PyTraceBack_Here(), which is called when an exception passes through a function
};

// Returns nullopt if the file does not contain an interpreter. Fails if it does, but sonde does not support the version
// or the kind of build.
Result<std::optional<PythonInterpreter>> read_python(const ElfFile& file);

} // namespace sonde
