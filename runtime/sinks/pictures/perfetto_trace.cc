#include "runtime/sinks/pictures/perfetto_trace.h"

#include <time.h>

#include <utility>

#include "base/protobuf.h"

namespace sonde {
namespace {

// Field numbers and values of Perfetto's protocol (protos/perfetto/trace: trace.proto, trace_packet.proto,
// clock_snapshot.proto, track_event/*.proto).
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
namespace track_field {
constexpr uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8;
constexpr uint32_t process_pid = 1, process_name = 6;
constexpr uint32_t thread_pid = 1, thread_tid = 2, thread_name = 5;
} // namespace track_field
namespace event_field {
constexpr uint32_t note = 4, type = 9, track_uuid = 11, category = 22, name = 23, value = 30;
constexpr uint32_t note_text = 6, note_name = 10;
} // namespace event_field
enum EventType : uint64_t { SliceBegin = 1, SliceEnd = 2, Instant = 3, CounterValue = 4 };

constexpr size_t buffer_bytes = 1 << 20;

int64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

ProtobufMessage track_of(uint64_t number) { return ProtobufMessage().number(track_field::uuid, number); }

ProtobufMessage event_of(EventType type, uint64_t track) {
    return ProtobufMessage().number(event_field::type, type).number(event_field::track_uuid, track);
}

ProtobufMessage note_of(std::string_view name, std::string_view text) {
    return ProtobufMessage().text(event_field::note_name, name).text(event_field::note_text, text);
}

} // namespace

PerfettoTrace::PerfettoTrace(std::string file, Fd fd)
    : file_(std::move(file)), fd_(std::move(fd)), to_boot_(clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_REALTIME)) {
    clocks();
}

// Writes a snapshot of the clocks, which allows Perfetto to convert between them.
void PerfettoTrace::clocks() {
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
}

// Appends a packet to the buffer. All packets belong to one sequence, so the order of events in the file is their order
// in the trace.
void PerfettoTrace::packet(ProtobufMessage& packet) {
    packet.number(trace::sequence_id, 1);
    buffer_ += ProtobufMessage().message(trace::packet, packet).bytes();
    if (buffer_.size() >= buffer_bytes)
        write();
}

// Writes the buffer. After the first error, nothing more is written, and finish() returns the error.
void PerfettoTrace::write() {
    if (written_)
        written_ = write_all(fd_.get(), buffer_, file_);
    buffer_.clear();
}

void PerfettoTrace::descriptor(const ProtobufMessage& track) {
    ProtobufMessage out;
    out.message(trace::track_descriptor, track);
    packet(out);
}

void PerfettoTrace::session(uint64_t track, const std::string& name) {
    descriptor(track_of(track).text(track_field::name, name));
}

void PerfettoTrace::process(uint64_t track, int64_t pid, const std::string& name) {
    descriptor(
        track_of(track).message(track_field::process, ProtobufMessage()
                                                          .number(track_field::process_pid, static_cast<uint64_t>(pid))
                                                          .text(track_field::process_name, name)));
}

void PerfettoTrace::thread(uint64_t track, uint64_t process, int64_t pid, int64_t tid, const std::string& name) {
    descriptor(track_of(track)
                   .number(track_field::parent, process)
                   .message(track_field::thread, ProtobufMessage()
                                                     .number(track_field::thread_pid, static_cast<uint64_t>(pid))
                                                     .number(track_field::thread_tid, static_cast<uint64_t>(tid))
                                                     .text(track_field::thread_name, name)));
}

void PerfettoTrace::counter(uint64_t track, const std::string& name) {
    descriptor(track_of(track).text(track_field::name, name).message(track_field::counter, ProtobufMessage()));
}

void PerfettoTrace::event(int64_t time, const ProtobufMessage& event) {
    ProtobufMessage out;
    out.number(trace::timestamp, static_cast<uint64_t>(time + to_boot_)).message(trace::track_event, event);
    packet(out);
}

void PerfettoTrace::begin(uint64_t track, int64_t time, std::string_view name) {
    event(time, event_of(SliceBegin, track).text(event_field::category, "probe").text(event_field::name, name));
}

void PerfettoTrace::end(uint64_t track, int64_t time, std::string_view note) {
    ProtobufMessage out = event_of(SliceEnd, track);
    if (!note.empty())
        out.message(event_field::note, note_of("return", note));
    event(time, out);
}

void PerfettoTrace::moment(uint64_t track, int64_t time, const Moment& moment) {
    event(time, event_of(Instant, track)
                    .text(event_field::category, moment.is_printed ? "print" : "probe")
                    .text(event_field::name, moment.name)
                    .message(event_field::note, note_of(moment.is_printed ? "text" : "hit", moment.text)));
}

void PerfettoTrace::value(uint64_t track, int64_t time, int64_t value) {
    event(time, event_of(CounterValue, track).number(event_field::value, static_cast<uint64_t>(value)));
}

Result<void> PerfettoTrace::finish(int64_t) {
    write();
    return written_;
}

} // namespace sonde
