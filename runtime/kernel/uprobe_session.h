// Programs of session links, which run at a function's entry and at its return (6.13, "bpf: Add support for uprobe
// multi session attach").
#pragma once

#include <bpf/libbpf.h>

#include "base/result.h"

namespace sonde {

constexpr uint32_t trace_uprobe_multi = 48;   // BPF_TRACE_UPROBE_MULTI (6.6)
constexpr uint32_t trace_uprobe_session = 57; // BPF_TRACE_UPROBE_SESSION

// Puts the kernel's functions in the place of plan::call_session_is_return and call_session_cookie. Before the object
// is loaded.
Result<void> aim_session_calls(bpf_program* program);

} // namespace sonde
