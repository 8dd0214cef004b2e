// From the verifier's log to a message about the script.
#pragma once

#include <string>

namespace sonde {

// The refusal in words with the line of the script that BTF line information names.
std::string explain_verifier_log(const std::string& log);

// Which capability is missing to load BPF programs, or what else forbids it.
std::string explain_permission();

} // namespace sonde
