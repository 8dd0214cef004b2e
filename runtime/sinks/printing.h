// The formats of --format. Each is a sink that writes records to the session's output. At the end, it also writes the
// globals that no handler has read.
#pragma once

#include "runtime/sinks/sink.h"
#include "runtime/text/output.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

struct TableForm;

struct PrintSettings {
    OutputFormat format = OutputFormat::Text;
    bool raw = false;           // --raw: do not escape control characters on a terminal
    bool prints_globals = true; // false: --no-global-var-display
};

// Returns the sink of the format.
Result<Sinks> make_print_sinks(SessionData& data, Output& output, const PrintSettings& settings);

#define FORMAT(id, name, maker, ...)                                                                                   \
    std::unique_ptr<Sink> maker(SessionData& data, Output& output, const PrintSettings& settings);
#include "runtime/text/formats.def"
#undef FORMAT
// Like text, but arrays are printed as tables.
std::unique_ptr<Sink> make_table_sink(const TableForm& form, SessionData& data, Output& output,
                                      const PrintSettings& settings);

// The common part of all formats: at the end, prints the globals, the largest elements of arrays first.
class PrintSink : public Sink {
  public:
    PrintSink(SessionData& data, Output& output, const PrintSettings& settings)
        : data_(data), output_(output), settings_(settings) {}

    // Prints the globals, except those that a picture shows.
    Result<void> finish(const std::function<bool()>& hurry) override;

  protected:
    virtual std::string scalar(const plan::Global& global) = 0;
    virtual std::string array(const plan::Global& global, const std::vector<ArrayElement>& elements) = 0;

    SessionData& data_;
    Output& output_;
    const PrintSettings settings_;

  private:
    std::vector<ArrayElement> largest_first(size_t index) const;
};

} // namespace sonde
