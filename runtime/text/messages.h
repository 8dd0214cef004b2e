// What a session says on standard error, without waiting for who reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/text/writer.h"

namespace sonde {

// Says a text of whole lines, without the end of the last one; it cannot act on a terminal (base/terminal_text.h).
// While a Messages lives it takes the text; standard error is written directly otherwise. Standard error belongs to the
// process, and so does this: whoever has something to say need not be handed the way.
void say(std::string text);

// Says "WARNING: TEXT". One that is advice is not said after set_warnings_off(true); one that makes the session's
// answer another than it seems to be is always said.
enum class Weight : uint8_t { Advice, Answer };
void warn(std::string_view text, Weight weight = Weight::Advice);
void set_warnings_off(bool off);

// Standard error during a session.
class Messages {
  public:
    // Where standard output and standard error are one file, `printed` writes both, in order.
    static Result<std::unique_ptr<Messages>> start(Writer& printed, bool is_same_file, bool raw);
    ~Messages(); // finish()
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    Writer& writer() { return own_ ? *own_ : printed_; }
    bool is_shared() const { return !own_; }
    // Waits a bounded time until all is written.
    void settle(const Writer::GiveUp& give_up);
    void finish(const Writer::GiveUp& give_up);

  private:
    friend void say(std::string text);
    explicit Messages(Writer& printed) : printed_(printed) {}
    Writer& printed_;
    std::unique_ptr<Writer> own_;
    bool raw_ = false;
};

} // namespace sonde
