// --record: writes everything that sinks receive to a file (recording_file.h).
#pragma once

#include <string>
#include <vector>

namespace sonde {

struct RecordingRequest {
    std::string file;               // empty: no recording
    std::vector<std::string> words; // the command line, for the reader of the recording
};

} // namespace sonde
