#include "runtime/sinks/printing.h"
#include "runtime/values/tables.h"

namespace sonde {
namespace {

// Writes tabs, line ends and backslashes as `\t`, `\n`, `\r` and `\\`, so that `cut` and `awk` see one line for each
// element.
std::string tsv_field(const std::string& text) {
    std::string out;
    for (char c : text)
        out += c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\\' ? "\\\\" : std::string(1, c);
    return out;
}

} // namespace

std::unique_ptr<Sink> make_tsv_sink(SessionData& data, Output& output, const PrintSettings& settings) {
    return make_table_sink({"\t", tsv_field}, data, output, settings);
}

} // namespace sonde
