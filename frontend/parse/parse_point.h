// Probe points: tokens to trees.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// Points separated by commas, appended to `points`; alternatives are expanded into all their combinations. False after
// an error.
bool parse_points(Parser& p, std::vector<ast::ProbePoint*>& points);
// A whole text that is probe points; what could be read of them.
std::vector<ast::ProbePoint*> parse_points_only(Parser& p);

} // namespace sonde
