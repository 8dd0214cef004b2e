// How long a session waits for the reader of its output.
//
// A pipe's reader may be slow, or may have stopped reading without closing the pipe, such as `less` on its first page.
// A session that ends normally waits for five minutes, because the output is its result. After ^C it waits for two
// seconds, because the user wants it to end. Lines that remain are counted as lost, and the exit status says so.
#include "runtime/engine/reader_wait.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

constexpr double told_wait_s = 2, own_wait_s = 300; // after a signal or -T; otherwise

} // namespace

int64_t time_limit_ns(const Session& session) {
    return session.options.time_limit_s > 0 ? static_cast<int64_t>(session.options.time_limit_s * 1e9) : INT64_MAX;
}

void be_patient_in_begin(Session& session, Signals& signals) {
    session.output.set_patience({}, [&session, &signals, began = now_ns()] {
        session.held_back->release();
        if (signals.take_end() || now_ns() - began >= time_limit_ns(session))
            session.exiting = session.interrupted = true;
        return session.interrupted;
    });
}

Patience patience_at_end(const Session& session) {
    double seconds = session.options.output_wait_s.value_or(session.interrupted ? told_wait_s : own_wait_s);
    return {Patience::forever, static_cast<int64_t>(std::min(seconds, 1e9) * 1e9)};
}

void finish_output(Session& session, Signals& signals) {
    constexpr int64_t tell_after_ns = 2'000'000'000;
    session.output.flush();
    // If the session ended without a signal, the first signal stops the wait.
    const Writer::GiveUp hurry = [&] { return signals.take_hurry() || (!session.interrupted && signals.take_end()); };
    Writer& writer = session.output.writer();
    session.output.set_patience({}, hurry);
    if (!session.interrupted && !writer.wait_until_written({Patience::forever, tell_after_ns}, hurry) && !hurry() &&
        isatty(STDERR_FILENO) == 1)
        say(fmt::format("the session has ended, but {} lines wait for the reader of the output; press ^C to drop them",
                        writer.queued_lines()));
    session.output.finish(patience_at_end(session));
    Writer::Loss lost = writer.lost(Writer::Printed);
    session.accounting.add(Loss::Unread, lost.bytes ? std::max<uint64_t>(1, lost.lines) : 0, "",
                           std::to_string(lost.bytes));
}

} // namespace sonde
