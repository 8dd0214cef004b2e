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

struct Wanted {
    std::optional<LiveSettings> live;
    MetricSettings metrics;
    PrintSettings printing;
    PictureSettings pictures;
    std::string report;
};

Wanted wanted_sinks(const Options& options) {
    Wanted out;
    if (options.live_s)
        out.live = {*options.live_s, options.raw, options.format == OutputFormat::Json && !options.output.empty()};
    out.metrics = {options.metrics, options.otlp, options.verbose[4] > 0};
    out.metrics.otlp.series = options.metrics.series;
    out.metrics.otlp.settings.ca_file = options.tls_ca;
    out.printing = {options.format, options.raw, !options.no_global_display};
    out.pictures = {options.pictures, options.flame_base, options.pprof_push, options.pprof_interval_s};
    out.pictures.push.ca_file = options.tls_ca;
    out.report = options.report;
    return out;
}

// The order is that in which they see records. The live view comes first: it takes standard output. What sinks print is
// pushed by --otlp, so that comes before them.
Result<Sinks> make_sinks(const Wanted& wanted, SessionData& data, Output& output) {
    Sinks out;
    if (wanted.live) {
        Result<std::unique_ptr<Live>> live = Live::start(data, output, *wanted.live);
        if (!live)
            return std::move(live).error();
        out.push_back(*std::move(live));
    }
    Result<Sinks> metrics = make_metric_sinks(data, output, wanted.metrics);
    if (!metrics)
        return metrics;
    std::ranges::move(*metrics, std::back_inserter(out));
    out.push_back(make_print_sink(data, output, wanted.printing));
    Result<Sinks> pictures = make_picture_sinks(data, output, wanted.pictures);
    if (!pictures)
        return pictures;
    std::ranges::move(*pictures, std::back_inserter(out));
    if (!wanted.report.empty())
        out.push_back(make_report_file(data.plan, wanted.report));
    return out;
}

} // namespace

SinkMaker sink_maker(const Options& options) {
    return [wanted = wanted_sinks(options)](SessionData& data, Output& output) {
        return make_sinks(wanted, data, output);
    };
}

} // namespace sonde
