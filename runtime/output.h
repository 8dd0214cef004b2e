// Where printed text goes: standard output or -o's file, buffered, with every failure noticed.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

class Output {
  public:
    // Empty: standard output.
    Result<void> open(const std::string& path);
    void write(std::string_view text);
    // What is written from here on goes to the next file, FILE.1, FILE.2 ...; nothing happens on standard output.
    void switch_file();
    // Writes what is buffered. After a failure nothing more is written.
    void flush();
    // Why writing failed; empty while it works.
    const std::string& failure() const { return failure_; }

  private:
    int fd_ = 1;
    std::string path_;
    uint64_t switched_ = 0;
    Fd file_;
    bool interactive_ = false;
    std::string buffer_, failure_;
};

} // namespace sonde
