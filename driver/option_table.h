// The rows of options/*.def as a table. Parsing, the help and completion use it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"

namespace sonde {

// Where `sonde help options` lists an option; in this order.
enum class Topic : uint8_t {
    Help,
    Script,
    Finding,
    Target,
    Output,
    Pictures,
    Export,
    Session,
    Passes,
    Mechanisms,
    Machine,
    Accepted,
    Hidden, // not listed
};

// The part of the command line that belongs to one row.
struct Given {
    std::string_view name;           // as it was written: "--colour"
    std::string_view argument;       // the row's
    std::vector<std::string> values; // in their order; none for a flag
    size_t count = 0;                // number of times that the option is on the command line

    const std::string& value() const { return values.back(); }
};

struct OptionRow {
    std::string_view names;    // "--color,--colour"
    std::string_view argument; // the placeholder of the value, see options/translate.def; empty: a flag
    Topic topic;
    std::string_view help;
    // Stores what was given; returns what is wrong with it, or nothing.
    std::string (*read)(Options& options, const Given& given);

    std::vector<std::string> all_names() const;
    bool is_flag() const { return argument.empty(); }
    // The option can be given several times, each time with another value.
    bool repeats() const { return argument.ends_with("..."); }
    // The value is given after `=` or not at all.
    bool has_optional_value() const { return argument.starts_with("[="); }
    // The value is the next word, or follows `=`.
    bool takes_next_word() const { return !is_flag() && !has_optional_value() && !argument.starts_with("[ANY]"); }
    // "always" of "[=WHEN:always]": the value without a value.
    std::string_view implied() const;
    // "FILE", "[=WHEN]": the placeholder as the help shows it.
    std::string shown_argument() const;
    // The only values that it takes; empty: others, too.
    std::vector<std::string> choices() const { return choices_of(argument); }

    static std::vector<std::string> choices_of(std::string_view argument);
};

std::span<const OptionRow> option_table();
// Returns the row with that name ("-o", "--report"), or null.
const OptionRow* find_option(std::string_view name);
// The option that a misspelt name with `--` most likely stands for, or one with something appended (`--flamegraph` for
// `--flame`). Empty: none is near.
std::string nearest_option(const std::string& name);

// "text, json" of an option that takes only these, with the nearest: why it does not take `value`.
std::string none_of(std::string_view option, const std::string& value, const std::vector<std::string>& values);

// The ten lines of `sonde --help`.
std::string short_help();
// All options by topic: `sonde help options`.
std::string describe_options();
// One option in a line: `sonde help --flame`.
std::string describe_option(const OptionRow& row, std::string_view name);

} // namespace sonde
