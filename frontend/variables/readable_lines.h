// Where a variable can be read, for messages about a place where it cannot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/dwarf/dwarf_module.h"

namespace sonde {

struct ReadableStatement {
    Statement statement;
    bool whole_line = false; // all statements of its line have the value, so a probe of the line can read it
    std::string place;       // the argument of `.statement`: `scale@shapes.c:7`, or `0x1190` if not whole_line
};
// Returns the statement of the function that is nearest to `address`, of those where the variable has a location.
// `ranges`: from DwarfModule::location_ranges().
std::optional<ReadableStatement> nearest_readable(DwarfModule& module, const FunctionInstance& function,
                                                  Address address, const std::vector<LocationRange>& ranges);

} // namespace sonde
