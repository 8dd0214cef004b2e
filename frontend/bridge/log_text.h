// The texts of `sonde log`, translated to the script language. The expressions in them are those of the traced program:
//
//   left={left} of {order->item.name}     "left=%s of %s\n", __log_text($left$), __log_text($order->item->name$)
//   left < 3 && name == "tea"             $left < 3 && __log_text($name$) == "tea"
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

// Returns the arguments of printf(). Errors: a brace without its pair, or an expression that sonde cannot evaluate.
Result<std::string> log_format(std::string_view text);

// Returns the condition. Fails if sonde cannot evaluate it.
Result<std::string> log_condition(std::string_view text);

} // namespace sonde
