// Which programs' system calls a handler can follow pointers of.
#pragma once

#include <vector>

#include "frontend/ast/ast.h"
#include "frontend/points/resolved_point.h"

namespace sonde {

// Takes 32-bit programs' calls away from a system call's point if one of these expressions reads what an argument
// points to (`$statbuf->st_size`) and that has another layout in these programs. Values of arguments are right in both.
void keep_readable_calls(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets);

} // namespace sonde
