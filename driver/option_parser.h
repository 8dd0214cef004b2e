// What reads the options: for the command line, and for whoever asks which there are.
#pragma once

#include <string>

#include "driver/options.h"

namespace CLI {
class App;
}

namespace sonde {

void add_options(CLI::App& app, Options& options);

// CLI11's callbacks say what is wrong by an exception; empty: nothing is.
void require(const std::string& problem);

// getopt's optional values are given after `=` only, so an option without gets its value here.
std::string with_value(const std::string& word);

} // namespace sonde
