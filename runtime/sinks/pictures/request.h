// The pictures that the command line requests.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "runtime/sinks/http/poster.h"

namespace sonde {

struct PictureRequest {
    enum Kind : uint8_t { Folded, Flame, Timeline, Heatmap, Pprof } kind = Folded;
    std::string global; // name of the global; empty: the only one that is suitable
    std::string file;
    HttpTarget target = {}; // where to push the picture; without a host: write it to `file`

    bool is_pushed() const { return !target.host.empty(); }
};

// The properties of each kind of picture, in the order of PictureRequest::Kind.
struct PictureKind {
    const char* option;
    const char* noun;    // for messages
    const char* endings; // allowed file name endings, separated by spaces; empty: any
    bool of_global;      // made from one global, so that GLOBAL=FILE is allowed
    bool of_stacks;      // made from the stacks in the global's keys
    const char* help;
};
constexpr PictureKind picture_kinds[] = {
    {"--folded", "a list of stacks", "", true, true,
     "[ARRAY=]FILE|-: write an array whose key has a stack as lines of functions and a weight, for other programs (-: "
     "to "
     "the output, at the end)"},
    {"--flame", "a flame graph", ".svg .html .speedscope.json .json", true, true,
     "[ARRAY=]FILE.svg|.html|.speedscope.json|.json: make a flame graph of an array whose key has a stack"},
    {"--timeline", "a timeline", ".svg .html .pftrace .perfetto-trace", false, false,
     "FILE.svg|.html|.pftrace: show calls, prints and counters by thread over time; .pftrace is a trace for Perfetto"},
    {"--heatmap", "a heatmap", ".svg .html -", true, false,
     "[STATISTIC=]FILE.svg|.html|-: show how a statistic's values were distributed over time (-: as text, at the end)"},
    {"--pprof", "a profile", ".pb.gz .pprof", true, true,
     "[ARRAY=]FILE.pb.gz|URL: write an array whose key has a stack as a profile for `go tool pprof` and its like, or "
     "post "
     "it there"},
};
// The URLs that --pprof accepts.
constexpr HttpOption pprof_option{"--pprof", "http://127.0.0.1:4040/profiles", 0, true, ""};
inline const PictureKind& facts_of(PictureRequest::Kind kind) { return picture_kinds[kind]; }

// Parses `[GLOBAL=]FILE`. Fails if the file is missing or has the wrong ending.
Result<PictureRequest> parse_picture(PictureRequest::Kind kind, const std::string& text);

} // namespace sonde
