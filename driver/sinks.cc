// The rows of options/sinks.def name the makers of sinks. They are included twice: first to declare the makers, then to
// call them in the order in which the sinks receive records. A new sink therefore needs a row there, and no change
// here. A maker returns an empty list if no option asks for its sinks.
#include "driver/sinks.h"

#include <iterator>
#include <utility>

#include "runtime/sinks/live/live.h"
#include "runtime/sinks/metrics/metric_sinks.h"
#include "runtime/sinks/pictures/picture_sinks.h"
#include "runtime/sinks/printing.h"
#include "runtime/sinks/recording/recorder.h"

namespace sonde {

#define SINK(maker, Request, ...) Result<Sinks> maker(SessionData& data, Output& output, const Request& request);
#include "options/sinks.def"

namespace {

Result<Sinks> make_sinks(const Options& o, SessionData& data, Output& output) {
    Sinks out;
#define SINK(maker, Request, ...)                                                                                      \
    if (Result<Sinks> made = maker(data, output, Request{__VA_ARGS__}))                                                \
        std::ranges::move(*made, std::back_inserter(out));                                                             \
    else                                                                                                               \
        return made;
#include "options/sinks.def"
    return out;
}

} // namespace

SinkMaker sink_maker(const Options& options) {
    return [&options](SessionData& data, Output& output) { return make_sinks(options, data, output); };
}

} // namespace sonde
