// An example: parse() calls skip(), which throws an exception that parse() catches. A handler at the return of parse()
// prints a value named `size`.
//
//     record                    thread.open                effect
//     entry of parse            parse                      new trace and span
//     entry of skip             parse, skip                span with parent `parse`
//     return of parse           -                          skip ends with sonde.return="not seen"; parse ends
//     print size=3              -                          belongs to parse, which is still in thread.returned
//     next event of the thread  ...                        parse is given to the pusher
//
// The last two lines explain thread.returned: a span must not be sent before the values that its return handler prints.
#include "runtime/sinks/metrics/spans.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/text/messages.h"
#include "runtime/values/printed_values.h"
#include "runtime/values/shown_value.h"

namespace sonde {
namespace {

constexpr int64_t turn_every_ns = 1'000'000'000, look_after_ns = 5'000'000'000;
constexpr size_t most_values = 32, longest_text = 1024, deepest = 1024;

} // namespace

Result<std::unique_ptr<CallSpans>> CallSpans::start(const plan::Plan& plan, Keep keep) {
    std::unique_ptr<CallSpans> out(new CallSpans(plan, std::move(keep)));
    if (std::ranges::none_of(out->rows_, [](const HitRow& row) { return row.role == HitRole::Begin; }))
        return Error(
            "--otlp-only=traces: the script has no calls; probe a function at its entry and its return, as in `probe "
            "process(\"PATH\").function(\"NAME\").call {} probe process(\"PATH\").function(\"NAME\").return {}`");
    if (!plan.translate.tells_hits)
        warn("the plan was saved without --otlp-only=traces, so it has no spans", Weight::Answer);
    return out;
}

CallSpans::CallSpans(const plan::Plan& plan, Keep keep)
    : plan_(plan), rows_(find_hit_rows(plan)), keep_(std::move(keep)) {
    if (getrandom(&state_, sizeof state_, 0) != sizeof state_)
        state_ = static_cast<uint64_t>(real_time_ns()) ^ static_cast<uint64_t>(getpid()) << 32;
}

// Returns a random id (splitmix64; Steele, Lea, Flood, 2014). Never returns 0, which means "no id". The seed is from
// the kernel, so ids of different sessions do not collide.
uint64_t CallSpans::random() {
    for (;;) {
        uint64_t out = state_ += 0x9e3779b97f4a7c15;
        out = (out ^ out >> 30) * 0xbf58476d1ce4e5b9;
        out = (out ^ out >> 27) * 0x94d049bb133111eb;
        out ^= out >> 31;
        if (out)
            return out;
    }
}

// Times in records miss changes of the system clock since the session's start. Spans get the current correction.
void CallSpans::give(OtlpSpan span) {
    span.begin_ns += correction_ns_;
    span.end_ns += correction_ns_;
    keep_(std::move(span));
}

void CallSpans::give_returned(Thread& thread) {
    if (thread.returned)
        give(std::move(thread.returned->span));
    thread.returned.reset();
}

// Beyond the limit of nesting, calls are only counted, so that their returns do not end outer calls.
void CallSpans::begin(Thread& thread, const HitTask& task, const HitRow& row) {
    if (thread.too_deep || thread.open.size() >= deepest) {
        thread.too_deep++;
        left_out_++;
        return;
    }
    OtlpSpan span;
    if (thread.open.empty()) {
        span.trace = {random(), random()};
    } else {
        span.trace = thread.open.back().span.trace;
        span.parent = thread.open.back().span.id;
    }
    span.id = random();
    span.name = row.name;
    span.begin_ns = thread.last_ns;
    span.pid = task.pid;
    span.tid = task.tid;
    span.process = process_names_.of(task);
    span.thread = task.name;
    thread.open.push_back({row.function, std::move(span)});
}

// Also ends the calls inside, whose returns were not seen. Only the call that has returned may still get values.
void CallSpans::end(Thread& thread, const HitRow& row) {
    if (thread.too_deep) {
        thread.too_deep--;
        return;
    }
    for (size_t left = calls_that_end(thread.open, row.function, &Call::function); left > 0; left--) {
        Call call = std::move(thread.open.back());
        thread.open.pop_back();
        call.span.end_ns = thread.last_ns;
        call.span.is_return_unseen = left > 1;
        if (left > 1)
            give(std::move(call.span));
        else
            thread.returned = std::move(call);
    }
}

// Ends all calls of a thread that will produce no more records.
void CallSpans::end_unseen(Thread& thread) {
    give_returned(thread);
    for (; !thread.open.empty(); thread.open.pop_back()) {
        OtlpSpan& span = thread.open.back().span;
        span.end_ns = thread.last_ns;
        span.is_return_unseen = true;
        give(std::move(span));
    }
    thread.too_deep = 0;
}

// Adds the named values of a print to the call that it belongs to. A second value with the same name replaces the
// first.
void CallSpans::note_values(Thread& thread, const HitRow& row, const plan::Format& format,
                            std::span<const uint8_t> payload) {
    Call* call = nullptr;
    if (row.is_return && thread.returned && thread.returned->function == row.function)
        call = &*thread.returned;
    else if (!thread.open.empty() && !thread.too_deep)
        call = &thread.open.back();
    if (!call)
        return;
    within_ = {call->span.trace, call->span.id};
    read_values(format, payload, [&](PrintedValue& value) {
        using Kind = plan::Directive::Kind;
        const Kind kind = value.directive->kind;
        const bool is_text = kind == Kind::String, is_number = kind == Kind::Integer || kind == Kind::Char;
        if (value.directive->about != plan::About::Script || value.directive->name.empty() || (!is_text && !is_number))
            return;
        std::vector<OtlpValue>& values = call->span.values;
        auto at = std::ranges::find(values, value.directive->name, &OtlpValue::name);
        if (at == values.end()) {
            if (values.size() >= most_values) {
                call->span.values_left_out++;
                return;
            }
            at = values.insert(values.end(), {value.directive->name, false, 0, ""});
        }
        at->is_text = is_text;
        at->number = value.number;
        if (value.directive->conversion == 'v')
            value.text = unquoted_value(std::move(value.text));
        at->text = value.text.substr(0, longest_text);
    });
}

void CallSpans::add(const plan::RecordHeader& header, std::span<const uint8_t> payload) {
    within_ = {};
    if (header.row >= rows_.size())
        return;
    const HitRow& row = rows_[header.row];
    const plan::Format& format = plan_.formats[header.format];
    const bool is_event = format.is_hit && (row.role == HitRole::Begin || row.role == HitRole::End);
    if (format.is_hit && !is_event)
        return;
    const HitTask task = task_of(format, payload);
    if (task.is_zero())
        return;
    const auto found = threads_.find(key_of(task));
    if (found == threads_.end() && (!is_event || row.role == HitRole::End))
        return;
    Thread& thread = found == threads_.end() ? threads_[key_of(task)] : found->second;
    // The records of a thread arrive in order, but the system clock may have been set back meanwhile.
    thread.pid = task.pid;
    thread.tid = task.tid;
    thread.last_ns = std::max(thread.last_ns, task.time_ns);
    thread.looked_ns = turned_ns_;
    if (!is_event)
        return note_values(thread, row, format, payload);
    give_returned(thread);
    if (row.role == HitRole::Begin)
        begin(thread, task, row);
    else
        end(thread, row);
}

// Once a second: gives away finished calls, and ends the calls of threads that no longer exist. A thread is checked
// only if it had no record for 5 seconds.
void CallSpans::turn(int64_t now, int64_t offset_ns) {
    if (now - turned_ns_ < turn_every_ns)
        return;
    turned_ns_ = now;
    correction_ns_ = real_time_ns() - kernel_now_ns() - offset_ns;
    for (auto at = threads_.begin(); at != threads_.end();) {
        Thread& thread = at->second;
        give_returned(thread);
        if (!thread.open.empty() && now - thread.looked_ns > look_after_ns) {
            thread.looked_ns = now;
            if (access(fmt::format("/proc/{}", thread.tid).c_str(), F_OK) != 0)
                end_unseen(thread);
        }
        if (thread.open.empty()) {
            process_names_.forget(thread.pid);
            at = threads_.erase(at);
        } else {
            ++at;
        }
    }
}

void CallSpans::finish() {
    for (auto& [key, thread] : threads_)
        end_unseen(thread);
    threads_.clear();
}

} // namespace sonde
