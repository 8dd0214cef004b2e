// Writes a tree as a script in our language.
#pragma once

#include <string_view>

#include "frontend/bridge/bridged.h"
#include "frontend/bridge/tree.h"

namespace sonde::bridge {

// Translates a whole script. `text` is the text that was given to read_tree(): gaps quote it by the places of the
// nodes.
Bridged write_script(const Tree& tree, std::string_view text, Dialect dialect, const BridgeOptions& options);

} // namespace sonde::bridge
