#include "driver/lsp/log_point.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "driver/lsp/documents.h"
#include "driver/rpc/session_messages.h"

namespace sonde::lsp {
namespace {

constexpr size_t most_recent = 10;            // lines of the tooltip
constexpr size_t most_unsent = 200;           // lines of a notification
constexpr size_t most_label = 120;            // bytes of values at the end of a line
constexpr size_t most_processes = 64;         // whose end is noticed
constexpr uint64_t most_waiting = 4ULL << 20; // bytes of output
constexpr int64_t longest = 3600, fastest = 10'000, most_lines = 1'000'000;

bool is_python(const std::string& path) { return path.ends_with(".py"); }

bool is_name(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view trim(std::string_view text) {
    const size_t begin = std::min(text.find_first_not_of(" \t\r\n;"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t\r\n;") + 1 - begin);
}

// Cuts a text in UTF-8 to at most `size` bytes.
std::string cut(std::string text, size_t size) {
    if (text.size() <= size)
        return text;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
        size--;
    return text.substr(0, size) + "…";
}

// The label is on one line.
std::string on_one_line(std::string text) {
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
    return text;
}

std::string counted(int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// A message of a session without the source lines of the script, which the user does not know.
std::string plain(const std::string& message) {
    std::string out;
    for (const std::string& line : rpc::lines_of(message)) {
        const size_t at = line.find_first_not_of(" 0123456789");
        const bool is_source = at != std::string::npos && (line[at] == '|' || line.compare(at, 3, "-->") == 0);
        // The user sees neither the script nor the command line.
        const bool is_usage =
            line.find("sonde log [options]") != std::string::npos || line.starts_with("help: that is in function");
        if (!is_source && !is_usage && at != std::string::npos)
            out += (out.empty() ? "" : "\n") + line;
    }
    // The place in the script is that of all log points.
    if (const size_t at = out.find(" at <log>:"); at != std::string::npos)
        out.erase(at, out.find(' ', at + 4) - at);
    for (const std::string_view word : {"ERROR: ", "WARNING: ", "sonde: ", "FORMAT: ", "PLACE: ", "--if CONDITION: "})
        if (out.starts_with(word))
            out.erase(0, word.size());
    const size_t end = out.find("]: ");
    return out.starts_with("error[") && end != std::string::npos ? out.substr(end + 3) : out;
}

// Messages that only repeat what the editor shows anyway.
bool is_needless(std::string_view message) {
    return message.starts_with("Pass ") || message.starts_with("See sonde ") ||
           message.starts_with("sonde: `") || // `FILE:LINE` is in PROGRAM
           message.ends_with(" (--max)") ||   // the reason of the end
           message.starts_with("WARNING: no probe was hit");
}

Failure wrong(const std::string& message) { return {ErrorCode::InvalidParams, message}; }

} // namespace

std::variant<LogRequest, Failure> read_log_request(const Json& argument, const Json& defaults) {
    if (!argument.is_object())
        return wrong("expected an object as the command's argument: {\"uri\": URI, \"line\": NUMBER}");
    const auto member = [&](std::string_view name) {
        const Json* own = find_member(argument, name);
        return own && !own->is_null() ? own : find_member(defaults, name);
    };
    LogRequest out;
    out.uri = text_member(argument, "uri").value_or("");
    out.path = path_of_uri(out.uri);
    if (out.path.empty())
        return wrong("`uri`: expected the URI of a file, such as file:///src/shop.c");
    const std::optional<int64_t> line = number_member(argument, "line");
    if (!line || *line < 0 || *line > 100'000'000)
        return wrong("`line`: expected the number of a line, from 0");
    out.line = *line;
    for (const auto& [name, text] : {std::pair("expressions", &out.expressions), {"condition", &out.condition}})
        if (const Json* value = find_member(argument, name); value && !value->is_null()) {
            if (!value->is_string())
                return wrong(fmt::format("`{}`: expected a string", name));
            *text = trim(value->get<std::string>());
        }
    if (const Json* program = member("program"); program && !program->is_null()) {
        if (!program->is_string())
            return wrong("`program`: expected a string");
        out.program = program->get<std::string>();
    }
    struct Number {
        std::string_view name;
        int64_t *value, most;
    };
    for (const Number& one : {Number{"pid", &out.pid, 1LL << 22}, Number{"seconds", &out.seconds, longest},
                              Number{"limit", &out.limit, fastest}, Number{"max", &out.most, most_lines}}) {
        const Json* given = one.name == "pid" ? find_member(argument, one.name) : member(one.name);
        if (!given || given->is_null())
            continue;
        if (!given->is_number_integer() || given->get<int64_t>() < 1 || given->get<int64_t>() > one.most)
            return wrong(fmt::format("`{}`: expected a whole number from 1 to {}, got {}", one.name, one.most,
                                     json_text(*given)));
        *one.value = given->get<int64_t>();
    }
    return out;
}

std::string format_of_expressions(const std::string& expressions) {
    if (expressions.empty())
        return "{*}";
    if (expressions.find_first_of("{}") != std::string::npos)
        return expressions;
    std::string out;
    char quote = 0;
    int depth = 0;
    for (size_t begin = 0, at = 0; at <= expressions.size(); at++) {
        const char c = at < expressions.size() ? expressions[at] : ',';
        if (quote && at < expressions.size()) {
            quote = c == quote ? '\0' : quote;
            continue;
        }
        quote = c == '"' || c == '\'' ? c : '\0';
        depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
        if (c != ',' || (depth > 0 && at < expressions.size()))
            continue;
        const std::string one(trim(std::string_view(expressions).substr(begin, at - begin)));
        std::string name = one;
        std::erase(name, '\\');
        out += fmt::format("{}{}={{{}}}", out.empty() ? "" : " ", name, one);
        begin = at + 1;
    }
    return out;
}

std::string expression_at(const std::string& line, size_t begin, size_t end) {
    begin = std::min(begin, line.size());
    end = std::min(end, line.size());
    if (begin < end)
        return std::string(trim(std::string_view(line).substr(begin, end - begin)));
    while (end < line.size() && is_name(line[end]))
        end++;
    const auto back_to_name = [&](size_t from) {
        while (from > 0 && is_name(line[from - 1]))
            from--;
        return from;
    };
    begin = back_to_name(begin);
    if (begin == end || isdigit(static_cast<unsigned char>(line[begin])))
        return "";
    const size_t next = line.find_first_not_of(" \t", end);
    if (next != std::string::npos && line[next] == '(')
        return ""; // a function
    while (true) { // the members before it
        size_t from = begin;
        if (from >= 2 && line.compare(from - 2, 2, "->") == 0)
            from -= 2;
        else if (from >= 1 && line[from - 1] == '.')
            from--;
        else
            break;
        const size_t name = back_to_name(from);
        if (name == from || isdigit(static_cast<unsigned char>(line[name])))
            return ""; // a member of something else, such as the result of a call
        begin = name;
    }
    constexpr std::string_view keywords[] = {
        "return",    "if",     "else",     "for",    "while",   "do",    "switch", "case",  "break",   "continue",
        "int",       "char",   "void",     "float",  "double",  "long",  "short",  "const", "struct",  "unsigned",
        "signed",    "static", "sizeof",   "auto",   "bool",    "class", "enum",   "goto",  "new",     "delete",
        "namespace", "using",  "template", "public", "private", "let",   "mut",    "fn",    "match",   "impl",
        "pub",       "use",    "loop",     "func",   "var",     "range", "defer",  "go",    "package", "import",
        "type",      "def",    "lambda",   "yield",  "raise",   "try",   "except", "with",  "pass",    "from",
        "not",       "and",    "or",       "in",     "is",      "elif"};
    std::string out = line.substr(begin, end - begin);
    return std::ranges::find(keywords, out) == std::end(keywords) ? out : "";
}

Json find_log_places(const LogRequest& request) {
    const int line = static_cast<int>(request.line) + 1;
    Json out = {{"places", Json::array()}};
    RunningPlaces found;
    if (is_python(request.path)) {
        Result<PythonLogPlace> place = find_python_place(request.path, line);
        if (!place)
            return {{"why", place.error().message}};
        if (request.pid != 0)
            found.places.push_back({"", {request.pid}, request.path, 0, true});
        else
            found = find_running_python(request.path);
        out["function"] = place->function;
        for (RunningPlace& one : found.places)
            one.line = place->line;
    } else if (!request.program.empty()) {
        Result<RunningPlaces> places = find_places_in(request.program, request.path, line);
        if (!places)
            return {{"why", places.error().message}};
        found = *std::move(places);
    } else {
        found = find_running_places(request.path, line);
        if (request.pid != 0)
            std::erase_if(found.places, [&](const RunningPlace& one) {
                return std::ranges::find(one.processes, request.pid) == one.processes.end();
            });
        if (found.places.empty() && found.why_none.empty())
            found.why_none = fmt::format("process {} has no debug information about `{}`", request.pid, request.path);
    }
    for (const RunningPlace& one : found.places)
        out["places"].push_back({{"program", one.program},
                                 {"processes", one.processes},
                                 {"source", one.source},
                                 {"line", one.line},
                                 {"same", one.is_same_file}});
    out["why"] = found.why_none;
    return out;
}

Result<void> LogPoint::begin_search() {
    Result<rpc::Worker> worker = rpc::Worker::start([this] { return json_text(find_log_places(wanted)); });
    if (!worker)
        return std::move(worker).error();
    search.emplace(*std::move(worker));
    return {};
}

std::string LogPoint::finish_search() {
    const Result<std::string> text = search->finish();
    search.reset();
    if (!text)
        return "the search for the program failed: " + text.error().message;
    const Json found = Json::parse(*text, nullptr, false);
    const Json* list = find_member(found, "places");
    if (!list || list->empty())
        return text_member(found, "why").value_or("the search for the program failed");
    function = text_member(found, "function").value_or("");
    for (const Json& one : *list)
        places.push_back({one["program"].get<std::string>(), one["processes"].get<std::vector<int64_t>>(),
                          one["source"].get<std::string>(), one["line"].get<int>(), one["same"].get<bool>()});
    return "";
}

Result<void> LogPoint::begin_session(const std::vector<std::string>& words) {
    line += place.line - 1 - wanted.line;
    rpc::ChildSetting setting;
    setting.words = {"log"};
    setting.words.insert(setting.words.end(), words.begin(), words.end());
    for (std::string word : {fmt::format("--for={}s", wanted.seconds), fmt::format("--max={}", wanted.most),
                             fmt::format("--limit={}", wanted.limit), std::string("--json"),
                             fmt::format("--report=/proc/self/fd/{}", rpc::report_descriptor),
                             fmt::format("--ready-descriptor={}", rpc::ready_descriptor)})
        setting.words.push_back(std::move(word));
    if (!wanted.condition.empty())
        setting.words.push_back("--if=" + wanted.condition);
    const bool of_python = !function.empty();
    if (wanted.pid != 0 || of_python)
        setting.words.push_back(fmt::format("--pid={}", wanted.pid != 0 ? wanted.pid : place.processes[0]));
    const std::string at = of_python ? function : std::to_string(place.line);
    setting.words.insert(setting.words.end(),
                         {"--", fmt::format("{}:{}", place.source, at), format_of_expressions(wanted.expressions)});
    if (!of_python)
        setting.words.push_back(place.program);
    setting.output_bytes = most_waiting;
    setting.seconds = static_cast<double>(wanted.seconds);
    Result<rpc::Child> child = rpc::Child::start(std::move(setting));
    if (!child)
        return std::move(child).error();
    session.emplace(*std::move(child));
    state = State::Starting;
    for (const int64_t process : place.processes)
        if (processes.size() < most_processes)
            if (Fd fd(static_cast<int>(syscall(SYS_pidfd_open, process, 0))); fd)
                processes.push_back(std::move(fd));
    return {};
}

bool LogPoint::add_lines(const std::string& output) {
    bool is_new = false;
    for (const std::string& text : rpc::lines_of(output)) {
        const Json record = Json::parse(text, nullptr, false);
        if (text_member(record, "type") != "print")
            continue;
        const Json* task = find_member(record, "task");
        Line one{number_member(record, "time").value_or(0), task ? number_member(*task, "pid").value_or(0) : 0,
                 task ? text_member(*task, "name").value_or("") : "",
                 on_one_line(text_member(record, "text").value_or(""))};
        count++;
        is_new = true;
        recent.push_back(one);
        if (recent.size() > most_recent)
            recent.pop_front();
        if (unsent.size() < most_unsent)
            unsent.push_back(std::move(one));
        else
            omitted++;
    }
    return is_new;
}

bool LogPoint::add_messages(const std::string& errors, std::vector<std::string>& fresh) {
    const size_t end = std::max(errors.rfind('\n') + 1, messages_read_);
    const std::string text = errors.substr(messages_read_, end - messages_read_);
    messages_read_ = end;
    bool is_new = false;
    for (const std::string& message : rpc::messages_of(text)) {
        if (rpc::is_cost(message)) {
            cost = message;
            continue;
        }
        if (is_needless(message))
            continue;
        std::string text = plain(message);
        if (std::ranges::find(messages, text) != messages.end())
            continue; // it is repeated at the end, or for another use of the same variable
        messages.push_back(text);
        fresh.push_back(std::move(text));
        is_new = true;
    }
    return is_new;
}

bool LogPoint::read_session(std::vector<std::string>& fresh_messages) {
    bool is_new = add_lines(session->take_lines());
    // Before the probes are armed, the messages can be those of a failure. It is reported as a whole.
    if (session->is_armed()) {
        is_new = add_messages(session->errors(), fresh_messages) || is_new;
        if (state == State::Starting) {
            state = State::Armed;
            is_new = true;
        }
    }
    return is_new;
}

void LogPoint::finish_session(std::vector<std::string>& fresh_messages) {
    add_lines(session->take_lines());
    const rpc::Outcome outcome = session->finish();
    session.reset();
    processes.clear();
    std::vector<std::string> last;
    add_messages(outcome.errors, last);
    state = State::Ended;
    if (outcome.ended_by == rpc::EndedBy::Cancelled) {
        // `reason` is known.
    } else if (!outcome.was_armed) {
        has_failed = true;
        reason = "";
        for (const std::string& message : last)
            reason += (reason.empty() ? "" : "\n") + message;
        if (outcome.ended_by == rpc::EndedBy::Startup)
            reason = "the search for the line in the program took too long";
        if (reason.empty())
            reason = fmt::format("sonde ended with status {}", outcome.status);
        messages.clear();
        return;
    } else if (count >= static_cast<uint64_t>(wanted.most)) {
        reason = fmt::format("ended after {}", counted(wanted.most, "value"));
    } else if (outcome.armed_s >= static_cast<double>(wanted.seconds)) {
        const Json report = Json::parse(outcome.report, nullptr, false);
        const Json* sum = find_member(report, "sum");
        const bool was_hit = count > 0 || !sum || number_member(*sum, "hits") != 0;
        reason = fmt::format("ended after {} s{}", wanted.seconds, was_hit ? "" : ": the line was not executed");
    } else {
        reason = messages.empty() ? "ended" : "ended: " + messages.back();
    }
    fresh_messages.insert(fresh_messages.end(), last.begin(), last.end());
}

void LogPoint::fail(const std::string& why) {
    state = State::Ended;
    has_failed = true;
    reason = why;
}

void LogPoint::stop(const std::string& why) {
    if (state != State::Ended)
        reason = why;
    if (session) {
        session->cancel();
        return;
    }
    search.reset();
    state = State::Ended;
}

std::string LogPoint::label() const {
    const std::string values = recent.empty() ? "" : cut(recent.back().text, most_label);
    const std::string times = count > 1 ? fmt::format("  ×{}", count) : "";
    switch (state) {
    case State::Searching:
    case State::Starting:
        return "sonde: starting …";
    case State::Asking:
        return "sonde: which program?";
    case State::Armed:
        return values.empty() ? "sonde: no hit yet" : values + times;
    case State::Ended:
        break;
    }
    const std::string why = cut(reason.substr(0, reason.find('\n')), most_label);
    return values.empty() ? "sonde: " + why : fmt::format("{}{}  ({})", values, times, why);
}

std::string LogPoint::tooltip() const {
    std::string out;
    for (const Line& one : recent)
        out += fmt::format("{}[{}] {}\n", one.name, one.pid, one.text);
    for (const std::string& message : messages)
        out += message + "\n";
    for (const std::string* one : {&reason, &cost})
        if (!one->empty())
            out += *one + "\n";
    return out;
}

Json LogPoint::take_state() {
    constexpr std::string_view names[] = {"starting", "asking", "starting", "armed", "ended"};
    Json lines = Json::array();
    for (const Line& one : unsent)
        lines.push_back({{"time", one.time}, {"pid", one.pid}, {"name", one.name}, {"text", one.text}});
    Json out = {{"id", id},
                {"uri", wanted.uri},
                {"line", line},
                {"state", is_removed ? "removed" : names[static_cast<size_t>(state)]},
                {"label", label()},
                {"text", recent.empty() ? "" : recent.back().text},
                {"count", count},
                {"lines", std::move(lines)},
                {"omitted", std::exchange(omitted, 0)},
                {"messages", messages},
                {"program", place.program},
                {"processes", place.processes}};
    unsent.clear();
    if (state == State::Ended) {
        out["reason"] = reason;
        out["failed"] = has_failed;
        out["cost"] = cost;
    }
    return out;
}

} // namespace sonde::lsp
