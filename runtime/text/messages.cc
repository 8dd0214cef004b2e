// Prints messages on standard error.
//
// write(2) to standard error can block: for example, a terminal is stopped by ^S, or a pipe's reader hangs. A session
// must go on nevertheless, since traced programs may be waiting for it. So messages go through a queue with its own
// thread. If the queue is full, a message is dropped, and the number of dropped lines is printed at the end.
//
// If standard output and standard error are the same file, both use one queue. Otherwise a message could appear before
// text that was printed earlier.
#include "runtime/text/messages.h"

#include <unistd.h>

#include <cstdio>

#include "base/terminal_text.h"

namespace sonde {
namespace {

Messages* in_charge = nullptr;
bool warnings_off = false;
// Stop waiting for a reader of standard error that has read nothing for this time.
constexpr int64_t unread_ns = 2'000'000'000;
constexpr uint64_t most_bytes = 8 << 20;

} // namespace

// Never waits: counts the text as lost if the queue is full.
void say(std::string text) {
    if (isatty(STDERR_FILENO) == 1 && !(in_charge && in_charge->raw_))
        text = terminal_text(text);
    text += '\n';
    if (!in_charge) {
        std::fwrite(text.data(), 1, text.size(), stderr);
        return;
    }
    Writer& writer = in_charge->writer();
    if (!writer.push(Writer::Said, text))
        writer.count_lost(Writer::Said, text);
}

void set_warnings_off(bool off) { warnings_off = off; }

void warn(std::string_view text, Weight weight) {
    if (weight == Weight::Answer || !warnings_off)
        say("WARNING: " + std::string(text));
}

Result<std::unique_ptr<Messages>> Messages::start(Writer& printed, bool is_same_file, bool raw) {
    std::unique_ptr<Messages> out(new Messages(printed));
    if (!is_same_file) {
        Result<std::unique_ptr<Writer>> own = Writer::start(most_bytes);
        if (!own)
            return std::move(own).error();
        out->own_ = *std::move(own);
    }
    out->raw_ = raw;
    std::fflush(stderr);
    in_charge = out.get();
    return out;
}

Messages::~Messages() {
    finish([] { return false; });
    in_charge = nullptr;
}

void Messages::settle(const Writer::GiveUp& give_up) {
    writer().wait_until_written({Patience::forever, unread_ns}, give_up);
}

// The message about lost lines needs room in the queue itself, so wait before and after it.
void Messages::finish(const Writer::GiveUp& give_up) {
    settle(give_up);
    if (Writer::Loss lost = writer().lost(Writer::Said); lost.lines) {
        warn(std::to_string(lost.lines) + " lines on standard error were lost: the reader did not keep up",
             Weight::Answer);
        settle(give_up);
    }
    if (own_)
        own_->stop();
}

} // namespace sonde
