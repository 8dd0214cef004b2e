// Translates scripts of bpftrace and DTrace, and definitions of `perf probe`, to our language.
//
// Users who know one of these can type it, and get the same in our language to paste. Something without a counterpart
// is a gap: it is reported with its place, and a comment replaces it. Nothing is dropped silently.
//
// Example, from bpftrace:
//     kprobe:vfs_read /comm == "bash"/ { @reads[pid] = count(); }
// becomes
//     global reads
//     probe kernel.function("vfs_read") { if (execname() == "bash") reads[pid()]++ }
//
// A translation has four steps:
// - reader.cc makes a tree (tree.h).
// - point.cc translates the probes.
// - facts.cc finds out what the maps contain. `@reads` can be a counter, a statistic or a plain variable, and the
//   assignment that decides this may come later in the script. So this is a separate step.
// - writer.cc and expressions.cc write the text.
//
// Translations must keep the meaning, but need not be complete. If a word has a similar, but not the same meaning in
// our language, this is reported as well (Gap::is_lost is false then).
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "frontend/bridge/bridged.h"

namespace sonde::bridge {

// The dialect called "bpftrace", "dtrace" or "perf"; nullopt for other names.
std::optional<Dialect> find_dialect(std::string_view name);
// For messages, for example "bpftrace's".
const char* name_of(Dialect dialect);

// The language of a text, by features that only this language has. nullopt for our language and for other text.
std::optional<Dialect> guess_dialect(std::string_view text);

// Translates a script. Errors: the text is not in this language; the message has the place as `LINE:COLUMN`.
Result<Bridged> translate_from(Dialect dialect, std::string_view text, const BridgeOptions& options);

} // namespace sonde::bridge
