// `sonde lsp --log-points`: the log points of an editor, in source files of C, C++, Rust, Go and Python.
//
// A client without special code shows the values as inlay hints, and starts and stops log points by code actions. Other
// clients show the notification `sonde/logPoint`. A log point only begins when the client executes the command for it:
// no file of a workspace can start one.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "driver/lsp/documents.h"
#include "driver/lsp/log_point.h"
#include "driver/lsp/protocol.h"
#include "driver/rpc/child.h"
#include "runtime/text/json.h"

namespace sonde::lsp {

class LogPoints {
  public:
    // `words` are options of `sonde log`. `send` passes a message to the client. Both references must outlive this.
    LogPoints(std::vector<std::string> words, const Documents& documents, std::function<void(const Json&)> send)
        : words_(std::move(words)), documents_(documents), send_(std::move(send)) {}

    // Reads the parameters of `initialize`. Returns the error, or "".
    std::string configure(const Json& params);
    Json capabilities() const;

    // Answers a request. nullopt: its method is not one of these.
    std::optional<Answer> answer(std::string_view method, const Json& params);
    // Call this before the document changes.
    void note_change(const Json& params);
    void note_close(const std::string& uri);
    void handle_reply(const Json& id, const Json& result);
    // Ends all sessions, without messages.
    void end() { points_.clear(); }

    // The loop: the descriptors to wait for, the time to wait for, and the work after waiting.
    void add_descriptors(std::vector<pollfd>& out) const;
    std::optional<rpc::Clock::time_point> wake_up() const;
    void advance(const std::function<bool(int)>& is_ready);

  private:
    Answer execute(const Json& params);
    Answer start(const Json& argument);
    Answer stop(const Json& argument);
    // A range of a document that is open.
    struct OpenRange {
        std::string uri;
        const Document* document;
        Span span;
    };
    std::variant<OpenRange, Failure> read_range(const Json& params) const;
    Answer find_hints(const Json& params) const;
    Answer find_actions(const Json& params) const;
    Answer find_lenses(const Json& params) const;

    void begin(LogPoint& point);
    void choose(LogPoint& point);
    void ask(LogPoint& point);
    void advance(LogPoint& point, const std::function<bool(int)>& is_ready);
    void watch_processes(LogPoint& point, const std::function<bool(int)>& is_ready);
    void end_with(LogPoint& point, const std::string& why);
    void remove(LogPoint& point);
    void say(int severity, const std::string& message);
    void note_change_of(const LogPoint& point) { changed_.insert(point.id); }
    void send_states();
    void send_refresh();

    std::vector<std::string> words_;
    const Documents& documents_;
    std::function<void(const Json&)> send_;
    Json defaults_;
    bool has_hints_ = true, has_lenses_ = true, can_refresh_ = false;

    std::list<LogPoint> points_;
    int64_t last_id_ = 0;
    std::set<int64_t> changed_; // points whose state the client does not know
    bool hints_changed_ = false, awaits_refresh_ = false;
    rpc::Clock::time_point next_states_, next_refresh_;
};

} // namespace sonde::lsp
