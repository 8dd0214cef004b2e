// Keys for the meaning of a piece of HIR.
//
// A probe with a thousand points should not become a thousand programs. Points whose body turns out the same share one
// handler, and so do the readers of variables and the functions that ask about the probe point. To find them, sema
// builds the HIR for each point and looks up its key.
//
// A key contains every field that changes the generated code. It does not contain positions in the script, names of
// locals, or names of points. Equal keys mean equal code, so nothing is compared after the lookup. A field that is
// missing from the key would therefore merge handlers that behave differently: see the structured bindings in
// identity.cc.
#pragma once

#include <string>

#include "frontend/hir/hir.h"

namespace sonde::hir {

// The key of a body. Locals are identified by the order in which they appear, so bodies with different locals can be
// equal.
std::string identity(const Handler& handler);   // includes the condition, the return address and the entry values
std::string identity(const Function& function); // without its name
// The key of an expression within one body: locals are identified by their address.
std::string identity(const Expr& expr);
// The key of a whole program, including positions in the script: equal programs become equal plans. It does not contain
// data that the plan stores itself: the handlers' points, the counters and the probed files.
std::string identity(const Program& program);

} // namespace sonde::hir
