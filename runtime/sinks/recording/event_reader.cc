// An event consists of all records of one run of a handler. For example, this handler makes one event of each hit,
// although it sends two records:
//
//     { printf("%s ", execname())  printf("%d\n", $order->quantity) }
//
// A loop makes several: a statement that prints again begins another event.
#include "runtime/sinks/recording/event_reader.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/stack.h"
#include "runtime/sinks/recording/beginning.h"
#include "runtime/sinks/recording/bytes.h"
#include "runtime/sinks/recording/kept_symbols.h"
#include "runtime/sinks/recording/recording_file.h"
#include "runtime/text/accounting.h"
#include "runtime/text/messages.h"
#include "runtime/values/printed_values.h"

namespace sonde {
namespace {

using plan::Directive;

bool is_number(const Directive& d) {
    return d.kind == Directive::Integer || d.kind == Directive::Char || d.kind == Directive::Binary;
}
// Whether the directive prints a value of the script that has a name.
bool is_value(const Directive& d) {
    return d.about == plan::About::Script && !d.name.empty() &&
           (is_number(d) || d.kind == Directive::String || d.kind == Directive::Memory);
}

// `process("./shop").function("f@f.c:3").return` is the end of a call.
bool is_return(const std::string& pp) {
    return pp.ends_with(".return") || pp.find(".return.maxactive(") != std::string::npos;
}

} // namespace

bool is_accepted(const plan::Format& format, std::span<const uint8_t> payload, const SessionFilter& filter) {
    int64_t time = 0;
    EventTask task;
    std::string name;
    bool has_task = false;
    read_values(format, payload, [&](PrintedValue& value) {
        switch (value.directive->about) {
        case plan::About::Time:
            time = value.number;
            break;
        case plan::About::Process:
            task.pid = value.number;
            break;
        case plan::About::Thread:
            task.tid = value.number;
            break;
        case plan::About::TaskName:
            name = std::move(value.text);
            has_task = true;
            break;
        case plan::About::Script:
            break;
        }
    });
    task.name = name;
    return filter.accepts(time, has_task ? &task : nullptr);
}

// One reading of the file.
class EventReader::Pass {
  public:
    Pass(std::unique_ptr<RecordingReader> reader, Beginning beginning, std::string file, const EventFilter& only)
        : file_(std::move(file)), reader_(std::move(reader)), began_ns_(beginning.number("time")),
          plan_(std::move(beginning.plan)), filter_(only, began_ns_), symbols_(std::make_unique<KeptSymbols>()),
          kept_symbols_(symbols_.get()), last_ns_(began_ns_) {
        for (const plan::Format& format : plan_.formats) {
            bool has = false;
            for (const Directive& directive : format.directives)
                has = has || is_value(directive);
            has_values_.push_back(has);
        }
    }

    const plan::Plan& plan() const { return plan_; }
    // By row of the plan; the points must outlive this object.
    void use_points(std::vector<const plan::RecordedPoint*> by_row) { by_row_ = std::move(by_row); }

    // Returns the next event, whose row is event_row().
    const RecordedEvent* next() {
        while (!is_over_) {
            const std::optional<RecordingReader::Item> item = reader_->next();
            if (!item) {
                is_over_ = true;
                break;
            }
            if (!apply(*item)) {
                contradicts_ = is_over_ = true;
                break;
            }
            if (ready_) {
                ready_ = false;
                return &event_;
            }
        }
        if (!std::exchange(has_waiting_, false) || !take_waiting())
            return nullptr;
        return &event_;
    }
    uint32_t event_row() const { return event_row_; }
    int64_t began_ns() const { return began_ns_; }
    int64_t last_ns() const { return last_ns_; }
    int64_t boot_ns() const { return boot_ns_; }
    KeptSymbols& symbols() { return *kept_symbols_; }
    std::unique_ptr<Symbolizer> take_symbols() { return std::move(symbols_); }
    bool say_end();

  private:
    bool apply(const RecordingReader::Item& item);
    bool print(std::string_view bytes);
    bool end(std::string_view bytes);
    void add_values(const plan::RecordHeader& header, std::span<const uint8_t> payload);
    bool take_waiting();

