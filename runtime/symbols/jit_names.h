// The functions that a just-in-time compiler has made in a process.
//
// Their code lies in no file. Runtimes that can be asked to (node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, jcmd
// PID Compiler.perfmap, python -X perf, .NET's DOTNET_PerfMapEnabled) write what they make into /tmp/perf-PID.map, a
// line each: "START SIZE name", numbers in hexadecimal (Linux: tools/perf/Documentation/jit-interface.txt). The file
// grows while the process runs, and it stays when the process has ended. Anybody may write to /tmp, so a file counts
// only if it is the work of the process's user, or of root, and was written since the process began.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/symbols/functions.h"

namespace sonde {

class JitNames {
  public:
    // Notes who the process is, which is to run still: its number in this session's /proc.
    explicit JitNames(int64_t process);

    // Reads what the file has got since the last time, at most ten times a second. Whether there was something: what
    // was said of addresses may be outdated then, as code takes the place of other code.
    bool read_on();
    bool is_in_use() const { return read_ > 0; }
    // The function at an address, as far as the file was read; null: none is known. Valid until more is read.
    const FunctionSymbol* find(uint64_t address) const;
    // The file that has the names.
    const std::string& path() const { return path_; }

    // Takes whole lines of such a file, the newest last: code takes the place of code that was there before. Gives how
    // many bytes that were.
    size_t add(const std::string& text);

  private:
    std::string path_;                             // empty: there was no such process
    uint32_t owner_ = 0;                           // its user
    int64_t began_ = 0;                            // nanoseconds since 1970
    uint64_t read_ = 0;                            // bytes of the file
    std::string head_;                             // of the file, as it was read last
    int64_t looked_ = 0;                           // at the file, nanoseconds of CLOCK_MONOTONIC
    std::map<uint64_t, FunctionSymbol> functions_; // by address, without overlaps
};

} // namespace sonde
