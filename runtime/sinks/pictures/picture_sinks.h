// Pictures as sinks: --folded, --flame, --pprof, --timeline, --heatmap.
#pragma once

#include <optional>
#include <vector>

#include "runtime/sinks/pictures/flame_tree.h"
#include "runtime/sinks/pictures/request.h"
#include "runtime/sinks/sink.h"

namespace sonde {

struct PictureSettings {
    std::vector<PictureRequest> pictures;
    std::string flame_base;     // --flame-against: a folded file to compare flame graphs with; empty: none
    HttpSettings push;          // of --pprof=URL
    double push_interval_s = 0; // --pprof-interval; 0: one profile, at the end
};

// One sink for each picture. Errors: a global that does not exist or does not fit; the folded file is not one.
Result<Sinks> make_picture_sinks(SessionData& data, Output& output, const PictureSettings& settings);

} // namespace sonde
