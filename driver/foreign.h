// Scripts in the languages of other tracers: sonde prints a translation that the user can paste.
//
// sonde does not run the translation at once: the user should see first what became of the script. `sonde
// --from=bpftrace FILE | sonde -` translates a script and runs it.
#pragma once

#include <optional>

#include "base/diag.h"
#include "driver/options.h"
#include "driver/translation.h"
#include "frontend/bridge/bridged.h"

namespace sonde {

// A script in another language, or with a probe point in one.
struct ForeignScript {
    std::optional<bridge::Bridged> translation; // nullopt: the message in the diagnostics says everything
};

// Call this for a script with syntax errors. If the script is in another language, reports that to `diags`. Returns
// nullopt, and reports nothing, for any other script.
std::optional<ForeignScript> recognize_foreign(Translation& t, const Options& options, Diagnostics& diags);

// The same, but prints the report and the translation. Returns false, and prints nothing, for any other script.
bool explain_foreign(Translation& t, const Options& options);

// The same for a pattern of -l or -L.
bool explain_foreign_points(Translation& t, const Options& options);

// --from=LANGUAGE: prints the translation. Returns the exit status, which is a failure if a part has no counterpart.
int print_foreign(const Options& options);

} // namespace sonde
