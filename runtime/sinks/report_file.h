// --report: writes a JSON file with the accounting of all hits at the session's end.
#pragma once

#include <string>

#include "runtime/sinks/sink.h"

namespace sonde {

std::unique_ptr<Sink> make_report_file(const plan::Plan& plan, std::string path);

} // namespace sonde
