// Detects whether the kernel is locked down (kernel_lockdown(7)), and its security modules. Reads securityfs if it is
// mounted, and otherwise tests the kernel.
#pragma once

#include <optional>
#include <string>

namespace sonde {

// Returns "integrity" or "confidentiality". Returns an empty string if the kernel is not locked down, or this is
// unknown.
std::string lockdown();

// Returns whether BPF is one of the active security modules, or nothing if this is unknown. Stores their names in
// `modules` if they are known.
std::optional<bool> has_bpf_security_module(std::string& modules);

} // namespace sonde
