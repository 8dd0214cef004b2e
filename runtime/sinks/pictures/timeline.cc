#include "runtime/sinks/pictures/timeline.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/sinks/pictures/perfetto_trace.h"
#include "runtime/sinks/pictures/timeline_picture.h"
#include "runtime/text/messages.h"
#include "runtime/values/format.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

constexpr int64_t write_every_ns = 1'000'000'000, sample_every_ns = 10'000'000;
const std::string idle_name = "idle";
constexpr size_t longest_name = 100; // of an instant; the full text is stored separately

bool is_printed(const plan::Format& format) {
    return !format.is_hit && std::ranges::any_of(format.directives, [](const plan::Directive& d) {
        return d.about == plan::About::Script;
    });
}

// Numbers in scalars become counters. Names with a leading underscore are private to the library.
bool is_counter(const plan::Global& global) {
    return global.keys.empty() && global.type == plan::Value::Long && !global.name.starts_with("_");
}

Result<std::unique_ptr<TimelineFile>> open_timeline(const std::string& file) {
    Result<Fd> fd = open_file(file, O_WRONLY | O_CREAT | O_TRUNC);
    if (!fd)
        return std::move(fd).error();
    if (TimelinePicture::is_name(file))
        return std::unique_ptr<TimelineFile>(new TimelinePicture(file, *std::move(fd)));
    return std::unique_ptr<TimelineFile>(new PerfettoTrace(file, *std::move(fd)));
}

} // namespace

Result<std::unique_ptr<Timeline>> Timeline::start(SessionData& data, const std::string& file) {
    const plan::Plan& plan = data.plan;
    const bool has_hits = std::ranges::any_of(plan.probes, sonde::tells_hits);
    if (!has_hits && std::ranges::none_of(plan.globals, is_counter) && std::ranges::none_of(plan.formats, is_printed))
        return Error("--timeline: the script has no probe of a program or the kernel and no number in a global, and "
                     "prints nothing");
    Result<std::unique_ptr<TimelineFile>> opened = open_timeline(file);
    if (!opened)
        return std::move(opened).error();
    if (has_hits && !plan.translate.tells_hits)
        warn(fmt::format("the {}, so the file has no hits", data.is_replay()
                                                                ? "recording was made without --record-hits"
                                                                : "plan was saved without --timeline"),
             Weight::Answer);
    return std::unique_ptr<Timeline>(new Timeline(data, *std::move(opened)));
}

Timeline::Timeline(SessionData& data, std::unique_ptr<TimelineFile> file)
    : data_(data), plan_(data.plan), file_(std::move(file)), rows_(find_hit_rows(data.plan)) {
    session_.track = next_track_++;
    file_->session(session_.track, "session: " + plan_.script);
    for (const plan::Global& global : plan_.globals)
        if (is_counter(global)) {
            counters_.push_back({&global, next_track_++, 0, false});
            file_->counter(counters_.back().track, global.name);
        }
}

uint64_t Timeline::process_track(const HitTask& task) {
    auto& [number, name] = processes_[task.pid];
    if (number == 0)
        number = next_track_++;
    const std::string& now = task.is_idle() ? idle_name : process_names_.of(task);
    if (now != name)
        file_->process(number, task.pid, name = now);
    return number;
}

// Returns the thread of a record. Declares its track, and that of its process, on first use and after a change of name.
Timeline::Thread& Timeline::thread_of(const HitTask& task) {
    if (task.is_session())
        return session_;
    const uint64_t process = process_track(task);
    Thread& thread = threads_[key_of(task)];
    if (thread.track == 0)
        thread.track = next_track_++;
    else if (thread.name == task.name)
        return thread;
    thread.name = task.name;
    file_->thread(thread.track, process, task.pid, task.tid, task.name);
    return thread;
}

