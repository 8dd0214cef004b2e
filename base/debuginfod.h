// Downloads debug information from the servers of DEBUGINFOD_URLS, by build-id.
//
// The client library is that of elfutils (debuginfod_find_debuginfo(3)), with its cache and settings. sonde loads it
// only when it is needed, so it need not be installed.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde {

// Whether DEBUGINFOD_URLS names a server.
bool has_debuginfod();

// Downloads the file and returns its path. Prints progress to standard error. Errors: the library (Debian:
// libdebuginfod1) is not installed, or no server answers. The error's message is empty if no server is configured, or
// if no server has the file.
Result<std::string> download_debug_file(const std::string& build_id);

} // namespace sonde
