// The names of the library for completions. Reading them takes longer than a user waits for a completion, so the server
// does so once, when it starts.
#pragma once

#include "driver/lsp/protocol.h"
#include "driver/lsp/script.h"

namespace sonde::lsp {

// Returns an object with the arrays `functions` and `aliases`, or null. For a worker.
Json read_inventory(const Setting& setting);

} // namespace sonde::lsp
