// Whatever is written to standard output and standard error while a screen is drawn: the script's text, messages, what
// a command says.
//
// A pipe stands in for those of the two that are terminals, and a thread reads it, so that nobody waits for the screen.
// Text passes on to the terminal while there is no screen; it is kept, the last lines of it, while there is one, and
// follows when the screen goes.
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
    // `raw`: control characters act on the terminal.
    static Result<std::unique_ptr<Capture>> start(Terminal& terminal, bool raw);
    ~Capture(); // gives the descriptors back; everything that was written until then is shown
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    // From here on text is kept; from release() on it passes, what was kept first.
    void hold();
    void release();
    // The last lines that were kept, at most that many.
    std::vector<std::string> last_lines(size_t most) const;

  private:
    static constexpr size_t most_lines = 5000, longest_line = 65536;
    explicit Capture(Terminal& terminal, bool raw) : terminal_(terminal), raw_(raw) {}
    void read();
    void take(std::string_view text);

    Terminal& terminal_;
    bool raw_;
    Fd read_, stop_;
    Fd before_[3]; // standard input, output and error as they were; empty: not taken
    std::thread thread_;
    mutable std::mutex mutex_;
    bool holds_ = false;
    std::deque<std::string> lines_; // kept; the last one may go on
    bool line_goes_on_ = false;
    uint64_t dropped_ = 0;
};

} // namespace sonde
