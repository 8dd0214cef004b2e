// The programs that are running, and those of them that have code of a line in a source file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

struct RunningProgram {
    std::string program;            // its path
    std::vector<int64_t> processes; // that run it, the newest first
};

// Programs whose file still is the one that runs, those with the newest processes first. Without sonde itself.
std::vector<RunningProgram> running_programs();

// Processes whose program was replaced or deleted after they began, as by a new build. `program` is the path that it
// had.
std::vector<RunningProgram> replaced_programs();

// The processes whose command has the file of Python as its script.
std::vector<RunningProgram> running_scripts(const std::string& file);

// A program or library with code of a line.
struct RunningPlace {
    std::string program;
    std::vector<int64_t> processes; // empty: no process runs it
    std::string source;             // the path of the source file in its debug information
    int line = 0;                   // the wanted one, or the next one that has code
    bool is_same_file = false;      // false: `source` is another path, with the same file name
};
struct RunningPlaces {
    std::vector<RunningPlace> places; // with the same file; or without such ones, those of the most similar paths
    std::string why_none;             // if `places` is empty
};

// Searches the running programs and their libraries for the line of a source file. `path` is absolute.
RunningPlaces find_running_places(const std::string& path, int line);
// The same in a program or library. Errors: the file cannot be read.
Result<RunningPlaces> find_places_in(const std::string& program, const std::string& path, int line);

// Where a log point at a line of Python is: at the beginning of the innermost function around it.
struct PythonLogPlace {
    std::string function; // its qualified name
    int line = 0;         // of its `def`
};
// Errors: no function is around the line, or the file cannot be read.
Result<PythonLogPlace> find_python_place(const std::string& path, int line);
// The processes that could run the file: those that have it as their script, or without such ones, all of Python.
RunningPlaces find_running_python(const std::string& path);

} // namespace sonde
