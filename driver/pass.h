// What every pass says on standard error: how long it took, and that it failed.
#pragma once

#include <cstdint>
#include <string>

#include "driver/options.h"

namespace sonde {

constexpr int exit_failure = 1;

void say_error(const std::string& message);
// "Pass N: WHAT failed.", in SystemTap's words. Gives exit_failure.
int say_failed(int pass);

// Times a pass, and says so at -v as stap does.
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
