// Translates definitions of `perf probe`: `-x PATH 'func var:string'`, `func%return $retval`, `func:LINE`, `FILE:LINE`.
#pragma once

#include <string_view>

#include "base/result.h"
#include "frontend/bridge/bridged.h"

namespace sonde::bridge {

// Whether the text is a line for the file kprobe_events of tracefs: `p:EVENT SYMBOL ARGUMENTS`.
bool is_kprobe_event(std::string_view text);

// Translates the arguments of `perf probe`, with or without these two words in front, or a line for kprobe_events.
// Errors: an option that adds no probe, a missing definition, or no definition that has a counterpart. In the last
// case, the message is the first gap.
Result<Bridged> translate_perf(std::string_view text, const BridgeOptions& options);

} // namespace sonde::bridge
