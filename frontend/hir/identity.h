// What a piece of HIR means, as a key for maps.
//
// A probe at a thousand points is one handler wherever its body came out the same, and so are the readers of variables
// and the functions that ask about the probe point. Keys are made of the structure itself: every field that changes
// what the code does is in them, and places in the script, names of locals and names of points are not. Equal keys mean
// equal code, so nothing has to be compared again.
#pragma once

#include <string>

#include "frontend/hir/hir.h"

namespace sonde::hir {

// Of a body. Locals are told apart by the order in which they appear, so bodies with locals of their own compare.
std::string identity(const Handler& handler);   // condition, return address and entry values too
std::string identity(const Function& function); // without its name
// Of an expression among others of the same body, whose locals are themselves.
std::string identity(const Expr& expr);
// Of all that a program is, places in the script too: equal programs become equal plans. Only what the plan's own
// structures say is left out: of handlers their points, of the program its counters and the probed files.
std::string identity(const Program& program);

} // namespace sonde::hir
