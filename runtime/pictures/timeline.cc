#include "runtime/pictures/timeline.h"

#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/format.h"
#include "runtime/messages.h"
#include "runtime/pictures/protobuf.h"

namespace sonde {
namespace {

// Numbers of fields and what they may be, as Perfetto's interface has them (protos/perfetto/trace: trace.proto,
// trace_packet.proto, clock_snapshot.proto, track_event/*.proto).
namespace trace {
constexpr uint32_t packet = 1;
constexpr uint32_t clock_snapshot = 6, timestamp = 8, sequence_id = 10, track_event = 11, sequence_flags = 13,
                   track_descriptor = 60;
constexpr uint64_t state_cleared = 1; // of sequence_flags
} // namespace trace
namespace snapshot {
constexpr uint32_t clocks = 1, primary = 2;
constexpr uint32_t clock_id = 1, clock_time = 2;
constexpr uint64_t realtime = 1, monotonic = 3, boottime = 6;
} // namespace snapshot
namespace track {
constexpr uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8;
constexpr uint32_t process_pid = 1, process_name = 6;
constexpr uint32_t thread_pid = 1, thread_tid = 2, thread_name = 5;
} // namespace track
namespace event_field {
constexpr uint32_t note = 4, type = 9, track_uuid = 11, category = 22, name = 23, value = 30;
constexpr uint32_t note_text = 6, note_name = 10;
} // namespace event_field
enum EventType : uint64_t { SliceBegin = 1, SliceEnd = 2, Instant = 3, CounterValue = 4 };

constexpr size_t buffer_bytes = 1 << 20;
constexpr int64_t write_every_ns = 1'000'000'000, sample_every_ns = 10'000'000;
constexpr size_t longest_name = 100; // of an instant: what is printed is whole beside it

int64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool is_printed(const plan::Format& format) {
    return !format.is_hit && std::ranges::any_of(format.directives, [](const plan::Directive& d) {
        return d.about == plan::About::Script;
    });
}

} // namespace

Result<std::unique_ptr<Timeline>> Timeline::start(const plan::Plan& plan, const std::string& file) {
    Result<Fd> fd = open_file(file, O_WRONLY | O_CREAT | O_TRUNC);
    if (!fd)
        return std::move(fd).error();
    std::unique_ptr<Timeline> out(new Timeline(plan, file, *std::move(fd)));
    const bool has_hits = std::ranges::any_of(plan.probes, sonde::tells_hits);
    if (!has_hits && out->counters_.empty() && std::ranges::none_of(plan.formats, is_printed))
        return Error("--timeline: the script has nothing to show there: no probe of a program or the kernel, no number "
                     "in a global, and it prints nothing");
    if (has_hits && !plan.tells_hits)
        warn("the plan was saved without --timeline, so that the file has no hits", Weight::Answer);
    out->begin_file();
    return out;
}

Timeline::Timeline(const plan::Plan& plan, std::string file, Fd fd)
    : plan_(plan), file_(std::move(file)), fd_(std::move(fd)), rows_(find_hit_rows(plan)) {
    to_boot_ = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_REALTIME);
    session_.track = next_track_++;
    for (const plan::Global& global : plan.globals)
        if (global.keys.empty() && global.type == plan::Value::Long && !global.name.starts_with("_"))
            counters_.push_back({&global, next_track_++, 0, false});
}

// Which clocks there are, and the tracks that are known from the start.
void Timeline::begin_file() {
    ProtobufMessage clocks;
    for (auto [id, clock] : {std::pair(snapshot::boottime, CLOCK_BOOTTIME),
                             {snapshot::realtime, CLOCK_REALTIME},
                             {snapshot::monotonic, CLOCK_MONOTONIC}})
        clocks.message(snapshot::clocks, ProtobufMessage()
                                             .number(snapshot::clock_id, id)
                                             .number(snapshot::clock_time, static_cast<uint64_t>(clock_ns(clock))));
    clocks.number(snapshot::primary, snapshot::boottime);
    ProtobufMessage first;
    first.number(trace::timestamp, static_cast<uint64_t>(clock_ns(CLOCK_BOOTTIME)))
        .number(trace::sequence_flags, trace::state_cleared)
        .message(trace::clock_snapshot, clocks);
    packet(first);
    ProtobufMessage session;
    session.message(
        trace::track_descriptor,
        ProtobufMessage().number(track::uuid, session_.track).text(track::name, "session: " + plan_.script));
    packet(session);
    for (const Counter& counter : counters_) {
        ProtobufMessage descriptor;
        descriptor.message(trace::track_descriptor, ProtobufMessage()
                                                        .number(track::uuid, counter.track)
                                                        .text(track::name, counter.global->name)
                                                        .message(track::counter, ProtobufMessage()));
        packet(descriptor);
    }
}

void Timeline::packet(ProtobufMessage& packet) {
    packet.number(trace::sequence_id, 1);
    buffer_ += ProtobufMessage().message(trace::packet, packet).bytes();
    if (buffer_.size() >= buffer_bytes)
        write();
}

void Timeline::write() {
    if (written_)
        written_ = write_all(fd_.get(), buffer_, file_);
    buffer_.clear();
}

