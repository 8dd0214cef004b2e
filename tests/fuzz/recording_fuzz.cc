// libFuzzer's entry point for recordings. The bytes become the events of a recording whose beginning and whose
// checksums are valid, because a fuzzer would find these only by chance. Each format reads them.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "runtime/plan/plan_file.h"
#include "runtime/sinks/printing.h"
#include "runtime/sinks/recording/event_reader.h"
#include "runtime/sinks/recording/recording_file.h"
#include "runtime/sinks/recording/replay.h"

using namespace sonde;

namespace {

// A plan with a format of each kind, a number, a statistic, and an array by stack and number.
std::string plan_bytes() {
    plan::Plan out;
    plan::Format format;
    for (uint8_t kind = 0; kind <= plan::Directive::Addresses; kind++) {
        plan::Directive& one = format.directives.emplace_back();
        one.kind = static_cast<plan::Directive::Kind>(kind);
        one.conversion = kind == plan::Directive::Integer ? 'd' : 0;
        one.width = kind == plan::Directive::Stack ? 4 : -1;
        one.stats.histogram = plan::StatsNeeds::Log;
        one.name = kind % 2 ? "$x->y" : fmt::format("$x{}", kind);
    }
    for (const plan::About about : {plan::About::Time, plan::About::Process, plan::About::Thread}) {
        plan::Directive& one = format.directives.emplace_back();
        one.kind = plan::Directive::Integer;
        one.conversion = 'd';
        one.about = about;
    }
    out.formats.push_back(format);
    out.formats.push_back(std::move(format));
    plan::Point point;
    point.pp = point.pn = "process(\"x\").function(\"f\").return";
    point.function = "f";
    out.rows.push_back(point);
    out.probes.emplace_back().points.push_back(point);
    plan::Global number, statistic, array;
    number.name = "number";
    number.offset = sizeof(plan::SessionWords);
    statistic.name = "statistic";
    statistic.type = plan::Value::Stats;
    statistic.stats.quantiles = true;
    statistic.offset = number.offset + 8;
    array.name = "array";
    array.keys = {{plan::Value::String, 0, 64, true, false, "stack", plan::KeyRole::UserStack},
                  {plan::Value::Long, 64, 8, true, false, "n"}};
    array.key_size = 72;
    array.value_size = 16;
    array.capacity = 100;
    out.data_size = statistic.offset + plan::stats_bytes(statistic.stats);
    for (plan::Global* global : {&number, &statistic, &array}) {
        global->auto_print = true;
        out.globals.push_back(*global);
    }
    const std::vector<uint8_t> bytes = plan::save(out);
    CHECK(plan::load(bytes).ok());
    return {bytes.begin(), bytes.end()};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string path = fmt::format("/tmp/sonde-fuzz-{}.rec", getpid());
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    {
        Result<std::unique_ptr<RecordingWriter>> file = RecordingWriter::create(path);
        CHECK(file.ok());
        static const std::string plan = plan_bytes();
        (*file)->add(Event::About, "{}");
        (*file)->add(Event::Plan, plan);
        // Each event: its kind, its size, its bytes.
        while (rest.size() >= 3) {
            const auto kind =
                static_cast<Event>(static_cast<uint8_t>(rest[0]) % (static_cast<uint8_t>(Event::Last) + 2));
            const size_t length = static_cast<uint8_t>(rest[1]) | static_cast<size_t>(static_cast<uint8_t>(rest[2]))
                                                                      << 8;
            rest.remove_prefix(3);
            (*file)->add(kind, rest.substr(0, length));
            rest.remove_prefix(std::min(length, rest.size()));
        }
        (*file)->flush();
    }
    for (const OutputFormat format : {OutputFormat::Text, OutputFormat::Json, OutputFormat::Csv}) {
        ReplayOptions options;
        options.output.path = "/dev/null";
        static_cast<void>(replay(path, options, [format](SessionData& session, Output& out) {
            PrintSettings settings;
            settings.format = format;
            return make_print_sinks(session, out, settings);
        }));
    }
    EventFilter only;
    only.since = PointInTime{};
    for (const EventFilter& filter : {EventFilter(), only})
        if (Result<std::unique_ptr<EventReader>> reader = EventReader::open(path, filter)) {
            const std::unique_ptr<Symbolizer> symbols = (*reader)->take_symbols();
            while (const RecordedEvent* event = (*reader)->next()) {
                static_cast<void>(event->all_values());
                if (event->user_stack)
                    (*reader)->note_stack(event->user_stack->text(0, -1, 512), event->user_stack->process);
            }
            (*reader)->say_end();
        }
    unlink(path.c_str());
    return 0;
}
