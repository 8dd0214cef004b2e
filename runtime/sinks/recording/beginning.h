// The beginning of a recording: where it was made, and the plan of the session.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/recording/recording_file.h"
#include "runtime/text/json.h"

namespace sonde {

struct Beginning {
    Json about;
    plan::Plan plan;

    // A number in `about`; 0: it has none.
    int64_t number(const char* name) const;
};

// Reads the first events of the recording. Errors: they are not readable, or sonde cannot read the plan of this
// version.
Result<Beginning> read_beginning(RecordingReader& reader, const std::string& file);

} // namespace sonde
