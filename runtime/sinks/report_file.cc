// --report: writes a JSON file with the accounting of all hits at the session's end.
#include <string>
#include <utility>

#include "base/fd.h"
#include "runtime/sinks/sink.h"
#include "runtime/text/json.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

class ReportFile final : public Sink {
  public:
    ReportFile(const plan::Plan& plan, std::string path) : plan_(plan), path_(std::move(path)) {}

    // Creates the file at the start, so that an unwritable path is reported early.
    Result<void> open() override { return write_file(path_, ""); }
    Result<void> close(const SessionEnd& end) override {
        return write_file(path_, json_text(end.accounting.json(plan_.script, end.status), 2) + "\n");
    }

  private:
    const plan::Plan& plan_;
    const std::string path_;
};

} // namespace

Result<Sinks> make_report_file(SessionData& data, Output& /*output*/, const std::string& path) {
    return path.empty() ? Sinks() : one_sink(std::make_unique<ReportFile>(data.plan, path));
}

} // namespace sonde
