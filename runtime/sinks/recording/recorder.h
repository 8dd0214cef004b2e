// --record: writes everything that sinks receive to a file (recording_file.h). With --flight, keeps only the last
// events, and writes them when the script calls dump(), at SIGUSR1, and when the session fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/sinks/recording/flight.h"

namespace sonde {

struct RecordingRequest {
    std::string file;               // empty: no recording; with --flight: FILE.1, FILE.2 and so on are written
    std::vector<std::string> words; // the command line, for the reader of the recording
    FlightLimit flight;
    uint64_t files = 0; // --flight: how many recordings to keep
    uint64_t total = 0; // --flight: and of how many bytes together; 0: no limit
};

} // namespace sonde
