// Captures standard output and standard error while --live draws its screen. Their sources are the script, sonde's
// messages and the command.
//
// A pipe replaces each of the two that is a terminal, and a thread reads the pipe, so that writers never wait for the
// screen. Without a screen, the text goes to the terminal at once. While the screen is shown, the last lines are kept.
// They are printed when the screen is closed.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/sinks/live/terminal.h"

namespace sonde {

class Capture {
  public:
    // `raw`: pass control characters to the terminal unchanged.
    static Result<std::unique_ptr<Capture>> start(Terminal& terminal, bool raw);
    ~Capture(); // restores the descriptors; all text that was written before is shown
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    // hold() starts keeping text. release() prints the kept text and passes later text through.
    void hold();
    void release();
    // Returns the last kept lines, at most `most`.
    std::vector<std::string> last_lines(size_t most) const;

  private:
    // Limits for kept text, so that a script which prints much does not use up memory.
    static constexpr size_t most_lines = 5000, longest_line = 65536;
    explicit Capture(Terminal& terminal, bool raw) : terminal_(terminal), raw_(raw) {}
    // The thread's function: reads the pipe until the destructor ends it.
    void read();
    // Prints or keeps a piece of text.
    void take(std::string_view text);

    Terminal& terminal_;
    bool raw_;
    Fd read_, stop_;
    Fd before_[3]; // the original standard input, output and error; empty: not replaced
    std::thread thread_;
    mutable std::mutex mutex_;
    bool holds_ = false;
    std::deque<std::string> lines_; // kept lines; the last one may be incomplete
    bool line_goes_on_ = false;
    uint64_t dropped_ = 0;
};

} // namespace sonde
