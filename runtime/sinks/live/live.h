// --live: shows the current values of the script's globals on a screen while the session runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/sinks/live/capture.h"
#include "runtime/sinks/live/live_values.h"
#include "runtime/sinks/live/terminal.h"
#include "runtime/sinks/live/view.h"
#include "runtime/sinks/sink.h"
#include "runtime/values/json_lines.h"

namespace sonde {

class Output;
struct SessionData;

struct LiveSettings {
    std::optional<double> interval_s; // between two updates of the screen; empty: no live view
    bool raw = false;                 // --raw
    bool writes_json = false;         // each update is also written to the output, as JSON lines
};

class Live final : public Sink {
  public:
    // Replaces standard output and error (runtime/sinks/live/capture.h). Call it before the output is opened and the
    // command starts. Fails without a terminal, if the script has nothing to show, or if it reads the keyboard itself.
    static Result<std::unique_ptr<Live>> start(SessionData& data, Output& output, const LiveSettings& settings);
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;

    void start() override;
    // Readable when a key was pressed.
    int fd() const override { return terminal_->fd(); }
    int64_t until_turn(int64_t now) const override;
    // Updates and draws the screen if an update is due or a key was pressed.
    bool turn(int64_t now, bool handlers_follow) override;
    void stop() override;

  private:
    Live(SessionData& data, Output& output, const LiveSettings& settings, std::unique_ptr<Terminal> terminal);
    // Reads the current values, and writes them as JSON if requested.
    void look();
    // Performs an action that the view cannot perform itself.
    void act(const LiveView::Wish& wish);
    std::string save(size_t global);
    // Passes a change of the probes to the session's editor, and shows the answer when it arrives.
    void edit(const LiveView::Wish& wish);
    // The lines of the detail view.
    std::vector<std::string> detail(const LiveTable& table, const LiveRow& row, size_t columns);
    void write_json();

    SessionData& data_;
    Output& output_;
    const LiveSettings settings_;
    const JsonLines json_lines_;
    bool is_shown_ = false;
    bool has_news_ = false; // to draw
    int64_t next_ns_ = 0;   // time of the next update, monotonic clock
    std::unique_ptr<Terminal> terminal_;
    std::unique_ptr<Capture> capture_;
    LiveTables tables_;
    LiveView view_;
    ScreenSize drawn_; // size of the screen when it was last drawn
};

// Returns the live view if the settings want it.
Result<Sinks> make_live(SessionData& data, Output& output, const LiveSettings& settings);

} // namespace sonde
