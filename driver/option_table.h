// The rows of options/*.def as a table for the parser, the help and the completion.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"

namespace sonde {

// The heading under which `sonde help options` lists an option. The headings are in this order.
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
    std::string_view name;           // as the user wrote it: "--colour"
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
    // Stores the values. Returns an error message, or "".
    std::string (*read)(Options& options, const Given& given);

    std::vector<std::string> all_names() const;
    bool is_flag() const { return argument.empty(); }
    // You can give the option several times, each time with another value.
    bool repeats() const { return argument.ends_with("..."); }
    // The value follows `=`, or is missing.
    bool has_optional_value() const { return argument.starts_with("[="); }
    // The value is the next word, or follows `=`.
    bool takes_next_word() const { return !is_flag() && !has_optional_value() && !argument.starts_with("[ANY]"); }
    // "always" of "[=WHEN:always]": the default if the value is missing.
    std::string_view implied() const;
    // "FILE", "[=WHEN]": the placeholder as the help shows it.
    std::string shown_argument() const;
    // The only accepted values; empty: any value.
    std::vector<std::string> choices() const { return choices_of(argument); }

    static std::vector<std::string> choices_of(std::string_view argument);
};

std::span<const OptionRow> option_table();
// Returns the row with that name ("-o", "--report"), or null.
const OptionRow* find_option(std::string_view name);
// Returns the option that the user probably meant by a misspelt name with `--`, or by a name with an ending
// (`--flamegraph` for `--flame`). Empty: no option is near.
std::string nearest_option(const std::string& name);

// Returns the error message for `value`, which is not one of `values`. It suggests the nearest one.
std::string none_of(std::string_view option, const std::string& value, const std::vector<std::string>& values);

// The ten lines of `sonde --help`.
std::string short_help();
// The text of `sonde record --help` and `sonde help record`; "" if the word is not a subcommand (driver/commands.h).
std::string describe_subcommand(std::string_view name);
// The text of `sonde help options`: all options by topic.
std::string describe_options();
// The text of `sonde help --flame`: one option in a line.
std::string describe_option(const OptionRow& row, std::string_view name);

} // namespace sonde
