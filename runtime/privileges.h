// The capabilities of this process (capabilities(7)): what tracing needs, and what a session gives up once it runs.
#pragma once

#include <string>

#include "runtime/plan.h"

namespace sonde {

// Which capabilities tracing needs and this process has not, what they are for, and how to give them; empty: none.
std::string missing_capabilities();

// After everything is armed: gives up the capabilities that nothing uses from then on. What is started later by a root
// user has all of them again, as execve(2) has it; a command of -c was started before. Where it fails nothing changes.
void drop_privileges(const plan::Plan& plan);

} // namespace sonde
