// Which options sonde has, for what reads a tool's command line and for completions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde {

// Whether sonde has an option of that name ("-o", "--report"), and whether the word after it is its value.
enum class OwnOption : uint8_t { None, Flag, Value };
OwnOption find_own_option(const std::string& name);

struct OptionWord {
    std::string name; // "-o", "--format"
    std::string help;
    std::vector<std::string> values; // those that it takes; empty: any
};

// All that --help lists.
std::vector<OptionWord> own_options();

// The option that an unknown word with `--` most likely stands for: a misspelt one, or one with something appended
// (`--flamegraph` for `--flame`). Empty if none is near.
std::string nearest_option(const std::string& name);

} // namespace sonde
