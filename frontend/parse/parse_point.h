// Parses probe points.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// Parses points separated by commas, expands their alternatives, and appends the results to `points`. Returns false
// after an error.
bool parse_points(Parser& p, std::vector<ast::ProbePoint*>& points);
// Parses a text that consists of probe points only. After an error the result holds the points before the error.
std::vector<ast::ProbePoint*> parse_points_only(Parser& p);

} // namespace sonde
