// A Python program: how it is started, and the source files that it would import.
//
// Source: "The Python Standard Library", "The initialization of the sys.path module search path".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde {

// How a program of Python is started.
struct PythonProgram {
    // The words of the command: a script with `#!` and its arguments, or an interpreter with its options and arguments.
    // Empty: unknown.
    std::vector<std::string> command;
    std::string folder;      // the working folder
    std::string interpreter; // its file
    std::string version;     // for example "3.11"
    std::string jit;         // $PYTHON_JIT: whether Python translates functions to machine code; empty: not set
    // Reads the command, the folder and the environment of a running process. Leaves them empty if it has ended or is
    // hidden.
    void read_process(int64_t process);
};

// Whether a command with this name is an interpreter, such as `python3` or `/usr/bin/python3.11`, and not a script.
bool is_python_command(const std::string& name);

// The files whose paths match the pattern of `.python("...")` (python_file_pattern), sorted: those below the program's
// own folder, or else those below the standard library and the installed packages. At most 50,000 files are looked at.
std::vector<std::string> python_files(const PythonProgram& program, const std::string& pattern);

} // namespace sonde
