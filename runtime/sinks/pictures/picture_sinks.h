// The sinks for --folded, --flame, --pprof, --timeline and --heatmap.
#pragma once

#include <optional>
#include <vector>

#include "runtime/sinks/pictures/flame_tree.h"
#include "runtime/sinks/pictures/request.h"
#include "runtime/sinks/sink.h"

namespace sonde {

struct PictureSettings {
    std::vector<PictureRequest> pictures;
    std::string flame_base;     // --flame-against: a folded file for comparison; empty: none
    HttpSettings push;          // for --pprof=URL
    double push_interval_s = 0; // --pprof-interval; 0: a single profile at the end
};

// Returns one sink for each picture. Fails if a global does not exist or has the wrong type, or if the folded file is
// not valid.
Result<Sinks> make_picture_sinks(SessionData& data, Output& output, const PictureSettings& settings);

} // namespace sonde
