#include "runtime/sinks/report_file.h"

#include <utility>

#include "base/fd.h"
#include "runtime/text/json.h"

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

std::unique_ptr<Sink> make_report_file(const plan::Plan& plan, std::string path) {
    return std::make_unique<ReportFile>(plan, std::move(path));
}

} // namespace sonde