    const std::string file_;
    const std::unique_ptr<RecordingReader> reader_;
    const int64_t began_ns_;
    const plan::Plan plan_;
    const SessionFilter filter_;
    std::unique_ptr<KeptSymbols> symbols_;
    KeptSymbols* const kept_symbols_; // valid while the session runs, which takes symbols_
    std::vector<const plan::RecordedPoint*> by_row_;
    std::vector<bool> has_values_; // by format
    RecordedEvent event_, waiting_;
    uint32_t event_row_ = 0, waiting_row_ = 0;
    std::set<uint32_t> waiting_formats_;                    // with values, in waiting_
    std::unordered_map<std::string, size_t> waiting_times_; // how often waiting_ has the value
    bool has_waiting_ = false, ready_ = false;
    bool is_over_ = false, contradicts_ = false, ended_ = false;
    int64_t last_ns_, boot_ns_ = 0;
    Accounting accounting_;
    int status_ = 0;
};

bool EventReader::Pass::apply(const RecordingReader::Item& item) {
    switch (item.kind) {
    case Event::About:
    case Event::Plan:
        return false; // they occur once, at the beginning
    case Event::Answer: {
        ByteCursor in(item.bytes);
        const std::string_view question = take_text(in), answer = in.take_bytes(in.rest());
        kept_symbols_->add(question, answer);
        return !question.empty();
    }
    case Event::Print:
        return print(item.bytes);
    case Event::Look: {
        ByteCursor in(item.bytes);
        in.take<int64_t>();
        const auto real = in.take<int64_t>(), kernel = in.take<int64_t>();
        if (in.failed())
            return false;
        if (!boot_ns_)
            boot_ns_ = real - kernel;
        last_ns_ = std::max(last_ns_, real);
        return true;
    }
    case Event::End:
        return end(item.bytes);
    case Event::Dump:
        return ended_ = true;
    case Event::Start:
    case Event::Text:
    case Event::Stop:
    case Event::Detached:
    case Event::Finish:
        break;
    }
    return true;
}

bool EventReader::Pass::end(std::string_view bytes) {
    ByteCursor in(bytes);
    status_ = std::clamp(in.take<int32_t>(), 0, 255);
    in.take<uint64_t>();
    in.take<uint64_t>();
    const Json json = Json::parse(in.take_bytes(in.rest()), nullptr, false);
    if (in.failed() || json.is_discarded())
        return false;
    accounting_ = Accounting::from_json(json);
    return ended_ = true;
}

bool EventReader::Pass::print(std::string_view bytes) {
    ByteCursor in(bytes);
    auto header = in.take<plan::RecordHeader>();
    const bool continues = header.type & same_run;
    header.type &= ~same_run;
    if (in.failed() || header.type != plan::Print || header.format >= plan_.formats.size())
        return false;
    const std::string_view rest = in.take_bytes(in.rest());
    const std::span<const uint8_t> payload(reinterpret_cast<const uint8_t*>(rest.data()), rest.size());
    if (header.row >= plan_.rows.size())
        return true; // not from a probe
    const bool prints_again = has_values_[header.format] && waiting_formats_.contains(header.format);
    if (has_waiting_ && continues && header.row == waiting_row_ && !prints_again) {
        add_values(header, payload);
        return true;
    }
    if (has_waiting_)
        ready_ = take_waiting();
    waiting_ = {};
    waiting_formats_.clear();
    waiting_times_.clear();
    waiting_row_ = header.row;
    has_waiting_ = true;
    add_values(header, payload);
    return true;
}

// Makes the waiting event the current one. Returns false if the filter drops it.
bool EventReader::Pass::take_waiting() {
    event_ = std::move(waiting_);
    event_row_ = waiting_row_;
    if (event_row_ < by_row_.size())
        event_.point = by_row_[event_row_];
    last_ns_ = std::max(last_ns_, event_.time_ns);
    const EventTask task{event_.pid, event_.tid, event_.task};
    return filter_.accepts(event_.time_ns, event_.has_task ? &task : nullptr);
}

void EventReader::Pass::add_values(const plan::RecordHeader& header, std::span<const uint8_t> payload) {
    if (has_values_[header.format])
        waiting_formats_.insert(header.format);
    read_values(plan_.formats[header.format], payload, [&](PrintedValue& value) {
        const Directive& d = *value.directive;
        switch (d.about) {
        case plan::About::Time:
            if (!waiting_.time_ns)
                waiting_.time_ns = value.number;
            return;
        case plan::About::Process:
            waiting_.pid = value.number;
            return;
        case plan::About::Thread:
            waiting_.tid = value.number;
            return;
        case plan::About::TaskName:
            waiting_.task = std::move(value.text);
            waiting_.has_task = true;
            return;
        case plan::About::Script:
            break;
        }
        if (d.kind == Directive::Stack && value.state != SONDE_STACK_VISITED) {
            // A stack of the kernel has addresses in the upper half only.
            const bool of_kernel =
                !value.words.empty() && static_cast<int64_t>(value.words[0]) < 0 && (value.words[0] >> 56) == 0xff;
            (of_kernel ? waiting_.kernel_stack : waiting_.user_stack) =
                RecordedEvent::Stack{value.process, value.state, std::move(value.words)};
        } else if (is_value(d)) {
            const size_t times = ++waiting_times_[d.name]; // as in JSON: `x`, `x#2`
            const auto [added, is_new] = waiting_.values.emplace(
                times == 1 ? d.name : fmt::format("{}#{}", d.name, times),
                is_number(d) ? RecordedEvent::Value{value.number, std::to_string(value.number), false}
                             : RecordedEvent::Value{0, std::move(value.text), true});
            if (is_new)
                waiting_.names.emplace_back(added->first);
        }
    });
}

// A recording that was cut must not look like a complete one.
bool EventReader::Pass::say_end() {
    const auto seconds = static_cast<time_t>(last_ns_ / 1'000'000'000);
    tm local{};
    char time[32] = "";
    if (localtime_r(&seconds, &local))
        std::strftime(time, sizeof time, "%F %T", &local);
    const bool was_read = is_over_; // exit() ends the script before
    if (!reader_->damage().empty())
        warn(fmt::format("{} is damaged at {}: the script has only seen the events before that, up to about {}", file_,
                         reader_->damage(), time),
             Weight::Answer);
    else if (contradicts_)
        warn(fmt::format("{} contradicts itself: the script has only seen the events before that, up to about {}",
                         file_, time),
             Weight::Answer);
    else if (was_read && !ended_)
        warn(fmt::format("{} ends before the end of its session: sonde was killed, or could not write. The last event "
                         "is of {}",
                         file_, time),
             Weight::Answer);
    if (kept_symbols_->missing())
        warn(fmt::format("{} addresses have no name in the recording", kept_symbols_->missing()), Weight::Answer);
    accounting_.say();
    return !was_read || (ended_ && !contradicts_ && status_ != exit_lossy);
}

EventReader::EventReader() = default;
EventReader::~EventReader() = default;

Result<void> EventReader::begin_pass(const EventFilter& only) {
    const std::string& file = points_.file;
    Result<std::unique_ptr<RecordingReader>> reader = RecordingReader::open(file);
    if (!reader)
        return std::move(reader).error();
    Result<Beginning> beginning = read_beginning(**reader, file);
    if (!beginning)
        return std::move(beginning).error();
    pass_ = std::make_unique<Pass>(*std::move(reader), *std::move(beginning), file, only);
    return {};
}

namespace {

// Collects the values of a point.
struct PointValues {
    std::unordered_map<std::string, size_t> index; // in RecordedPoint::values, by name

    void add(plan::RecordedPoint& point, const std::string& name, bool is_text) {
        const auto [known, is_new] = index.try_emplace(name, point.values.size());
        if (is_new) {
            point.values.push_back({name, plan::short_name_of(name), is_text, false, false});
            return;
        }
        plan::RecordedValue& value = point.values[known->second];
        value.is_mixed = value.is_mixed || value.is_text != is_text;
        value.is_text = value.is_text || is_text;
    }
};

// Finds names that do not tell points or values apart.
void mark_twins(plan::RecordedPoints& points) {
    std::map<std::pair<std::string, bool>, size_t> by_name;
    for (plan::RecordedPoint& point : points.points) {
        by_name[{point.name, point.is_return}]++;
        std::unordered_map<std::string, size_t> short_names;
        for (const plan::RecordedValue& value : point.values)
            short_names[value.short_name]++;
        for (plan::RecordedValue& value : point.values)
            value.has_twin = short_names[value.short_name] > 1;
    }
    for (plan::RecordedPoint& point : points.points)
        point.has_twin = by_name[{point.name, point.is_return}] > 1;
}

} // namespace

Result<std::unique_ptr<EventReader>> EventReader::open(const std::string& file, const EventFilter& only) {
    std::unique_ptr<EventReader> out(new EventReader());
    plan::RecordedPoints& points = out->points_;
    points.file = file;
    if (Result<void> begun = out->begin_pass({}); !begun)
        return std::move(begun).error();
    // Points in the order of the script. Rows with the same pp() belong to different handlers at one point.
    std::vector<size_t> by_row;
    std::unordered_map<std::string, size_t> by_pp;
    for (const plan::Point& row : out->pass_->plan().rows) {
        const auto [known, is_new] = by_pp.try_emplace(row.pp, points.points.size());
        if (is_new)
            points.points.push_back({.pp = row.pp,
                                     .name = row.function.empty() ? row.pp : row.function,
                                     .function = row.function,
                                     .is_return = !row.function.empty() && is_return(row.pp),
                                     .values = {}});
        by_row.push_back(known->second);
    }
    std::vector<PointValues> values(points.points.size());
    while (const RecordedEvent* event = out->pass_->next()) {
        const size_t index = by_row[out->pass_->event_row()];
        plan::RecordedPoint& point = points.points[index];
        point.events++;
        point.has_task = point.has_task || event->has_task;
        point.has_user_stack = point.has_user_stack || event->user_stack;
        point.has_kernel_stack = point.has_kernel_stack || event->kernel_stack;
        for (const std::string_view name : event->names)
            values[index].add(point, std::string(name), event->values.find(name)->second.is_text);
    }
    mark_twins(points);
    out->boot_ns_ = out->pass_->boot_ns();
    if (Result<void> begun = out->begin_pass(only); !begun)
        return std::move(begun).error();
    std::vector<const plan::RecordedPoint*> rows;
    for (const size_t index : by_row)
        rows.push_back(&points.points[index]);
    out->pass_->use_points(std::move(rows));
    return out;
}

const RecordedEvent* EventReader::next() { return pass_->next(); }
int64_t EventReader::began_ns() const { return pass_->began_ns(); }
int64_t EventReader::last_ns() const { return pass_->last_ns(); }
int64_t EventReader::boot_ns() const { return boot_ns_; }
std::unique_ptr<Symbolizer> EventReader::take_symbols() { return pass_->take_symbols(); }
void EventReader::note_stack(const std::string& text, uint64_t process) { pass_->symbols().note_stack(text, process); }
bool EventReader::say_end() { return pass_->say_end(); }

} // namespace sonde
