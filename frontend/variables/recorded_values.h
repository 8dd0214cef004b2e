// Values of a recording, for scripts over it (source_record.cc).
#pragma once

#include <string>

#include "frontend/variables/binding.h"
#include "runtime/plan/recorded_points.h"

namespace sonde {

// Returns the value of an expression that the recording's script has printed; null: it has not.
const plan::RecordedValue* find_recorded_value(const plan::RecordedPoint& point, const std::string& expression);
// Returns an expression that reads the value of the event.
hir::Expr* bind_recorded_value(Binder& binder, const plan::RecordedValue& value, Range range);

} // namespace sonde
