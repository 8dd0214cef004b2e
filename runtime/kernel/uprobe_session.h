// Support for uprobe session links. Such a link runs one program at a function's entry and again at its return (6.13,
// "bpf: Add support for uprobe multi session attach").
#pragma once

#include <bpf/libbpf.h>

#include "base/result.h"

namespace sonde {

constexpr uint32_t trace_uprobe_multi = 48;   // BPF_TRACE_UPROBE_MULTI (6.6)
constexpr uint32_t trace_uprobe_session = 57; // BPF_TRACE_UPROBE_SESSION

// Returns whether session links are available on the running kernel.
bool has_uprobe_session();
// Replaces the placeholders plan::call_session_is_return and plan::call_session_cookie in a program by calls of the
// kernel's functions. Call this before the object is loaded.
Result<void> aim_session_calls(bpf_program* program);

} // namespace sonde
