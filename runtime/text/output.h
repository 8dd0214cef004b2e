// Where printed text goes: standard output or -o's file, buffered, written by a thread (runtime/text/writer.h), with
// every failure noticed and everything that had no room counted.
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

enum class OutputFormat : uint8_t { Text, Json, Csv };

struct OutputFile {
    static constexpr uint64_t default_buffer = 64 << 20;
    std::string path;   // -o: with strftime() directives; empty: standard output
    uint64_t bytes = 0; // -S: a file has no more, and another one follows: PATH.0, PATH.1 ...; 0: no limit
    uint64_t files = 0; // -S: how many of these are kept; 0: all
    OutputFormat format = OutputFormat::Text; // --format
    uint64_t buffer_bytes = default_buffer;   // --output-buffer: what waits for a slow reader
};

class Output {
  public:
    Result<void> open(const OutputFile& file);
    void write(std::string_view text);
    // From here on, whatever is written is told to that, too.
    void copy_to(std::function<void(std::string_view)> copy) { copy_ = std::move(copy); }
    // Hands what is buffered to the writer. After a failure nothing more is written.
    void flush();
    // Goes on in the next file: of -S, or else PATH.1, PATH.2 ... Standard output stays what it is.
    void switch_file();
    // Why writing failed; empty while it works.
    std::optional<Error> failure() const { return writer_->failure(); }

    // From here on, how long to wait for room before a text is lost; `give_up` ends all waiting.
    void set_patience(Patience patience, Writer::GiveUp give_up);
    // Waits, within that, until all that was flushed is written: what a command says comes after it.
    void settle();
    // The last wait: until all is written, or the reader takes nothing for that long. The rest is lost.
    void finish(Patience patience);

    Writer& writer() { return *writer_; }
    bool is_terminal() const { return interactive_; }
    bool is_same_file_as(int fd) const;

  private:
    bool wait(const std::function<bool(Patience)>& wait_for);
    OutputFile target_;
    uint64_t opened_ = 0, written_ = 0; // files so far; bytes in the current one
    std::unique_ptr<Writer> writer_;
    Patience patience_;
    std::function<void(std::string_view)> copy_; // or none
    Writer::GiveUp give_up_ = [] { return false; };
    bool interactive_ = false;
    uint64_t device_ = 0, inode_ = 0; // of the first file
    std::string buffer_;
};

} // namespace sonde
