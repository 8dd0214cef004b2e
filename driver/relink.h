// --relink: a saved plan made anew from what it was made of, for the files and the kernel that are here now.
//
// What a plan knows of its points is not enough to find them in another build: handlers have the places of variables
// compiled into them. So the plan keeps its script and options, and both are translated again.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "driver/options.h"
#include "runtime/plan/plan.h"

namespace sonde {

// The texts that a plan keeps. `scripts` and `library` have to be added by the caller.
plan::Origin describe_origin(const Options& options);

// The options that translate the plan anew: what a script means comes from the plan, what is to be done with it (-c,
// -x, -o, -p4, -m ...) from the command line of now. Errors: the plan keeps no script, or was made for a target.
Result<Options> options_to_relink(const plan::Plan& plan, const Options& now);

// An error if the plan was made for a target and is to run without one. `now` has the plan's name.
Result<void> check_target(const plan::Plan& plan, const Options& wanted, const Options& now);

// The working directory that a plan was made in, as long as this lives, where there is such a directory.
class OriginFolder {
  public:
    explicit OriginFolder(const std::string& folder);
    ~OriginFolder();
    OriginFolder(const OriginFolder&) = delete;
    OriginFolder& operator=(const OriginFolder&) = delete;

  private:
    Fd before_;
};

} // namespace sonde
