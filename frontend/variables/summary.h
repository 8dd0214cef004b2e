// `$$vars` and its relatives: variables as one text, `a=0x1 b=?`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/variables/place.h"
#include "frontend/variables/text.h"

namespace sonde {

// Adds ` name=value`; what cannot be read is a `?` among the others.
void add_variable(Binding& b, Text& text, const std::string& name, const std::function<std::optional<Place>()>& find);
// False after a report: the expression goes on with members, which a text does not have.
bool ends_with_name(Binding& b);
// Reports that there is no such variable, with the nearest of `names`; gives null.
std::nullptr_t refuse_summary(Binding& b, const std::vector<std::string>& names);

} // namespace sonde
