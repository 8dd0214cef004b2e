// The texts of `sonde log` and `sonde snapshot`, translated to the script language. The expressions in them are those
// of the traced program:
//
//   left={left} {left * 2}        "left=%{left}v %{left * 2}d\n", $left$, $left * 2
//   left < 3 && name == "tea"     $left < 3 && __log_text($name$) == "tea"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

// The variables of a place, which `{*}` stands for.
struct PlaceVariables {
    std::vector<std::string> names;
    bool is_python = false; // the names are known only when the program runs
};
// Whether the text has a `{*}`.
bool logs_all_variables(std::string_view text);

// Returns the arguments of printf(). With a place, JSON output gets it as the member `place`. Errors: a brace without
// its pair, or an expression that sonde cannot evaluate.
Result<std::string> log_format(std::string_view text, std::string_view place = {},
                               const PlaceVariables& variables = {});

// Returns statements that print expressions, which have commas between them, on a line each: `  left = 3`.
Result<std::string> show_expressions(std::string_view text);

// Returns the condition. Fails if sonde cannot evaluate it.
Result<std::string> log_condition(std::string_view text);

} // namespace sonde
