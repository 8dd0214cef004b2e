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
// Several host handlers can belong to one point. The errors of all of them are reported after the last one has run,
// until there are more than MAXERRORS, but at least the first. hold() and release() delimit this time.
#include "runtime/engine/error_reporter.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/session_state.h"
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
std::vector<plan::ErrorPlace> calls_to(const plan::Plan& plan, const plan::ErrorDetails& details) {
    constexpr uint32_t in_word = 64 / plan::call_bits, most = in_word * std::size(plan::ErrorDetails{}.calls);
    std::vector<plan::ErrorPlace> out;
    for (uint32_t i = most; i-- > 0;) {
        const uint32_t call = details.calls[i / in_word] >> (i % in_word * plan::call_bits) & plan::unknown_call;
        if (call == 0)
            continue;
        const bool known = call < plan::unknown_call && call <= plan.calls.size() && i + 1 < most;
        out.push_back(known ? plan.calls[call - 1] : plan::ErrorPlace());
    }
    return out;
}

// Returns the location of an error. The script's line comes first, then the library function that failed. The text of
// an unknown call is empty.
std::string told_place(const plan::ErrorPlace& near, const std::vector<plan::ErrorPlace>& calls) {
    const auto own = std::ranges::find_if_not(calls, &plan::ErrorPlace::in_library);
    const bool leads_there = near.in_library && own != calls.end() && !own->text.empty();
    std::string out = " near " + (leads_there ? own->text : near.text);
    for (auto call = leads_there ? own + 1 : calls.begin(); call != calls.end(); ++call)
        out += fmt::format(" (called from {})", call->text.empty() ? "..." : call->text);
    return leads_there ? fmt::format("{} (in the library: {})", out, near.text) : out;
}
} // namespace

void ErrorReporter::report(const plan::RecordHeader& header, std::span<const uint8_t> payload) {
    plan::ErrorDetails details{};
    plan::ErrorMessage message;
    plan::ErrorPlace near;
    if (payload.size() >= sizeof details)
        std::memcpy(&details, payload.data(), sizeof details);
    if (header.format < session_.plan.sites.size()) {
        const plan::Site& site = session_.plan.sites[header.format];
        near = site.near;
        message = site.message;
    }
    std::string own;
    if (payload.size() > sizeof details)
        own = text_of(payload.subspan(sizeof details));
    if (!own.empty() || message.id == plan::ErrorId::OwnText)
        message = own;
    if (session_.host.probe && session_.data.words->least_action != 0 && message.id == plan::ErrorId::ActionsSpent)
        return session_.accounting.add(Loss::Interrupted, 1, session_.host.probe->place);
    std::string& text = message.text;
    if (const size_t at = own.empty() ? text.find("%#x") : std::string::npos; at != std::string::npos)
        text.replace(at, 3, fmt::format("{:#x}", static_cast<uint64_t>(details.argument)));
    if (!near.text.empty())
        text += told_place(near, calls_to(session_.plan, details));
    if (header.row < session_.plan.rows.size())
        text += " in probe " + session_.plan.rows[header.row].pp;
    text.resize(std::min<size_t>(text.size(), session_.plan.max_string - 1));
    if (session_.plan.translate.suppress_handler_errors)
        return suppress(header, text);
    const Held error{message, counted_in_kernel};
    if (!holds_ || error.is_counted) // an error of another hit that occurred in the meantime
        return fail(error);
    held_.push_back(error);
}

void ErrorReporter::count_suppressed(const plan::Probe& probe, uint64_t in_kernel) {
    if (!session_.plan.translate.suppress_handler_errors)
        return;
    const HandlerErrors& seen = session_.data.errors[&probe];
    session_.accounting.add(Loss::Suppressed, probe.in_kernel ? in_kernel : seen.count, probe.place, seen.first);
}

void ErrorReporter::release() {
    holds_ = false;
    const std::vector<Held> errors = std::exchange(held_, {});
    for (size_t i = 0; i < errors.size() && (i == 0 || !session_.failed); i++)
        fail(errors[i]);
}

void ErrorReporter::fail(const Held& error) {
    session_.tell_sinks(SinkText::Error, error.message.text);
    session_.output.flush();
    say("ERROR: " + error.message.text);
    if (const std::string_view help = traits(error.message.id).help; !help.empty() && told_help_.insert(help).second)
        say(fmt::format("help: {}", help));
    if (!error.is_counted)
        __atomic_fetch_add(&session_.data.words->errors, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&session_.data.words->errors, __ATOMIC_SEQ_CST) > session_.data.words->max_errors) {
        __atomic_store_n(&session_.data.words->state, plan::Stopping, __ATOMIC_SEQ_CST);
        session_.failed = true;
        session_.exiting = true;
    }
}

} // namespace sonde
