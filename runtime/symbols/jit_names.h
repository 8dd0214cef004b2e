// Names of functions that a just-in-time (JIT) compiler generated in a process.
//
// No file contains this code. Many language runtimes can write the names to /tmp/perf-PID.map, one function per line:
// "START SIZE name", with hexadecimal numbers (Linux: tools/perf/Documentation/jit-interface.txt). Options for this:
// node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, jcmd PID Compiler.perfmap, python -X perf, and
// DOTNET_PerfMapEnabled for .NET.
//
// The file grows while the process runs, and remains after its end. Everybody may write to /tmp. So sonde uses a file
// only if it belongs to the user of the process or to root, and was written after the process began.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/symbols/functions.h"

namespace sonde {

// The names of one process.
class JitNames {
  public:
    // `process` is a PID in the PID namespace of sonde's /proc. The process must still exist, since its user and its
    // start time are read here.
    explicit JitNames(int64_t process);

    // Reads the new lines of the file, at most ten times a second. Returns true if there were new lines. Names that
    // were looked up earlier may then be outdated, because a JIT compiler reuses memory.
    bool read_on();
    bool is_in_use() const { return read_ > 0; }
    // Returns the function at an address, or null if none is known. The pointer is valid until the next read_on() or
    // add().
    const FunctionSymbol* find(uint64_t address) const;
    // The path of the map file.
    const std::string& path() const { return path_; }

    // Adds complete lines of a map file. A new function removes older ones that it overlaps. Returns the size of the
    // complete lines in bytes.
    size_t add(const std::string& text);

  private:
    std::string path_;                             // empty: the process did not exist
    uint32_t owner_ = 0;                           // user id of the process
    int64_t began_ = 0;                            // start time of the process, nanoseconds since 1970
    uint64_t read_ = 0;                            // bytes of the file that were processed
    std::string head_;                             // the first bytes of the file at the last read, to detect a new file
    int64_t looked_ = 0;                           // time of the last read, nanoseconds of CLOCK_MONOTONIC
    std::map<uint64_t, FunctionSymbol> functions_; // by address, without overlaps
};

} // namespace sonde
