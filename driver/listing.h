// Questions that are answered without running anything: -l, -L, --why, --dump-functions and its relatives.
#pragma once

#include "driver/options.h"
#include "driver/translation.h"

namespace sonde {

bool is_listing(const Options& options);
// Prints the answer after pass 1. Gives the exit status: a failure where nothing was found.
int list(Translation& t, const Options& options);

} // namespace sonde
