// Prints messages on standard error, without ever waiting for the reader of standard error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/text/writer.h"

namespace sonde {

// Prints complete lines; `text` has no final newline. Escape sequences are made visible, so that the text cannot
// control the terminal (base/terminal_text.h). While a Messages object exists, it queues the text. Otherwise this
// writes to standard error directly.
//
// This is a global function because standard error belongs to the process, too. So code deep in the program can print a
// message without passing an object through all its callers.
void say(std::string text);

// Prints "WARNING: TEXT". set_warnings_off(true) suppresses warnings of the weight Advice. Warnings of the weight
// Answer change how the session's results must be read, so they are always printed.
enum class Weight : uint8_t { Advice, Answer };
void warn(std::string_view text, Weight weight = Weight::Advice);
void set_warnings_off(bool off);

// Writes standard error by a thread during a session.
class Messages {
  public:
    // If standard output and standard error are the same file, `printed` writes both, so that their order is kept.
    // Otherwise standard error gets its own writer. `raw`: do not escape control characters. At most one object may
    // exist.
    static Result<std::unique_ptr<Messages>> start(Writer& printed, bool is_same_file, bool raw);
    ~Messages(); // finish()
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    Writer& writer() { return own_ ? *own_ : printed_; }
    // Whether standard error is written by the writer of standard output.
    bool is_shared() const { return !own_; }
    // Waits for a limited time until all messages are written.
    void settle(const Writer::GiveUp& give_up);
    // Does the same, reports the number of lost lines, and stops the writer.
    void finish(const Writer::GiveUp& give_up);

  private:
    friend void say(std::string text);
    explicit Messages(Writer& printed) : printed_(printed) {}
    Writer& printed_;
    std::unique_ptr<Writer> own_;
    bool raw_ = false;
};

} // namespace sonde
