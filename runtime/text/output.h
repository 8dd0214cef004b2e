// The printed output of a session: standard output or the file of -o. It is buffered and written by a thread
// (writer.h). Failures are reported, and data that had no room is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "runtime/text/writer.h"

namespace sonde {

// The formats of --format.
enum class OutputFormat : uint8_t {
#define FORMAT(id, ...) id,
#include "runtime/text/formats.def"
#undef FORMAT
};
struct FormatTraits {
    std::string_view name;
    bool tells_context; // printed lines have a time and a task
};
constexpr FormatTraits format_traits[] = {
#define FORMAT(id, name, maker, tells_context, help) {name, tells_context},
#include "runtime/text/formats.def"
#undef FORMAT
};
inline const FormatTraits& traits(OutputFormat format) { return format_traits[static_cast<size_t>(format)]; }
// "|text|json|...", and "; text prints ...; json prints ...".
constexpr std::string_view joined_formats =
#define FORMAT(id, name, ...) "|" name
#include "runtime/text/formats.def"
#undef FORMAT
    ;
constexpr std::string_view joined_format_help =
#define FORMAT(id, name, maker, tells_context, help) "; " name " " help
#include "runtime/text/formats.def"
#undef FORMAT
    ;
// The argument and the help of --format.
constexpr std::string_view format_choices = joined_formats.substr(1), format_help = joined_format_help.substr(2);

// The options that concern the output.
struct OutputFile {
    static constexpr uint64_t default_buffer = 64 << 20;
    std::string path;   // -o, with strftime() directives; empty: standard output
    uint64_t bytes = 0; // -S: maximum size of a file; then PATH.0, PATH.1, ... follow; 0: no limit
    uint64_t files = 0; // -S: the number of files to keep; 0: all
    OutputFormat format = OutputFormat::Text; // --format
    uint64_t buffer_bytes = default_buffer;   // --output-buffer: maximum data that waits for a slow reader
};

// Usage: open() first, then write(). set_patience() decides whether a slow reader delays the session or loses data.
class Output {
  public:
    // Opens the output and starts the thread that writes it. Returns an error if the file cannot be created.
    Result<void> open(const OutputFile& file);
    // Appends text to the buffer. If a new file begins, the text is completely in the new file. Writes at once if
    // the output is a terminal.
    void write(std::string_view text);
    // From now on, also calls `copy` with all text that is written.
    void copy_to(std::function<void(std::string_view)> copy) { copy_ = std::move(copy); }
    // Passes the buffered text to the writer. Does nothing after a failure.
    void flush();
    // Continues in the next file: the next one of -S, or else PATH.1, PATH.2, ... Has no effect on standard output.
    void switch_file();
    // Why writing failed; empty while it works.
    std::optional<Error> failure() const { return writer_->failure(); }

    // Sets how long to wait for room before text is lost. `give_up` ends any waiting by returning true.
    void set_patience(Patience patience, Writer::GiveUp give_up);
    // Waits within this limit until all flushed text is written, so that output of a command comes after it.
    void settle();
    // Waits until all text is written, for the last time. Gives up if the reader is too slow for `patience`; then the
    // rest is lost.
    void finish(Patience patience);

    Writer& writer() { return *writer_; }
    bool is_terminal() const { return interactive_; }
    // Whether the first file is the one of this descriptor, for example standard error.
    bool is_same_file_as(int fd) const;

  private:
    // Calls `wait_for` with the remaining patience. Returns false without waiting if none is left.
    bool wait(const std::function<bool(Patience)>& wait_for);
    OutputFile target_;
    uint64_t opened_ = 0, written_ = 0; // number of opened files; bytes in the current one
    std::unique_ptr<Writer> writer_;
    Patience patience_;
    std::function<void(std::string_view)> copy_; // may be empty
    Writer::GiveUp give_up_ = [] { return false; };
    bool interactive_ = false;
    uint64_t device_ = 0, inode_ = 0; // of the first file
    std::string buffer_;
};

} // namespace sonde
