// Parses scripts of bpftrace and DTrace to a tree, according to the manuals of the two languages.
#pragma once

#include <string_view>

#include "base/result.h"
#include "frontend/bridge/bridged.h"
#include "frontend/bridge/tree.h"

namespace sonde::bridge {

// Errors: a syntax error, with the place as `LINE:COLUMN`. Terminates without a crash for any text.
Result<Tree> read_tree(std::string_view text, Dialect dialect);

// Line and column, counted from 1, for example "3:14".
std::string place_of(std::string_view text, size_t at);

} // namespace sonde::bridge
