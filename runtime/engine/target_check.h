// Checks the target: its process, the filter, and how the command ended.
//
// The checks of the filter for -c and -x ensure that it lets the target's hits through. A filter that rejects every
// process counts nothing, which looks the same as a program that does nothing.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde {

class Command;
class Session;

// Checks that the process of -x and the groups exist. Warns if -x is a thread, or a process outside of the groups.
Result<void> check_target(Session& session);
// Checks the filter before the probes are armed. Returns an error that explains the consequence if the filter would
// reject the target.
Result<void> check_target_filter(Session& session);
// Checks the filter after the command has ended by itself. Returns an error if its exec was not seen, because then no
// handler ran for it.
Result<void> check_target_joined(const Session& session);
// Returns true, and prints a warning, if the command has ended with an error. `may_trap`: probes set breakpoints. A
// copy of a breakpoint that sonde could not remove ends the program (runtime/attach/moved_text.h).
bool command_failed(Command& command, const std::string& text, bool may_trap);

} // namespace sonde
