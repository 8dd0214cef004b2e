// From a script in bpftrace's or DTrace's language to its tree, by what their manuals say of the two grammars.
#pragma once

#include <string_view>

#include "base/result.h"
#include "frontend/bridge/bridge.h"
#include "frontend/bridge/tree.h"

namespace sonde::bridge {

// An error names the place as `LINE:COLUMN`. No text makes it crash or loop.
Result<Tree> read_tree(std::string_view text, Dialect dialect);

// "3:14", counted from 1.
std::string place_of(std::string_view text, size_t at);

} // namespace sonde::bridge
