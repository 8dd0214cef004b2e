// The terminal that a session is watched on: a screen of lines, and keys.
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
    // The process's own (/dev/tty), so that standard input and output are free for other things. Error: it has none.
    static Result<std::unique_ptr<Terminal>> open();
    ~Terminal(); // leave()
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    int fd() const { return fd_.get(); } // readable when a key was pressed
    ScreenSize size() const;
    // The alternate screen, without echo and cursor; signals by keys (^C) stay, but for the one that stops (^Z).
    void enter();
    // As it was.
    void leave();
    bool is_entered() const { return entered_; }
    // Lines of at most the screen's width, from the top; the rest of the screen is empty.
    void draw(const std::vector<std::string>& lines);
    void write(std::string_view text);
    std::vector<Key> read_keys();

  private:
    Terminal() = default;
    Fd fd_;
    termios before_{};
    bool entered_ = false;
    std::string typed_; // bytes of a key that is not whole
};

} // namespace sonde