// Processes a hit: the begin or end of a call, or an instant. A return without an entry becomes an instant, because the
// call began before the session or its record was lost. If the return of an inner call was not seen, the return of an
// outer one ends both: after `f begins, g begins, f returns`, g ends with a note, and then f.
void Timeline::hit(Thread& thread, const HitRow& row, int64_t time) {
    switch (row.role) {
    case HitRole::None:
        return;
    case HitRole::Begin:
        if (row.is_wait && thread.is_waiting) { // some switches have no record
            file_->end(thread.track, time, "not seen: when it came back");
            thread.open.pop_back();
        }
        thread.open.push_back(row.function);
        thread.is_waiting = row.is_wait;
        return file_->begin(thread.track, time, row.name);
    case HitRole::Instant:
        return file_->moment(thread.track, time, {row.name, row.name});
    case HitRole::End:
        break;
    }
    const size_t ending = calls_that_end(thread.open, row.function);
    thread.is_waiting = false;
    if (ending == 0 && row.is_wait) // the thread was off its processor when the session began
        return;
    if (ending == 0)
        return file_->moment(thread.track, time, {row.name + " returns", "the call's entry was not seen"});
    for (size_t inner = 1; inner < ending; inner++)
        file_->end(thread.track, time, "not seen: a function further out returned");
    thread.open.resize(thread.open.size() - ending);
    file_->end(thread.track, time, "");
}

void Timeline::add(const plan::RecordHeader& header, std::span<const uint8_t> payload) {
    const plan::Format& format = plan_.formats[header.format];
    const HitTask task = task_of(format, payload);
    Thread& thread = thread_of(task);
    // The records of a thread arrive in order, but the system clock may have been set back meanwhile.
    const int64_t time = thread.last = std::max(thread.last, task.time_ns ? task.time_ns : data_.real_time());
    if (format.is_hit) {
        if (header.row < rows_.size())
            hit(thread, rows_[header.row], time);
        return;
    }
    std::string text = render_print(format, payload, &data_.symbolizer());
    while (text.ends_with('\n'))
        text.pop_back();
    if (!text.empty())
        file_->moment(thread.track, time, {text.substr(0, std::min(text.find('\n'), longest_name)), text, true});
}

int64_t Timeline::until_sample(int64_t now) const { return std::max<int64_t>(0, sampled_ + sample_every_ns - now); }

// Writes the value of a counter if it has changed.
void Timeline::count(Counter& counter, int64_t time) {
    int64_t value = 0;
    std::memcpy(&value, data_.memory + counter.global->offset, sizeof value);
    if (counter.told && counter.last == value)
        return;
    counter.last = value;
    counter.told = true;
    file_->value(counter.track, time, value);
}

// Samples the counters 100 times a second, and writes the file once a second.
void Timeline::sample(int64_t now) {
    if (until_sample(now) > 0)
        return;
    sampled_ = now;
    const int64_t time = data_.real_time();
    for (Counter& counter : counters_)
        count(counter, time);
    if (now - wrote_ >= write_every_ns) {
        wrote_ = now;
        file_->write();
    }
}

// Writes the end of everything that is still open, and a mark if records were lost: a gap must not look like a pause.
Result<void> Timeline::finish(uint64_t lost) {
    const int64_t time = data_.real_time();
    for (Counter& counter : counters_) {
        counter.told = false; // write the last value again, to show that it lasted until the end
        count(counter, time);
    }
    // A thread that has exited is not waiting, although it left its processor and never returned. A replay cannot see
    // that.
    for (auto& [key, thread] : threads_)
        if (const auto& [pid, tid, idle] = key; thread.is_waiting && pid && !data_.is_replay() &&
                                                access(fmt::format("/proc/{}/task/{}", pid, tid).c_str(), F_OK) != 0)
            file_->end(thread.track, thread.last, "the thread has ended");
    if (lost)
        file_->moment(
            session_.track, std::max(session_.last, time),
            {fmt::format("{} records were lost", lost), "the buffer between the kernel and sonde was full (-s)"});
    return file_->finish(time);
}

} // namespace sonde
