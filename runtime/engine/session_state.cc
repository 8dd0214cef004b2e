// Records, host handlers and frames.
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

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/tracefs.h"
#include "runtime/plan/error_place.h"

namespace sonde {

namespace {

// Up to the NUL.
std::string text_of(std::span<const uint8_t> bytes) {
    const char* text = reinterpret_cast<const char*>(bytes.data());
    return {text, strnlen(text, bytes.size())};
}

} // namespace

// One write is one record. Whoever cannot write is told once.
void Session::write_to_kernel(const Result<Fd>& file, const char* name, const std::string& text) {
    if ((file && write(file->get(), text.data(), text.size()) >= 0) || warned_of_kernel_)
        return;
    std::string why = file ? std::strerror(errno) : file.error().message;
    warned_of_kernel_ = true;
    warn(fmt::format("cannot write to {}: {}", name, why));
}

char* Session::push_frame(uint64_t size) {
    // Address space only: the kernel gives memory where frames have been.
    constexpr size_t stack_bytes = 8 << 20;
    if (!stack_) {
        void* memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return nullptr;
        stack_ = static_cast<char*>(memory);
        stack_size_ = stack_bytes;
    }
    size = (size + 15) & ~uint64_t{15};
    if (size > stack_size_ - stack_top_)
        return nullptr;
    char* frame = stack_ + stack_top_;
    std::memset(frame, 0, size);
    stack_top_ += size;
    return frame;
}

void Session::pop_frame(char* frame) { stack_top_ = static_cast<size_t>(frame - stack_); }

Session::~Session() {
    if (stack_)
        munmap(stack_, stack_size_);
}

namespace {

// This thread's number in the initial PID namespace, by which handlers in the kernel know it.
uint32_t tid_in_kernel(const ProcessNumbers& numbers) {
    static thread_local const auto number = static_cast<uint32_t>(numbers.in_kernel(syscall(SYS_gettid)));
    return number;
}

// The lock of handlers that share globals. While its holder is preempted, handlers in the kernel wait for it, or go
// without: so ordinary tasks must not take the processor away from this thread, from before it has the lock until it
// has given it back. Where that is not permitted, the thread stays as it is.
class HeldLock {
  public:
    HeldLock(uint64_t* word, const ProcessNumbers& numbers) : word_(word), policy_(sched_getscheduler(0)) {
        // A handler in the kernel has it for microseconds, but may itself wait for this processor: let it run.
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
    // Strings of a handler lie in slots; this is what the last one may spill into.
    const uint64_t spill = std::max<uint64_t>(4096, 2ull * plan.max_string);
    char* frame = push_frame(probe.frame_size + spill);
    if (!frame) {
        say("ERROR: no memory for the handler at " + probe.place);
        failed = exiting = true;
        return;
    }
    running = &probe;
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
    running = nullptr;
    pop_frame(frame);
    iterators.clear();
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
    case plan::TraceText:
        write_to_kernel(open_tracefs("trace_marker", O_WRONLY), "the trace", text_of(payload));
        break;
    case plan::LogText: // the log takes 1,024 bytes, and shows what ends with a newline
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
        // No handler begins any more, in the kernel neither.
        __atomic_store_n(&data.words->state, plan::Stopping, __ATOMIC_SEQ_CST);
        exiting = exited = true;
        break;
    case plan::NewGroup:
        groups.note_new();
        break;
    case plan::RaiseError:
        report_error(header, payload);
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

// Those of handlers in the kernel are counted there.
void Session::suppress_error(const plan::RecordHeader& header, const std::string& text) {
    const plan::Probe* probe = running;
    for (const plan::Probe& one : plan.probes)
        for (const plan::Point& point : one.points)
            if (!running && point.row == header.row)
                probe = &one;
    if (!probe)
        return;
    HandlerErrors& seen = data.errors[probe];
    if (seen.first.empty())
        seen.first = text;
    if (running)
        seen.count++;
}

namespace {
// The calls on the way to an error's place, from the inside out. Where there is no room for more, only the outer ones
// are known: they are the script's.
std::vector<std::string> calls_to(const plan::Plan& plan, const plan::ErrorDetails& details) {
    constexpr uint32_t in_word = 64 / plan::call_bits, most = in_word * std::size(plan::ErrorDetails{}.calls);
    std::vector<std::string> out;
    for (uint32_t i = most; i-- > 0;) {
        const uint32_t call = details.calls[i / in_word] >> (i % in_word * plan::call_bits) & plan::unknown_call;
        if (call == 0)
            continue;
        const bool known = call < plan::unknown_call && call <= plan.calls.size() && i + 1 < most;
        out.push_back(known ? plan.calls[call - 1] : "...");
    }
    return out;
}

bool is_in_library(std::string_view place) { return place.ends_with(plan::in_library); }
std::string_view without_mark(std::string_view place) {
    if (is_in_library(place))
        place.remove_suffix(std::string_view(plan::in_library).size());
    return place;
}

// Where an error was: the script's own line first, then the library's function that failed there.
std::string told_place(const std::string& near, const std::vector<std::string>& calls) {
    const auto own = std::ranges::find_if_not(calls, is_in_library);
    const bool leads_there = is_in_library(near) && own != calls.end() && *own != "...";
    std::string out = fmt::format(" near {}", leads_there ? *own : without_mark(near));
    for (auto call = leads_there ? own + 1 : calls.begin(); call != calls.end(); ++call)
        out += fmt::format(" (called from {})", without_mark(*call));
    return leads_there ? fmt::format("{} (in the library: {})", out, without_mark(near)) : out;
}

// How to go on after an error of that text; empty: nothing that the text does not say.
std::string way_out(const std::string& error) {
    if (error.starts_with(plan::no_actions_left))
        return "help: `-D MAXACTION=N` lets a handler run N statements, and one of begin, end or a timer ten times as "
               "many";
    if (error.starts_with("MAXNESTING exceeded"))
        return "help: `-D MAXNESTING=N` lets calls of functions nest N deep";
    if (error.starts_with("Array overflow, check MAXMAPENTRIES"))
        return "help: `-D MAXMAPENTRIES=N` gives each array room for N elements, `global a[N]` one of them; "
               "`global a%[N]` forgets the oldest one instead";
    if (error.find(" fault at 0x") == std::string::npos &&
        error.find(" fault [man error::fault] at 0x") == std::string::npos)
        return "";
    for (std::string_view reader : {"user_string", "kernel_string"})
        if (error.find(fmt::format("near identifier '{}' ", reader)) != std::string::npos)
            return fmt::format("help: `{}(address, \"?\")` gives the second text where no string can be read; "
                               "`try {{ ... }} catch {{ ... }}` goes on after any error",
                               reader);
    return "help: `try { ... } catch { ... }` goes on after an error";
}
} // namespace

void Session::report_error(const plan::RecordHeader& header, std::span<const uint8_t> payload) {
    plan::ErrorDetails details{};
    std::string message, near;
    if (payload.size() >= sizeof details)
        std::memcpy(&details, payload.data(), sizeof details);
    if (payload.size() > sizeof details)
        message = text_of(payload.subspan(sizeof details));
    if (header.format < plan.sites.size()) {
        const plan::Site& site = plan.sites[header.format];
        near = site.near;
        if (message.empty()) {
            message = site.message;
            if (size_t at = message.find("%#x"); at != std::string::npos)
                message.replace(at, 3, fmt::format("{:#x}", static_cast<uint64_t>(details.argument)));
            if (message == "%s")
                message.clear();
        }
    }
    if (running && data.words->least_action != 0 && message == plan::no_actions_left)
        return accounting.add(Loss::Interrupted, 1, running->place);
    if (!near.empty())
        message += told_place(near, calls_to(plan, details));
    if (header.row < plan.rows.size())
        message += " in probe " + plan.rows[header.row].pp;
    message.resize(std::min<size_t>(message.size(), plan.max_string - 1));
    if (plan.suppress_errors)
        return suppress_error(header, message);
    const HeldError error{message, error_counted_in_kernel};
    if (!holds_errors_ || error.is_counted) // another hit's, which came meanwhile
        return fail(error);
    if (!held_error_)
        held_error_ = error;
}

void Session::release_error() {
    holds_errors_ = false;
    if (held_error_)
        fail(*std::exchange(held_error_, std::nullopt));
}

void Session::fail(const HeldError& error) {
    tell_sinks(SinkText::Error, error.text);
    output.flush();
    say("ERROR: " + error.text);
    if (const std::string help = way_out(error.text); !help.empty() && told_help_.insert(help).second)
        say(help);
    if (!error.is_counted)
        __atomic_fetch_add(&data.words->errors, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&data.words->errors, __ATOMIC_SEQ_CST) > data.words->max_errors) {
        __atomic_store_n(&data.words->state, plan::Stopping, __ATOMIC_SEQ_CST);
        failed = true;
        exiting = true;
    }
}

} // namespace sonde
