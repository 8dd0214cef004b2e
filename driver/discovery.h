// What there is to probe, for whom does not know yet: all families of probe points (`-l '*'`), and a word that is
// looked for everywhere (`sonde tcp`, `sonde -l malloc -c ls`).
#pragma once

#include <string>

#include "driver/options.h"
#include "driver/translation.h"

namespace sonde {

// Whether -l's argument asks for that and not for the points that match it.
bool is_discovery(Translation& t, const Options& options);
// Prints the answer; gives the exit status.
int discover(Translation& t, const Options& options);

} // namespace sonde
