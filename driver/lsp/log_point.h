// One log point: a line of a source file in the editor, and the session of `sonde log` that shows values there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "driver/lsp/protocol.h"
#include "driver/rpc/child.h"
#include "driver/rpc/worker.h"
#include "driver/running_programs.h"
#include "runtime/text/json.h"

namespace sonde::lsp {

// What the client wants to log. Its values reach the command line of `sonde log` only as values of options and as
// arguments, and no option of that command line runs a command.
struct LogRequest {
    std::string uri, path;
    int64_t line = 0;        // from 0
    std::string expressions; // or a FORMAT of `sonde log`; empty: the variables that have a value at the line
    std::string condition;   // empty: none
    std::string program;     // empty: search the running ones
    int64_t pid = 0;         // 0: all processes of the program
    int64_t seconds = 60, limit = 100, most = 1000;
};
// Reads the argument of the command, and the defaults of `initializationOptions`. `defaults` may be null.
std::variant<LogRequest, Failure> read_log_request(const Json& argument, const Json& defaults);

// Returns the FORMAT for expressions with commas between them: `left={left} order->item->id={order->item->id}`. Text
// that contains a brace is a FORMAT already.
std::string format_of_expressions(const std::string& expressions);

// The expression in a line of source text at an offset in bytes: the whole selection, or the variable there with the
// members before it, as in `order->item`. Empty: none.
std::string expression_at(const std::string& line, size_t begin, size_t end);

// A place that a search in a worker has found, as JSON.
Json find_log_places(const LogRequest& request);

struct LogPoint {
    enum class State : uint8_t { Searching, Asking, Starting, Armed, Ended };
    struct Line {
        int64_t time = 0, pid = 0; // nanoseconds since 1970
        std::string name, text;    // of the process; the values
    };

    int64_t id = 0;
    LogRequest wanted;
    int64_t line = 0; // where it is now, from 0: edits move it
    State state = State::Searching;
    bool is_removed = false; // the client is not interested any more; it disappears when its session has ended

    std::optional<rpc::Worker> search;
    std::vector<RunningPlace> places; // of which the user chooses
    RunningPlace place;               // the chosen one
    std::string function;             // of Python
    std::optional<rpc::Child> session;
    std::vector<Fd> processes; // pidfds of those that run

    uint64_t count = 0; // logged lines
    std::deque<Line> recent;
    std::vector<Line> unsent;
    uint64_t omitted = 0; // unsent lines that are too many
    std::vector<std::string> messages;
    std::string reason, cost; // of the end; `reason` is known before if stop() ends it
    bool has_failed = false;

    // Starts the search. Errors: no process can be created.
    Result<void> begin_search();
    // Reads the result of the search. Returns the error, or "".
    std::string finish_search();
    // Starts the session at `place`. `words` are those of the server's command line.
    Result<void> begin_session(const std::vector<std::string>& words);
    // Reads the output of the session. Returns whether something is new.
    bool read_session(std::vector<std::string>& fresh_messages);
    // Call this when the session's process has ended.
    void finish_session(std::vector<std::string>& fresh_messages);
    // Ends it without a session.
    void fail(const std::string& why);
    void stop(const std::string& why = "stopped");

    // The text for the end of the line.
    std::string label() const;
    // The last values and the messages.
    std::string tooltip() const;
    // The parameters of `sonde/logPoint`. Takes the unsent lines.
    Json take_state();

  private:
    bool add_lines(const std::string& output);
    bool add_messages(const std::string& errors, std::vector<std::string>& fresh);
    size_t messages_read_ = 0; // bytes of standard error
};

} // namespace sonde::lsp
