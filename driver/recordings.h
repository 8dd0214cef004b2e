// `sonde record`, `sonde replay` and `sonde dump` on the command line.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "driver/options.h"

namespace sonde {

// Translates a command line that begins with `record` or `replay` to options; returns any other unchanged:
//
//     record -o FILE WORDS...    --record=FILE --format=none WORDS...
//     replay FILE WORDS...       --replay=FILE WORDS...
//
// WORDS of `record` are a tool, or options and a script. Those of `replay` are options and possibly a script. Errors:
// no file is given. The result is an exit status if --help follows the first word, and for `dump NAME [REASON]`, which
// is done at once.
std::variant<std::vector<std::string>, int> expand_recording(const std::vector<std::string>& words);

// Whether --replay comes with a script or a listing, which need a translation.
bool asks_recording(const Options& options);
// Shows the recording of --replay, and returns the exit status.
int show_recording(const Options& options);

} // namespace sonde
