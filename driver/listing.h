// Options that print something and run nothing: -l, -L, --why, --dump-functions, --dump-probe-aliases,
// --dump-probe-types.
#pragma once

#include "driver/options.h"
#include "driver/policy.h"
#include "driver/translation.h"

namespace sonde {

// Returns whether the command line has one of these options.
bool is_listing(const Options& options);
// Prints the listing. Call it after pass 1. Returns the exit status, which is a failure if nothing was found. Points
// that the policies forbid are not listed.
int list(Translation& t, const Options& options, const Policies& policies);

} // namespace sonde
