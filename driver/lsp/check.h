// The diagnostics of a document: those of `sonde -p2`.
#pragma once

#include "driver/lsp/documents.h"
#include "driver/lsp/script.h"

namespace sonde::lsp {

// Runs passes 1 and 2, in a worker. Returns an object with these members:
//
//   diagnostics   as the protocol has them. The member `data.fixes` of each has corrections: title, range, newText
//   types         the types of names, by the offset of the name that declares them
//   points        without errors: the first resolved probe points
//   point_count   the number of all of them
Json check(const Document& document, const Setting& setting);

// The result if no check was possible.
Json failed_check(const std::string& message);

} // namespace sonde::lsp
