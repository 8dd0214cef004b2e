#include "runtime/sinks/printing.h"
#include "runtime/values/tables.h"

namespace sonde {

std::unique_ptr<Sink> make_csv_sink(SessionData& data, Output& output, const PrintSettings& settings) {
    return make_table_sink(csv_form, data, output, settings);
}

} // namespace sonde
