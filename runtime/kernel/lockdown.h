// Whether the kernel is locked down (kernel_lockdown(7)), and which security modules it has: where securityfs shows it,
// and by the kernel's own answers where it is not mounted.
#pragma once

#include <optional>
#include <string>

namespace sonde {

// "integrity" or "confidentiality"; empty: it is not locked down, or nothing tells.
std::string lockdown();

// Whether BPF is one of the security modules; nothing: this kernel does not say without securityfs. `modules` becomes
// their names where these are known.
std::optional<bool> has_bpf_security_module(std::string& modules);

} // namespace sonde
