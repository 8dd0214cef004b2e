// Reports the errors of handlers.
//
// A record of an error contains numbers, and the plan has the texts:
//
//     site       message, and the place: identifier '$x' at lib.stp:12:5
//     argument   the number at the message's end
//     calls      the places of the calls that led there
//     row        the probe point
//
// If the error is in the library, its place does not help a user. The first call outside of the library is then printed
// as the place, and the library's function at the end:
//
//     ERROR: read fault at 0x8 near identifier 'user_string' at a.stp:3:9 (in the library: ...)
//
// Several host handlers can belong to one point. If two of them fail, only the first message is printed, and it counts
// once. hold() and release() delimit this time.
#include "runtime/engine/error_reporter.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/session_state.h"
#include "runtime/plan/error_place.h"
#include "runtime/text/messages.h"

namespace sonde {

// Counts the error of a host handler, and keeps the first message of a handler. The kernel counts the errors of its own
// handlers.
void ErrorReporter::suppress(const plan::RecordHeader& header, const std::string& text) {
    const plan::Probe* probe = session_.host.probe;
    for (const plan::Probe& one : session_.plan.probes)
        for (const plan::Point& point : one.points)
            if (!session_.host.probe && point.row == header.row)
                probe = &one;
    if (!probe)
        return;
    HandlerErrors& seen = session_.data.errors[probe];
    if (seen.first.empty())
        seen.first = text;
    if (session_.host.probe)
        seen.count++;
}

namespace {
// Returns the calls that led to an error, innermost first. The kernel stores a limited number of calls. If there were
// more, the innermost ones are missing, because the outer calls are those in the script.
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

// Returns the location of an error. The script's line comes first, then the library function that failed.
std::string told_place(const std::string& near, const std::vector<std::string>& calls) {
    const auto own = std::ranges::find_if_not(calls, is_in_library);
    const bool leads_there = is_in_library(near) && own != calls.end() && *own != "...";
    std::string out = fmt::format(" near {}", leads_there ? *own : without_mark(near));
    for (auto call = leads_there ? own + 1 : calls.begin(); call != calls.end(); ++call)
        out += fmt::format(" (called from {})", without_mark(*call));
    return leads_there ? fmt::format("{} (in the library: {})", out, without_mark(near)) : out;
}

// Returns advice for an error message; "" if the message needs none.
std::string way_out(const std::string& error) {
    if (error.starts_with(plan::no_actions_left))
        return "help: `-D MAXACTION=N` allows N statements in a handler, and ten times as many in begin, end and "
               "timers";
    if (error.starts_with("MAXNESTING exceeded"))
        return "help: `-D MAXNESTING=N` allows N nested calls of functions";
    if (error.starts_with("Array overflow, check MAXMAPENTRIES"))
        return "help: `-D MAXMAPENTRIES=N` allows N elements in each array, `global a[N]` in one array; `global a%[N]` "
               "drops the oldest element instead";
    if (error.find(" fault at 0x") == std::string::npos &&
        error.find(" fault [man error::fault] at 0x") == std::string::npos)
        return "";
    for (std::string_view reader : {"user_string", "kernel_string"})
        if (error.find(fmt::format("near identifier '{}' ", reader)) != std::string::npos)
            return fmt::format("help: `{}(address, \"?\")` returns the second string if the address cannot be read; "
                               "`try {{ ... }} catch {{ ... }}` continues after any error",
                               reader);
    return "help: `try { ... } catch { ... }` continues after an error";
}
} // namespace

void ErrorReporter::report(const plan::RecordHeader& header, std::span<const uint8_t> payload) {
    plan::ErrorDetails details{};
    std::string message, near;
    if (payload.size() >= sizeof details)
        std::memcpy(&details, payload.data(), sizeof details);
    if (payload.size() > sizeof details)
        message = text_of(payload.subspan(sizeof details));
    if (header.format < session_.plan.sites.size()) {
        const plan::Site& site = session_.plan.sites[header.format];
        near = site.near;
        if (message.empty()) {
            message = site.message;
            if (size_t at = message.find("%#x"); at != std::string::npos)
                message.replace(at, 3, fmt::format("{:#x}", static_cast<uint64_t>(details.argument)));
            if (message == "%s")
                message.clear();
        }
    }
    if (session_.host.probe && session_.data.words->least_action != 0 && message == plan::no_actions_left)
        return session_.accounting.add(Loss::Interrupted, 1, session_.host.probe->place);
    if (!near.empty())
        message += told_place(near, calls_to(session_.plan, details));
    if (header.row < session_.plan.rows.size())
        message += " in probe " + session_.plan.rows[header.row].pp;
    message.resize(std::min<size_t>(message.size(), session_.plan.max_string - 1));
    if (session_.plan.suppress_errors)
        return suppress(header, message);
    const Held error{message, counted_in_kernel};
    if (!holds_ || error.is_counted) // an error of another hit that occurred in the meantime
        return fail(error);
    if (!held_)
        held_ = error;
}

void ErrorReporter::release() {
    holds_ = false;
    if (held_)
        fail(*std::exchange(held_, std::nullopt));
}

void ErrorReporter::fail(const Held& error) {
    session_.tell_sinks(SinkText::Error, error.text);
    session_.output.flush();
    say("ERROR: " + error.text);
    if (const std::string help = way_out(error.text); !help.empty() && told_help_.insert(help).second)
        say(help);
    if (!error.is_counted)
        __atomic_fetch_add(&session_.data.words->errors, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&session_.data.words->errors, __ATOMIC_SEQ_CST) > session_.data.words->max_errors) {
        __atomic_store_n(&session_.data.words->state, plan::Stopping, __ATOMIC_SEQ_CST);
        session_.failed = true;
        session_.exiting = true;
    }
}

} // namespace sonde
