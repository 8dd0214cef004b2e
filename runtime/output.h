// Where printed text goes: standard output or -o's file, buffered, with every failure noticed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

struct OutputFile {
    std::string path;   // -o: with strftime() directives; empty: standard output
    uint64_t bytes = 0; // -S: a file has no more, and another one follows: PATH.0, PATH.1 ...; 0: no limit
    uint64_t files = 0; // -S: how many of these are kept; 0: all
};

class Output {
  public:
    Result<void> open(const OutputFile& file);
    void write(std::string_view text);
    // Writes what is buffered. After a failure nothing more is written.
    void flush();
    // Goes on in the next file: of -S, or else PATH.1, PATH.2 ... Standard output stays what it is.
    void switch_file();
    // Why writing failed; empty while it works.
    const std::string& failure() const { return failure_; }

  private:
    Result<void> open_next();
    OutputFile target_;
    uint64_t opened_ = 0, written_ = 0; // files so far; bytes in the current one
    int fd_ = 1;
    Fd file_;
    bool interactive_ = false;
    std::string buffer_, failure_;
};

} // namespace sonde
