// Translates the verifier's log to a message about the script.
#pragma once

#include <string>

namespace sonde {

// Returns a message with the verifier's reason and the line of the script. `log` is the text between libbpf's markers.
std::string explain_verifier_log(const std::string& log);

// Returns why loading BPF programs is not permitted: a missing capability, lockdown, or a user namespace.
std::string explain_permission();

} // namespace sonde
