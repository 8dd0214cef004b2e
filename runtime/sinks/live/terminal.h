// The terminal that --live uses: draws lines and reads keys.
#pragma once

#include <termios.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/sinks/live/keys.h"

namespace sonde {

struct ScreenSize {
    size_t rows = 24, columns = 80;
};

class Terminal {
  public:
    // Opens /dev/tty, so that standard input and output can be redirected. Fails if the process has no terminal, or if
    // TERM is not supported.
    static Result<std::unique_ptr<Terminal>> open();
    ~Terminal(); // leave()
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    int fd() const { return fd_.get(); } // readable when a key was pressed
    ScreenSize size() const;
    // Switches to the alternate screen, without echo and cursor. ^C still sends a signal, ^Z does not.
    void enter();
    // Restores the terminal.
    void leave();
    // Draws lines from the top. They must not be wider than the screen. The rest of the screen is cleared.
    void draw(const std::vector<std::string>& lines);
    void write(std::string_view text);
    std::vector<Key> read_keys();

  private:
    Terminal() = default;
    Fd fd_;
    termios before_{};
    bool entered_ = false;
    std::string typed_; // bytes of an incomplete key
};

} // namespace sonde
