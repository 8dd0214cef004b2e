// Scripts in other tracers' languages: the same in ours, printed to paste.
//
// They are translated for the reader and not run at once: whoever types such a script should see what becomes of it.
// `sonde --from=bpftrace FILE | sonde -` runs what comes out.
#pragma once

#include "driver/options.h"
#include "driver/translation.h"

namespace sonde {

// A script that did not parse: when it reads as one of these languages, says so in place of the parser's errors, with
// the translation. False: it does not, and nothing is said.
bool explain_foreign(Translation& t, const Options& options);

// A pattern of -l or -L that did not parse: the same of a point.
bool explain_foreign_points(Translation& t, const Options& options);

// --from=LANGUAGE: prints the translation. Gives the exit status: a failure where something has no counterpart.
int print_foreign(const Options& options);

} // namespace sonde
