// Decides whether a handler can follow pointers in system calls of 32-bit programs.
#pragma once

#include <vector>

#include "frontend/ast/ast.h"
#include "frontend/points/resolved_point.h"

namespace sonde {

// Removes the calls of 32-bit programs from a system call's point if one of these expressions follows a pointer
// argument (`$statbuf->st_size`) to an object with another layout in 32-bit programs. Values of arguments are correct
// in both.
void keep_readable_calls(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets);

} // namespace sonde
