// Which pictures a session is asked for, as the command line has them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "runtime/sinks/http/poster.h"

namespace sonde {

struct PictureRequest {
    enum Kind : uint8_t { Folded, Flame, Timeline, Heatmap, Pprof } kind = Folded;
    std::string global; // what it is made of; empty: the only one that it can be made of
    std::string file;
    HttpTarget target = {}; // where it is pushed to, and not a file; without a host: it is a file

    bool is_pushed() const { return !target.host.empty(); }
};

// What is true of each kind of picture, in their order.
struct PictureKind {
    const char* option;
    const char* noun;    // in messages
    const char* endings; // of its file, with a blank between them; empty: any
    bool of_global;      // made of one global: GLOBAL=FILE names it
    bool of_stacks;      // that of its keys
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
// What a picture is pushed with.
constexpr HttpOption pprof_option{"--pprof", "http://127.0.0.1:4040/profiles", 0, true, ""};
inline const PictureKind& facts_of(PictureRequest::Kind kind) { return picture_kinds[kind]; }

// `[GLOBAL=]FILE`, as the options have it. Errors: no file, or one of another kind.
Result<PictureRequest> parse_picture(PictureRequest::Kind kind, const std::string& text);

} // namespace sonde
