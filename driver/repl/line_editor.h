// Reads the lines of an interactive session: from a terminal, with editing, history and completion by libedit, or from
// a pipe or a file.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace sonde::repl {

// A source of lines. While it waits for a line, it serves other descriptors.
class LineSource {
  public:
    // Descriptors to wait for, and what to do when some of them are ready. serve() returns text to show; it may also
    // change the descriptors.
    // is_interrupted() tells whether a signal wants to end the reading. A descriptor must become readable then.
    struct Events {
        std::function<std::vector<pollfd>()> fds;
        std::function<std::string()> serve;
        std::function<bool()> is_interrupted;
    };
    enum class End : uint8_t { Line, EndOfInput, Interrupted };
    struct Read {
        End end = End::Line;
        std::string line; // without its newline
    };

    virtual ~LineSource() = default;
    // Interrupted: a signal has arrived (the caller knows which).
    virtual Read read(const std::string& prompt, const Events& events) = 0;
    virtual bool is_interactive() const = 0;
    // Adds an input, which can have several lines, to the history.
    virtual void remember(const std::string& /*input*/) {}
};

// Lines of standard input, without prompt and echo.
std::unique_ptr<LineSource> make_plain_source();

// The words that may continue a line, whole: each begins with `line.substr(begin)`.
struct EditorCompletions {
    size_t begin = 0;
    std::vector<std::string> words;
    std::vector<bool> are_whole; // append a blank
};
using Complete = std::function<EditorCompletions(const std::string& line)>;

// Edits lines on the terminal of standard input. The history is kept in `history_file`; "": only in memory. Output that
// arrives while the user types appears above the line.
std::unique_ptr<LineSource> make_line_editor(const std::string& history_file, Complete complete);

} // namespace sonde::repl