void Timeline::event(uint64_t type, uint64_t track, int64_t time, std::string_view name, std::string_view note,
                     std::string_view what) {
    ProtobufMessage event;
    event.number(event_field::type, type).number(event_field::track_uuid, track);
    if (!name.empty())
        event.text(event_field::category, type == Instant && what != "hit" ? "print" : "probe")
            .text(event_field::name, name);
    if (!note.empty())
        event.message(event_field::note,
                      ProtobufMessage().text(event_field::note_name, what).text(event_field::note_text, note));
    ProtobufMessage out;
    out.number(trace::timestamp, static_cast<uint64_t>(time + to_boot_)).message(trace::track_event, event);
    packet(out);
}

uint64_t Timeline::process_track(const HitTask& task) {
    auto& [number, name] = processes_[task.pid];
    if (number == 0)
        number = next_track_++;
    const std::string& now = process_names_.of(task);
    if (now == name)
        return number;
    name = now;
    ProtobufMessage out;
    out.message(trace::track_descriptor,
                ProtobufMessage()
                    .number(track::uuid, number)
                    .message(track::process, ProtobufMessage()
                                                 .number(track::process_pid, static_cast<uint64_t>(task.pid))
                                                 .text(track::process_name, name)));
    packet(out);
    return number;
}

Timeline::Thread& Timeline::thread_of(const HitTask& task) {
    if (task.is_session())
        return session_;
    const uint64_t process = process_track(task);
    Thread& thread = threads_[{task.pid, task.tid}];
    if (thread.track == 0)
        thread.track = next_track_++;
    else if (thread.name == task.name)
        return thread;
    thread.name = task.name;
    ProtobufMessage out;
    out.message(trace::track_descriptor,
                ProtobufMessage()
                    .number(track::uuid, thread.track)
                    .number(track::parent, process)
                    .message(track::thread, ProtobufMessage()
                                                .number(track::thread_pid, static_cast<uint64_t>(task.pid))
                                                .number(track::thread_tid, static_cast<uint64_t>(task.tid))
                                                .text(track::thread_name, task.name)));
    packet(out);
    return thread;
}

void Timeline::hit(Thread& thread, const HitRow& row, int64_t time) {
    switch (row.role) {
    case HitRole::None:
        return;
    case HitRole::Begin:
        thread.open.push_back(row.function);
        return event(SliceBegin, thread.track, time, row.name);
    case HitRole::Instant:
        return event(Instant, thread.track, time, row.name, row.name, "hit");
    case HitRole::End:
        break;
    }
    const size_t ending = calls_that_end(thread.open, row.function);
    if (ending == 0)
        return event(Instant, thread.track, time, row.name + " returns", "the call's entry was not seen", "hit");
    for (size_t inner = 1; inner < ending; inner++)
        event(SliceEnd, thread.track, time, "", "not seen: a function further out returned", "return");
    thread.open.resize(thread.open.size() - ending);
    event(SliceEnd, thread.track, time, "");
}

void Timeline::add(const plan::RecordHeader& header, std::span<const uint8_t> payload, Symbols& symbols) {
    const plan::Format& format = plan_.formats[header.format];
    const HitTask task = task_of(format, payload);
    Thread& thread = thread_of(task);
    // A thread's records come in order; its clock may have been set back between them.
    const int64_t time = thread.last = std::max(thread.last, task.time_ns ? task.time_ns : real_time_ns());
    if (format.is_hit) {
        if (header.row < rows_.size())
            hit(thread, rows_[header.row], time);
        return;
    }
    std::string text = render_print(format, payload, &symbols);
    while (text.ends_with('\n'))
        text.pop_back();
    if (text.empty())
        return;
    const std::string name = text.substr(0, std::min(text.find('\n'), longest_name));
    event(Instant, thread.track, time, name, text, "text");
}

int64_t Timeline::until_sample(int64_t now) const { return std::max<int64_t>(0, sampled_ + sample_every_ns - now); }

void Timeline::count(Counter& counter, int64_t time, int64_t value) {
    counter.last = value;
    counter.told = true;
    ProtobufMessage event;
    event.number(event_field::type, CounterValue)
        .number(event_field::track_uuid, counter.track)
        .number(event_field::value, static_cast<uint64_t>(value));
    ProtobufMessage out;
    out.number(trace::timestamp, static_cast<uint64_t>(time + to_boot_)).message(trace::track_event, event);
    packet(out);
}

void Timeline::sample(int64_t now, const char* data) {
    if (until_sample(now) > 0)
        return;
    sampled_ = now;
    const int64_t time = real_time_ns();
    for (Counter& counter : counters_) {
        int64_t value = 0;
        std::memcpy(&value, data + counter.global->offset, sizeof value);
        if (!counter.told || counter.last != value)
            count(counter, time, value);
    }
    if (now - wrote_ >= write_every_ns) {
        wrote_ = now;
        write();
    }
}

Result<void> Timeline::finish(const char* data, uint64_t lost) {
    const int64_t time = real_time_ns();
    for (Counter& counter : counters_) {
        int64_t value = 0;
        std::memcpy(&value, data + counter.global->offset, sizeof value);
        count(counter, time, value);
    }
    if (lost)
        event(Instant, session_.track, time, fmt::format("{} records were lost", lost),
              "the buffer between the kernel and sonde was full (-s)", "hit");
    write();
    return written_;
}

} // namespace sonde
