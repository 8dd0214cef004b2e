#include "driver/sinks.h"

#include <iterator>
#include <utility>

#include "runtime/sinks/live/live.h"
#include "runtime/sinks/metrics/metric_sinks.h"
#include "runtime/sinks/pictures/picture_sinks.h"
#include "runtime/sinks/printing.h"
#include "runtime/sinks/report_file.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

// Sinks receive records in this order. The live view comes first, because it takes over standard output. --otlp comes
// before the sinks that print, because it pushes their output.
Result<Sinks> make_sinks(const Options& options, SessionData& data, Output& output) {
    const SessionOptions& session = options.session;
    const SinkOptions& wanted = options.sinks;
    Sinks out;
    if (wanted.live_s) {
        const bool writes_json = session.output.format == OutputFormat::Json && !session.output.path.empty();
        Result<std::unique_ptr<Live>> live = Live::start(data, output, {*wanted.live_s, session.raw, writes_json});
        if (!live)
            return std::move(live).error();
        out.push_back(*std::move(live));
    }
    Result<Sinks> metrics =
        make_metric_sinks(data, output, {wanted.metrics, wanted.otlp, options.driver.verbose[4] > 0});
    if (!metrics)
        return metrics;
    std::ranges::move(*metrics, std::back_inserter(out));
    out.push_back(make_print_sink(data, output, {session.output.format, session.raw, !wanted.suppress_auto_print}));
    Result<Sinks> pictures = make_picture_sinks(
        data, output, {wanted.pictures, wanted.flame_base, wanted.pprof_push, wanted.pprof_interval_s});
    if (!pictures)
        return pictures;
    std::ranges::move(*pictures, std::back_inserter(out));
    if (!wanted.report.empty())
        out.push_back(make_report_file(data.plan, wanted.report));
    return out;
}

} // namespace

SinkMaker sink_maker(const Options& options) {
    return [&options](SessionData& data, Output& output) { return make_sinks(options, data, output); };
}

} // namespace sonde
