// Processes the records of handlers, and runs host handlers.
//
// Records arrive from two sides: handlers in the kernel send them through ring buffers (rings.h), and host handlers
// call sonde_host_emit() (host_api.cc). Both use the same format, so handle_record() treats them in the same way.
#include "runtime/engine/session_state.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/tracefs.h"

namespace sonde {

std::string text_of(std::span<const uint8_t> bytes) {
    const char* text = reinterpret_cast<const char*>(bytes.data());
    return {text, strnlen(text, bytes.size())};
}

std::string describe_crash(const std::string& who, int signal) {
    return fmt::format("{} was killed by signal {} ({})", who, signal, strsignal(signal));
}

// Writes a text to the kernel's log or trace. A single write() makes a single entry. Warns only about the first
// failure.
void Session::write_to_kernel(const Result<Fd>& file, const char* name, const std::string& text) {
    if ((file && write(file->get(), text.data(), text.size()) >= 0) || warned_of_kernel_)
        return;
    std::string why = file ? std::strerror(errno) : file.error().message;
    warned_of_kernel_ = true;
    warn(fmt::format("cannot write to {}: {}", name, why));
}

namespace {

// Returns the thread's number in the initial PID namespace, which handlers in the kernel use.
uint32_t tid_in_kernel(const ProcessNumbers& numbers) {
    static thread_local const auto number = static_cast<uint32_t>(numbers.in_kernel(syscall(SYS_gettid)));
    return number;
}

// Holds the lock of handlers that share globals.
//
// The problem: handlers in the kernel wait for the lock for a short time, and are skipped if they do not get it. So if
// this thread were preempted while it holds the lock, hits would be lost. The thread therefore uses a real-time policy
// (SCHED_FIFO, sched(7)) from before it takes the lock until after it has released it. Ordinary tasks cannot preempt it
// then. If the process lacks the permission, the policy stays the same.
class HeldLock {
  public:
    HeldLock(uint64_t* word, const ProcessNumbers& numbers) : word_(word), policy_(sched_getscheduler(0)) {
        // A handler in the kernel holds the lock for microseconds only. But it may need this processor to continue, so
        // yield between attempts.
        for (raise(); !take(numbers); raise()) {
            lower();
            sched_yield();
        }
    }
    ~HeldLock() {
        __atomic_store_n(word_, 0, __ATOMIC_SEQ_CST);
        lower();
    }
    HeldLock(const HeldLock&) = delete;
    HeldLock& operator=(const HeldLock&) = delete;

