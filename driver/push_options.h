// The options for what a session pushes: --otlp and its like, headers, whom to trust.
#pragma once

#include <string>

#include "driver/options.h"

namespace CLI {
class App;
}

namespace sonde {

void add_push_options(CLI::App& app, Options& options);
// What only all of them together can get wrong; empty: nothing.
std::string check_pushes(const CLI::App& app, const Options& options);

} // namespace sonde
