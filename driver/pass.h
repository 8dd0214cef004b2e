// Messages of every pass on standard error: its time, and its failure.
#pragma once

#include <cstdint>
#include <string>

#include "driver/options.h"

namespace sonde {

constexpr int exit_failure = 1;

void say_error(const std::string& message);
// Prints "Pass N: parse failed." in SystemTap's words. Returns exit_failure.
int say_failed(int pass);

// Measures the time of a pass, and prints it at -v as stap does.
class PassTimer {
  public:
    PassTimer(int pass, const Options& options);
    void done(const std::string& what) const;

  private:
    struct Times {
        int64_t user, system, real; // milliseconds
    };
    static Times now();
    int pass_, verbose_;
    Times start_;
};

} // namespace sonde
