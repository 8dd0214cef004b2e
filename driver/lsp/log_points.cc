#include "driver/lsp/log_points.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include <fmt/format.h>

#include "base/fd.h"
#include "driver/lsp/source_functions.h"

namespace sonde::lsp {
namespace {

using rpc::Clock;
using std::chrono::milliseconds;

// The client gets a new value at once, and then at most one message in this time. Editors ask again for all hints of a
// file when they are told that one has changed.
constexpr milliseconds between_states{100}, between_refreshes{250};
constexpr size_t most_running = 16, most_choices = 9;
constexpr std::string_view start_command = "sonde.logPoint.start", stop_command = "sonde.logPoint.stop",
                           stop_all_command = "sonde.logPoint.stopAll";
enum Severity : int { Problem = 1, Warning = 2, Information = 3 };

Json command(const std::string& title, std::string_view name, Json argument) {
    return {{"title", title}, {"command", name}, {"arguments", Json::array({std::move(argument)})}};
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string describe(const RunningPlace& place, const std::string& path) {
    std::string out = place.program.empty() ? "" : place.program;
    if (!place.processes.empty())
        out += fmt::format(" (process {}{})", place.processes[0],
                           place.processes.size() > 1 ? fmt::format(" and {} more", place.processes.size() - 1) : "");
    return place.source == path ? out : fmt::format("{}, built from {}", out, place.source);
}

// Whether the text in the editor is not the one of the file.
bool is_unsaved(const Document* document, const std::string& path) {
    const Result<std::string> saved = document ? read_file(path) : Result<std::string>(std::string());
    return document && saved && *saved != document->text.bytes();
}

} // namespace

std::string LogPoints::configure(const Json& params) {
    if (const Json* options = find_member(params, "initializationOptions"); options && options->is_object())
        defaults_ = *options;
    const auto read = read_log_request({{"uri", "file:///a"}, {"line", 0}}, defaults_);
    if (const Failure* wrong = std::get_if<Failure>(&read))
        return "`initializationOptions`: " + wrong->message;
    if (const Json* hints = find_member(defaults_, "inlayHints")) {
        if (!hints->is_boolean())
            return "`initializationOptions`: `inlayHints`: expected true or false";
        has_hints_ = hints->get<bool>();
    }
    if (const Json* lenses = find_member(defaults_, "codeLenses")) {
        if (!lenses->is_boolean())
            return "`initializationOptions`: `codeLenses`: expected true or false";
        has_lenses_ = lenses->get<bool>();
    }
    const Json* found = &params;
    for (const std::string_view name : {"capabilities", "workspace", "inlayHint", "refreshSupport"})
        found = found ? find_member(*found, name) : nullptr;
    can_refresh_ = has_hints_ && found && *found == true;
    return "";
}

Json LogPoints::capabilities() const {
    Json out = {{"positionEncoding", "utf-16"},
                {"textDocumentSync", {{"openClose", true}, {"change", 2}}},
                {"codeActionProvider", true},
                {"executeCommandProvider", {{"commands", {start_command, stop_command, stop_all_command}}}}};
    if (has_hints_)
        out["inlayHintProvider"] = true;
    if (has_lenses_)
        out["codeLensProvider"] = Json::object();
    return out;
}

// ---- requests

std::optional<Answer> LogPoints::answer(std::string_view method, const Json& params) {
    if (method == "workspace/executeCommand")
        return execute(params);
    if (method == "textDocument/codeAction")
        return find_actions(params);
    if (method == "textDocument/codeLens" && has_lenses_)
        return find_lenses(params);
    if (method == "textDocument/inlayHint" && has_hints_)
        return find_hints(params);
    return std::nullopt;
}

Answer LogPoints::execute(const Json& params) {
    const std::string name = text_member(params, "command").value_or("");
    const Json* arguments = find_member(params, "arguments");
    const Json argument = arguments && arguments->is_array() && !arguments->empty() ? (*arguments)[0] : Json();
    if (name == start_command)
        return start(argument);
    if (name == stop_command)
        return stop(argument);
    if (name != stop_all_command)
        return Failure{ErrorCode::InvalidParams, fmt::format("there is no command `{}`; expected `{}`, `{}` or `{}`",
                                                             name, start_command, stop_command, stop_all_command)};
    for (LogPoint& point : points_)
        remove(point);
    return Json();
}

Answer LogPoints::start(const Json& argument) {
    auto read = read_log_request(argument, defaults_);
    if (const Failure* wrong = std::get_if<Failure>(&read))
        return *wrong;
    const size_t running = static_cast<size_t>(std::ranges::count_if(
        points_, [](const LogPoint& one) { return one.state != LogPoint::State::Ended && !one.is_removed; }));
    if (running >= most_running)
        return Failure{ErrorCode::RequestFailed, fmt::format("{} log points are running; stop one of them", running)};
    LogRequest& wanted = std::get<LogRequest>(read);
    for (LogPoint& other : points_) // a new one replaces it
        if (other.wanted.uri == wanted.uri && other.line == wanted.line)
            remove(other);
    LogPoint& point = points_.emplace_back();
    point.id = ++last_id_;
    point.wanted = std::move(wanted);
    point.line = point.wanted.line;
    if (is_unsaved(documents_.find(point.wanted.uri), point.wanted.path)) {
        point.messages.push_back(fmt::format("`{}` has changes that are not saved, so its lines may be others than "
                                             "those of the program",
                                             name_of(point.wanted.path)));
        say(Warning, point.messages.back());
    }
    if (Result<void> begun = point.begin_search(); !begun)
        end_with(point, begun.error().message);
    note_change_of(point);
    return Json{{"id", point.id}};
}

Answer LogPoints::stop(const Json& argument) {
    const std::optional<int64_t> id = number_member(argument, "id"), line = number_member(argument, "line");
    const std::optional<std::string> uri = text_member(argument, "uri");
    if (!id && !(uri && line))
        return Failure{ErrorCode::InvalidParams,
                       "expected {\"id\": NUMBER} or {\"uri\": URI, \"line\": NUMBER} as the command's argument"};
    bool is_found = false;
    for (LogPoint& point : points_) {
        if (point.is_removed || (id ? point.id != *id : point.wanted.uri != *uri || point.line != *line))
            continue;
        is_found = true;
        if (point.state == LogPoint::State::Ended)
            remove(point);
        else
            point.stop();
        note_change_of(point);
    }
    if (!is_found)
        return Failure{ErrorCode::RequestFailed, "no log point is here"};
    return Json();
}

std::variant<LogPoints::OpenRange, Failure> LogPoints::read_range(const Json& params) const {
    const Json* range = find_member(params, "range");
    const std::optional<Span> span = range ? read_span(*range) : std::nullopt;
    const std::string uri = uri_in(params);
    const Document* document = documents_.find(uri);
    if (!span)
        return Failure{ErrorCode::InvalidParams, "expected a range in the parameters"};
    if (!document)
        return Failure{ErrorCode::InvalidParams, fmt::format("the document `{}` is not open", uri)};
    return OpenRange{uri, document, *span};
}

Answer LogPoints::find_hints(const Json& params) const {
    const std::variant<OpenRange, Failure> range = read_range(params);
    if (const Failure* failure = std::get_if<Failure>(&range))
        return *failure;
    const auto& [uri, document, span] = std::get<OpenRange>(range);
    Json out = Json::array();
    for (const LogPoint& point : points_) {
        if (point.is_removed || point.wanted.uri != uri || point.line < span.begin.line || point.line > span.end.line)
            continue;
        const Position end{static_cast<uint32_t>(point.line), UINT32_MAX};
        out.push_back({{"position", to_json(document->text.position(document->text.offset(end)))},
                       {"label", point.label()},
                       {"tooltip", point.tooltip()},
                       {"paddingLeft", true}});
    }
    return out;
}

Answer LogPoints::find_actions(const Json& params) const {
    const std::variant<OpenRange, Failure> range = read_range(params);
    if (const Failure* failure = std::get_if<Failure>(&range))
        return *failure;
    const auto& [uri, document, span] = std::get<OpenRange>(range);
    Json out = Json::array();
    const Json* context = find_member(params, "context");
    const Json* only = context ? find_member(*context, "only") : nullptr;
    constexpr int64_t automatic = 2; // the editor asks at each move of the cursor
    if ((context && number_member(*context, "triggerKind") == automatic) ||
        (only && only->is_array() && !only->empty()))
        return out;
    const int64_t line = span.begin.line;
    const auto here = std::ranges::find_if(
        points_, [&](const LogPoint& one) { return !one.is_removed && one.wanted.uri == uri && one.line == line; });
    if (here != points_.end())
        out.push_back(command(here->state == LogPoint::State::Ended ? "Clear the log point (sonde)"
                                                                    : "Stop the log point (sonde)",
                              stop_command, {{"id", here->id}}));
    out.push_back(command("Log the variables here (sonde)", start_command, {{"uri", uri}, {"line", line}}));
    const size_t begin = document->text.offset({span.begin.line, 0}),
                 end = document->text.offset({span.begin.line, UINT32_MAX});
    const bool is_one_line = span.begin.line == span.end.line;
    const size_t from = document->text.offset(span.begin) - begin,
                 to = is_one_line ? document->text.offset(span.end) - begin : from;
    if (const std::string text = expression_at(document->text.bytes().substr(begin, end - begin), from, to);
        !text.empty() && !uri.ends_with(".py"))
        out.push_back(command(fmt::format("Log `{}` here (sonde)", text), start_command,
                              {{"uri", uri}, {"line", line}, {"expressions", text}}));
    return out;
}

// A lens above each function. It logs at the function's first line, where the parameters have their values; in Python
// at `def`, because sonde logs Python only where functions begin.
Answer LogPoints::find_lenses(const Json& params) const {
    const std::string uri = uri_in(params);
    const Document* document = documents_.find(uri);
    if (!document)
        return Failure{ErrorCode::InvalidParams, fmt::format("the document `{}` is not open", uri)};
    Json out = Json::array();
    for (const SourceFunction& function : find_functions(document->text.bytes(), language_of_file(uri))) {
        const Position name{function.line, 0};
        out.push_back({{"range", to_json(name, name)},
                       {"command", command("log here", start_command, {{"uri", uri}, {"line", function.first_line}})}});
    }
    return out;
}

void LogPoints::note_change(const Json& params) {
    const std::string uri = uri_in(params);
    const Json* changes = find_member(params, "contentChanges");
    if (!changes || !changes->is_array())
        return;
    for (const Json& change : *changes) {
        const Json* range = find_member(change, "range");
        const std::optional<Span> span = range ? read_span(*range) : std::nullopt;
        if (!span)
            continue;
        const std::string text = text_member(change, "text").value_or("");
        const int64_t begin = span->begin.line, end = span->end.line,
                      moved = std::ranges::count(text, '\n') - (end - begin);
        for (LogPoint& point : points_) {
            // Lines after the change move. A line that it begins in stays, unless its beginning moves.
            const bool is_after =
                point.line > end || (point.line == end && (begin < end || span->begin.character == 0));
            if (point.wanted.uri != uri || !is_after || moved == 0)
                continue;
            point.line = std::max(begin, point.line + moved);
            note_change_of(point);
        }
    }
}

void LogPoints::note_close(const std::string& uri) {
    for (LogPoint& point : points_)
        if (point.wanted.uri == uri && point.state == LogPoint::State::Ended)
            remove(point);
}

// ---- the life of a log point

void LogPoints::end_with(LogPoint& point, const std::string& why) {
    point.fail(why);
    say(Problem, fmt::format("{}:{}: {}", name_of(point.wanted.path), point.wanted.line + 1, why));
    note_change_of(point);
}

void LogPoints::begin(LogPoint& point) {
    if (point.place.line != point.wanted.line + 1) {
        point.messages.push_back(
            point.function.empty()
                ? fmt::format("line {} has no code; sonde uses line {}", point.wanted.line + 1, point.place.line)
                : fmt::format("sonde logs Python only where a function begins: `{}`, line {}", point.function,
                              point.place.line));
        say(Information, fmt::format("{}: {}", name_of(point.wanted.path), point.messages.back()));
    }
    if (Result<void> begun = point.begin_session(words_); !begun)
        end_with(point, begun.error().message);
    note_change_of(point);
}

void LogPoints::choose(LogPoint& point) {
    const bool is_clear = point.places.size() == 1 && (point.places[0].is_same_file || !point.wanted.program.empty());
    if (!is_clear)
        return ask(point);
    point.place = point.places[0];
    begin(point);
}

void LogPoints::ask(LogPoint& point) {
    point.state = LogPoint::State::Asking;
    Json actions = Json::array();
    for (const RunningPlace& place : point.places)
        if (actions.size() < most_choices)
            actions.push_back({{"title", describe(place, point.wanted.path)}});
    const std::string name = name_of(point.wanted.path);
    std::string message = point.places[0].is_same_file
                              ? fmt::format("Several programs that run have `{}`. Log in which one?", name)
                              : fmt::format("No program that runs was built from `{}`. Log in one with another `{}`?",
                                            point.wanted.path, name);
    if (!point.function.empty() && !point.places[0].is_same_file)
        message = fmt::format("No process has `{}` as its script. Which one has imported it?", name);
    if (point.places.size() > most_choices)
        message += fmt::format(" ({} more are not in the list)", point.places.size() - most_choices);
    send_({{"jsonrpc", "2.0"},
           {"id", fmt::format("sonde-choice-{}", point.id)},
           {"method", "window/showMessageRequest"},
           {"params", {{"type", Information}, {"message", message}, {"actions", std::move(actions)}}}});
    note_change_of(point);
}

void LogPoints::handle_reply(const Json& id, const Json& result) {
    if (id == "sonde-refresh") {
        awaits_refresh_ = false;
        return;
    }
    for (LogPoint& point : points_) {
        if (id != fmt::format("sonde-choice-{}", point.id) || point.state != LogPoint::State::Asking)
            continue;
        const std::string title = text_member(result, "title").value_or("");
        const auto chosen = std::ranges::find_if(
            point.places, [&](const RunningPlace& place) { return describe(place, point.wanted.path) == title; });
        if (chosen == point.places.end())
            return end_with(point, "no program was chosen");
        point.place = *chosen;
        return begin(point);
    }
}

void LogPoints::remove(LogPoint& point) {
    point.is_removed = true;
    point.stop();
    note_change_of(point);
}

void LogPoints::say(int severity, const std::string& message) {
    send_(make_notification("window/showMessage", {{"type", severity}, {"message", "sonde: " + message}}));
}

// ---- the loop

void LogPoints::add_descriptors(std::vector<pollfd>& out) const {
    for (const LogPoint& point : points_) {
        if (point.search)
            out.push_back({point.search->descriptor(), POLLIN, 0});
        if (!point.session)
            continue;
        for (const int fd : point.session->descriptors())
            out.push_back({fd, POLLIN, 0});
        for (const Fd& process : point.processes)
            out.push_back({process.get(), POLLIN, 0});
    }
}

std::optional<Clock::time_point> LogPoints::wake_up() const {
    std::optional<Clock::time_point> next;
    const auto add = [&](Clock::time_point at) { next = next ? std::min(*next, at) : at; };
    for (const LogPoint& point : points_)
        if (point.session)
            add(point.session->wake_up());
    if (!changed_.empty())
        add(next_states_);
    if (hints_changed_ && !awaits_refresh_)
        add(next_refresh_);
    return next;
}

void LogPoints::watch_processes(LogPoint& point, const std::function<bool(int)>& is_ready) {
    const size_t before = point.processes.size();
    std::erase_if(point.processes, [&](const Fd& process) { return is_ready(process.get()); });
    if (!point.processes.empty() || before == 0)
        return;
    if (point.wanted.pid != 0 || !point.function.empty())
        return point.stop("ended: the process has exited");
    point.messages.push_back(
        fmt::format("`{}` has exited; the log point waits for its next start", name_of(point.place.program)));
    say(Information, point.messages.back());
    note_change_of(point);
}

void LogPoints::advance(LogPoint& point, const std::function<bool(int)>& is_ready) {
    if (point.search && is_ready(point.search->descriptor()) && !point.search->read_some()) {
        if (const std::string why = point.finish_search(); !why.empty())
            end_with(point, why);
        else
            choose(point);
    }
    if (!point.session)
        return;
    std::vector<std::string> fresh;
    const bool runs = point.session->advance();
    if (point.read_session(fresh))
        note_change_of(point);
    if (!runs) {
        point.finish_session(fresh);
        if (point.has_failed && !point.is_removed)
            end_with(point, point.reason);
        note_change_of(point);
    } else {
        watch_processes(point, is_ready);
    }
    for (const std::string& message : fresh)
        if (!point.is_removed)
            say(Warning, fmt::format("{}:{}: {}", name_of(point.wanted.path), point.line + 1, message));
}

void LogPoints::advance(const std::function<bool(int)>& is_ready) {
    for (LogPoint& point : points_)
        advance(point, is_ready);
    const Clock::time_point now = Clock::now();
    if (!changed_.empty() && now >= next_states_)
        send_states();
    if (hints_changed_ && !awaits_refresh_ && now >= next_refresh_)
        send_refresh();
    std::erase_if(points_, [&](const LogPoint& point) {
        return point.is_removed && point.state == LogPoint::State::Ended && !point.session &&
               !changed_.contains(point.id);
    });
}

void LogPoints::send_states() {
    for (LogPoint& point : points_)
        if (changed_.contains(point.id))
            send_(make_notification("sonde/logPoint", point.take_state()));
    changed_.clear();
    hints_changed_ = can_refresh_;
    next_states_ = Clock::now() + between_states;
}

void LogPoints::send_refresh() {
    send_({{"jsonrpc", "2.0"}, {"id", "sonde-refresh"}, {"method", "workspace/inlayHint/refresh"}});
    hints_changed_ = false;
    awaits_refresh_ = true;
    next_refresh_ = Clock::now() + between_refreshes;
}

} // namespace sonde::lsp
