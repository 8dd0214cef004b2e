// Debug information from the servers of DEBUGINFOD_URLS, by build-id.
//
// The client library is elfutils' (debuginfod_find_debuginfo(3)), with its cache and its settings; it is loaded when it
// is wanted, so that nothing of it is needed otherwise.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde {

// Whether a server is named.
bool has_debuginfod();

// The path of the downloaded file. Says on standard error what it downloads. Errors: no library (Debian:
// libdebuginfod1), no server that answers; with an empty message if no server is named, or the servers do not have it.
Result<std::string> download_debug_file(const std::string& build_id);

} // namespace sonde