  private:
    bool take(const ProcessNumbers& numbers) {
        const uint64_t holder =
            uint64_t{tid_in_kernel(numbers)} << 32 | static_cast<uint64_t>(2 + std::max(0, sched_getcpu()));
        uint64_t free = 0;
        return __atomic_compare_exchange_n(word_, &free, holder, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    void raise() {
        sched_param real_time{};
        real_time.sched_priority = 1;
        raised_ = policy_ == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &real_time) == 0;
    }
    void lower() {
        sched_param none{};
        if (raised_)
            sched_setscheduler(0, policy_, &none);
    }

    uint64_t* word_;
    int policy_;
    bool raised_ = false;
};

} // namespace

void Session::run_host_handler(const plan::Probe& probe) {
    using Handler = void (*)(void*, char*, char*);
    auto handler = reinterpret_cast<Handler>(host_object.symbol(probe.symbol));
    if (!handler)
        return;
    // Space after the last string slot, because operations on a slot may write past its end.
    const uint64_t spill = std::max<uint64_t>(4096, 2ull * plan.max_string);
    char* frame = host.frames.push(probe.frame_size + spill);
    if (!frame) {
        say("ERROR: no memory for the handler at " + probe.place);
        failed = exiting = true;
        return;
    }
    host.probe = &probe;
    if (interrupter)
        interrupter->begin(&data.words->least_action,
                           __atomic_load_n(&data.words->state, __ATOMIC_RELAXED) != plan::Stopping);
    if (probe.lock) {
        const HeldLock lock(reinterpret_cast<uint64_t*>(data.memory + probe.lock), data.numbers);
        handler(this, frame, data.memory);
    } else {
        handler(this, frame, data.memory);
    }
    if (interrupter && interrupter->end())
        exiting = interrupted = true;
    host.probe = nullptr;
    host.frames.pop(frame);
    host.iterators.clear();
}

void Session::handle_record(const uint8_t* record, size_t size) {
    plan::RecordHeader header;
    if (size < sizeof header)
        return;
    std::memcpy(&header, record, sizeof header);
    std::span<const uint8_t> payload(record + sizeof header, std::min<size_t>(header.size, size - sizeof header));
    switch (header.type) {
    case plan::Print:
        if (header.format >= plan.formats.size())
            break;
        for (const std::unique_ptr<Sink>& sink : sinks)
            sink->record(header, payload);
        for (const std::unique_ptr<Sink>& sink : sinks)
            sink->after_record();
        data.symbols.end_record();
        break;
    case plan::Batch:
        batches.add(header, payload, [this](std::span<const uint8_t> one) { handle_record(one.data(), one.size()); });
        break;
    case plan::Mapping:
        if (sonde_new_mapping mapping; payload.size() == sizeof mapping) {
            std::memcpy(&mapping, payload.data(), sizeof mapping);
            data.symbols.add_mapping(mapping.mapping, join_names(mapping));
        }
        break;
    case plan::Warn:
        tell_sinks(SinkText::Warning, text_of(payload));
        output.flush();
        warn(text_of(payload));
        break;
    case plan::Speculate:
    case plan::Commit:
    case plan::Discard:
        handle_speculation(header.type, payload);
        break;
    case plan::SwitchFile:
        output.switch_file();
        break;
    case plan::Dump:
        if (int64_t time = 0; payload.size() >= sizeof time) {
            std::memcpy(&time, payload.data(), sizeof time);
            dump(header.format ? describe_crash(fmt::format("process {}", data.numbers.in_session(header.row)),
                                                static_cast<int>(header.format))
                               : text_of(payload.subspan(sizeof time)),
                 time);
        }
        break;
    case plan::TraceText:
        write_to_kernel(open_tracefs("trace_marker", O_WRONLY), "the trace", text_of(payload));
        break;
    case plan::LogText: // /dev/kmsg accepts at most 1,024 bytes; a newline ends the entry
        if (int64_t level = 0; payload.size() >= sizeof level) {
            std::memcpy(&level, payload.data(), sizeof level);
            write_to_kernel(open_file("/dev/kmsg", O_WRONLY), "the kernel's log",
                            fmt::format("<{}>{:.1000}\n", level & 7, text_of(payload.subspan(sizeof level))));
        }
        break;
    case plan::System:
        held_back->run(text_of(payload));
        break;
    case plan::Abort:
        data.aborted = true;
        [[fallthrough]];
    case plan::Exit:
        // From now on, no handler starts, including those in the kernel.
        __atomic_store_n(&data.words->state, plan::Stopping, __ATOMIC_SEQ_CST);
        exiting = exited = true;
        break;
    case plan::NewGroup:
        groups.note_new();
        break;
    case plan::RaiseError:
        errors.report(header, payload);
        break;
    default:
        break;
    }
}

int64_t Session::until_sinks(int64_t now, int64_t most) const {
    for (const std::unique_ptr<Sink>& sink : sinks)
        most = std::min(most, sink->until_turn(now));
    return most;
}

void Session::turn_sinks(int64_t now, bool handlers_follow) {
    for (const std::unique_ptr<Sink>& sink : sinks)
        if (sink->turn(now, handlers_follow))
            exiting = interrupted = true;
}

void Session::dump(std::string_view why, int64_t time) {
    bool dumped = false;
    for (const std::unique_ptr<Sink>& sink : sinks)
        dumped = sink->dump(why, time ? time : data.record_time()) || dumped;
    if (!dumped && !std::exchange(warned_of_dump_, true))
        warn(fmt::format(
                 "nothing is dumped ({}): there is no flight recorder, which `sonde record --flight=30s -o FILE` "
                 "starts",
                 why),
             Weight::Answer);
}

void Session::tell_sinks(SinkText kind, std::string_view text) {
    for (const std::unique_ptr<Sink>& sink : sinks)
        sink->text(kind, text);
}

void Session::handle_speculation(uint32_t type, std::span<const uint8_t> payload) {
    int64_t id = 0;
    if (payload.size() < sizeof id)
        return;
    std::memcpy(&id, payload.data(), sizeof id);
    if (type == plan::Speculate)
        speculations.add(id, text_of(payload.subspan(sizeof id)));
    else if (type == plan::Discard)
        speculations.take(id);
    else
        for (const std::string& text : speculations.take(id))
            tell_sinks(SinkText::Printed, text);
}

} // namespace sonde
