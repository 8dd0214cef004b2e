// Layouts of the interpreter's structures, for each supported minor version.
#pragma once

#include <string_view>

#include "runtime/plan/python.h"

namespace sonde {

// Supported versions: 3.first to 3.last.
constexpr unsigned first_python = 8, last_python = 14;

// Returns the layout of a supported version, without addresses.
sonde_python python_layout(unsigned minor_version);

// Replaces members by those that the interpreter itself describes. `offsets` is the content of `_PyRuntime`, from 3.13
// on. Returns the reason if it does not begin with a description that sonde understands, or "".
std::string_view read_debug_offsets(std::string_view offsets, sonde_python& layout);

// Members that only matter while an exception is being raised.
struct PythonExceptionLayout {
    // Of a thread: the exception. Up to 3.11 its value, with its class in the word before. If C code has raised it, the
    // value is not an exception yet, but the arguments of its class.
    unsigned thread_exception = 0;
    // Of a frame object, the address of its frame. 0: the frame object is the frame.
    unsigned object_frame = 0;
    // Whether the interpreter executes a frame: this byte of the frame is in a range.
    unsigned frame_executing = 0;
    int first_executing = 0, last_executing = 0;
};
PythonExceptionLayout python_exception_layout(unsigned minor_version);

// The numbers of bytecode instructions. 0: the version does not have the instruction.
struct PythonOpcodes {
    // The beginning of a function, and after `yield` and `await`; three forms of the same instruction.
    unsigned resume = 0, resume_quick = 0, resume_traced = 0;
    unsigned return_value = 0, return_constant = 0, return_value_traced = 0, return_constant_traced = 0;
    unsigned extended_argument = 0; // has the upper bits of the next instruction's argument
};
// Empty before 3.11, where each call of a function calls the loop.
PythonOpcodes python_opcodes(unsigned minor_version);

} // namespace sonde
