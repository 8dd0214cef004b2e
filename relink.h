// --relink: a saved plan made anew from what it was made of, for the files and the kernel that are here now.
//
// What a plan knows of its points is not enough to find them in another build: handlers have the places of variables
// compiled into them. So the plan keeps its script and options, and both are translated again.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "options.h"
#include "runtime/plan.h"

namespace sonde {

// The texts that a plan keeps. `scripts` and `library` have to be added by the caller.
plan::Origin describe_origin(const Options& options);

// The options that translate the plan anew: what a script means comes from the plan, what is to be done with it (-c,
// -x, -o, -p4, -m ...) from the command line of now. Errors: the plan keeps no script.
Result<Options> options_to_relink(const plan::Origin& origin, const Options& now);

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
