// `$$vars` and others: variables as one text, `a=0x1 b=?`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/variables/place.h"
#include "frontend/variables/text.h"

namespace sonde {

// Adds ` name=value`. A value that cannot be read is printed as `?`.
void add_variable(Binding& b, Text& text, const std::string& name, const std::function<std::optional<Place>()>& find);
// Whether the expression ends here. False after a report: it continues with members, which a text does not have.
bool ends_with_name(Binding& b);
// Reports an unknown name, with the most similar of `names`. Returns null.
std::nullptr_t refuse_summary(Binding& b, const std::vector<std::string>& names);

} // namespace sonde
