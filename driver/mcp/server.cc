// One thread waits for messages and for child processes. It never reads a program or translates a script itself. Tools
// run in children, so a cancel request or the end of the client ends them, and a crash costs one answer.
#include "driver/mcp/server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <list>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "driver/mcp/documents.h"
#include "driver/mcp/lines.h"
#include "driver/mcp/schema.h"
#include "driver/mcp/tool.h"
#include "driver/pass.h"
#include "driver/policy.h"
#include "driver/rpc/child.h"
#include "driver/rpc/message.h"
#include "driver/rpc/worker.h"

namespace sonde::mcp {
namespace {

using rpc::Answer;
using rpc::ErrorCode;
using rpc::Failure;
using std::chrono::milliseconds;

// The first one is offered if the client asks for an unknown one.
constexpr std::string_view versions[] = {"2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"};

constexpr size_t most_jobs = 64;   // at the same time, with the waiting ones
constexpr size_t most_workers = 8; // running ones
constexpr milliseconds progress_interval{1'000};
constexpr milliseconds longest_worker{120'000};
constexpr size_t most_output = size_t{8} << 20; // bytes that wait for the client
constexpr milliseconds last_write{1'000};       // when the server ends
constexpr milliseconds last_end{3'000};         // of children, then

constexpr std::string_view instructions =
    "sonde traces running programs and the Linux kernel without changing or restarting them. It shows functions with "
    "their values and times, and the places where threads wait.\n"
    "1. find_programs and find_points show what can be probed; explain_variable shows where a value is.\n"
    "2. log_point and run_tool answer most questions without a script.\n"
    "3. Before you write a script, read the topic `llms.txt` with read_docs. Repeat check_script until it reports no "
    "error.\n"
    "Each session ends by time and by the size of its output. Read `ended_by`, `losses` and `messages` before you draw "
    "conclusions: with losses, counts are lower bounds.";

// A tool call that takes time.
struct Job {
    Json id, progress_token; // null: no progress is wanted
    std::variant<ChildTask, WorkerTask> task;
    std::optional<Child> child;
    std::optional<rpc::Worker> worker;
    Clock::time_point begin = Clock::now(), told = begin; // `told`: the last progress
    bool is_cancelled = false;

    bool is_running() const { return child || worker; }
    bool is_session() const {
        const ChildTask* given = std::get_if<ChildTask>(&task);
        return given && given->setting.seconds;
    }
};

// Signals that end the server and its children.
volatile std::sig_atomic_t ended_by_signal = 0;
void note_signal(int) { ended_by_signal = 1; }

class Server {
  public:
    explicit Server(Policies policies) : policies_(std::move(policies)) {}
    int run();

  private:
    void send(const Json& message) { output_ += json_text(message) + "\n"; }
    void answer(const Json& id, const Answer& answer) { send(make_response(id, answer)); }

    // Input.
    void read_input();
    void handle_text(const std::string& text);
    void handle_message(const Json& message);
    void handle_request(const rpc::Call& call);
    Answer initialize(const Json& params);
    Json list_tools() const;
    void call_tool(const Json& id, const Json& params);
    void cancel(const Json& params);

    void write_some();
    void write_rest();

    // Jobs.
    void begin_jobs();
    Result<void> begin(Job& job);
    void finish(Job& job);
    void advance_jobs();
    void tell_progress(Job& job);
    void end_children();
    int time_to_wait() const;

    const Policies policies_;
    bool is_initialized_ = false;
    bool is_over_ = false;
    LineReader input_;
    std::string output_;
    size_t written_ = 0;  // bytes of output_
    std::list<Job> jobs_; // those that wait come after those that run
};

// ---- input ----------------------------------------------------------------------------------------------------------

void Server::read_input() {
    char buffer[65536];
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) { // the client has ended the session
        is_over_ = true;
        return;
    }
    input_.feed({buffer, static_cast<size_t>(got)});
    while (true) {
        const LineReader::Next next = input_.next();
        if (std::holds_alternative<LineReader::Incomplete>(next))
            return;
        if (std::holds_alternative<LineReader::TooLong>(next))
            answer(nullptr, Failure{ErrorCode::InvalidRequest,
                                    fmt::format("a message can have {} bytes; a longer one was skipped", max_message)});
        else
            handle_text(std::get<LineReader::Message>(next).body);
    }
}

void Server::handle_text(const std::string& text) {
    const Json message = Json::parse(text, nullptr, false);
    if (message.is_discarded())
        return answer(nullptr, Failure{ErrorCode::ParseError, "expected a line with one JSON object"});
    if (!message.is_array() || message.empty())
        return handle_message(message);
    // A batch (version 2025-03-26). Each request gets a separate response.
    for (const Json& one : message)
        handle_message(one);
}

void Server::handle_message(const Json& message) {
    const auto read = rpc::read_message(message);
    if (const auto* bad = std::get_if<rpc::BadMessage>(&read))
        return answer(bad->id, bad->failure);
    const auto* call = std::get_if<rpc::Call>(&read);
    if (!call)
        return;
    if (call->is_request())
        handle_request(*call);
    else if (call->method == "notifications/cancelled")
        cancel(call->params);
}

void Server::handle_request(const rpc::Call& call) {
    const auto& [id, method, params] = call;
    if (std::ranges::find(jobs_, id, &Job::id) != jobs_.end())
        return answer(id, Failure{ErrorCode::InvalidRequest, "a request with this `id` is still running"});
    if (method == "ping")
        return answer(id, Json::object());
    if (method == "initialize")
        return answer(id, initialize(params));
    if (!is_initialized_)
        return answer(id, Failure{ErrorCode::InvalidRequest, "expected `initialize` as the first request"});
    if (method == "tools/list")
        return answer(id, Json{{"tools", list_tools()}});
    if (method == "tools/call")
        return call_tool(id, params);
    if (method == "resources/list")
        return answer(id, Json{{"resources", list_resources()}});
    if (method == "resources/templates/list")
        return answer(id, Json{{"resourceTemplates", Json::array()}});
    if (method == "resources/read") {
        const std::string uri = rpc::text_member(params, "uri").value_or("");
        const std::optional<Json> contents = read_resource(uri);
        return answer(id, contents ? Answer(Json{{"contents", *contents}})
                                   : Failure{ErrorCode::ResourceNotFound,
                                             fmt::format("unknown resource `{}`; resources/list has all", uri)});
    }
    answer(id, Failure{ErrorCode::MethodNotFound, fmt::format("unknown method `{}`", method)});
}

Answer Server::initialize(const Json& params) {
    if (is_initialized_)
        return Failure{ErrorCode::InvalidRequest, "the server is initialized already"};
    const std::optional<std::string> wanted = rpc::text_member(params, "protocolVersion");
    if (!wanted)
        return Failure{ErrorCode::InvalidParams, "expected `protocolVersion`, a string"};
    is_initialized_ = true;
    const bool is_known = std::ranges::find(versions, *wanted) != std::end(versions);
    return Json{{"protocolVersion", is_known ? *wanted : std::string(versions[0])},
                {"capabilities", {{"tools", Json::object()}, {"resources", Json::object()}}},
                {"serverInfo", {{"name", "sonde"}, {"title", "sonde, a tracer"}, {"version", SONDE_VERSION}}},
                {"instructions", instructions}};
}

Json Server::list_tools() const {
    Json out = Json::array();
    for (const Tool& tool : tools()) {
        Json one = {{"name", tool.name},
                    {"title", tool.title},
                    {"description", tool.description},
                    {"inputSchema", tool.arguments(policies_)}};
        if (tool.result)
            one["outputSchema"] = tool.result();
        one["annotations"] = {{"title", tool.title}, {"readOnlyHint", true}, {"openWorldHint", false}};
        out.push_back(std::move(one));
    }
    return out;
}

void Server::call_tool(const Json& id, const Json& params) {
    const std::optional<std::string> name = rpc::text_member(params, "name");
    const auto tool = std::ranges::find(tools(), name.value_or(""), &Tool::name);
    if (tool == tools().end()) {
        std::vector<std::string> names;
        for (const Tool& one : tools())
            names.emplace_back(one.name);
        return answer(id, Failure{ErrorCode::InvalidParams, fmt::format("unknown tool `{}`; the tools are `{}`",
                                                                        name.value_or(""), fmt::join(names, "`, `"))});
    }
    const Json* given = rpc::find_member(params, "arguments");
    const Json arguments = given && !given->is_null() ? *given : Json::object();
    if (const std::string problem = find_problem(tool->arguments(policies_), arguments, "`arguments`");
        !problem.empty())
        return answer(id, to_json(failed(problem)));
    if (jobs_.size() >= most_jobs)
        return answer(id, to_json(failed(fmt::format("{} calls are running or waiting already", most_jobs))));
    Started started = tool->begin(arguments, policies_);
    if (const ToolResult* result = std::get_if<ToolResult>(&started))
        return answer(id, to_json(*result));
    Job job;
    job.id = id;
    const Json* meta = rpc::find_member(params, "_meta");
    if (const Json* token = meta ? rpc::find_member(*meta, "progressToken") : nullptr)
        job.progress_token = *token;
    if (ChildTask* task = std::get_if<ChildTask>(&started))
        job.task = std::move(*task);
    else
        job.task = std::get<WorkerTask>(std::move(started));
    jobs_.push_back(std::move(job));
}

// A cancelled request has no answer.
void Server::cancel(const Json& params) {
    const Json* id = rpc::find_member(params, "requestId");
    const auto job = id ? std::ranges::find(jobs_, *id, &Job::id) : jobs_.end();
    if (job == jobs_.end())
        return; // it is answered already
    if (!job->child)
        return static_cast<void>(jobs_.erase(job));
    job->is_cancelled = true;
    job->id = nullptr; // the client may use it again
    job->child->cancel();
}

// ---- output ---------------------------------------------------------------------------------------------------------

// Never waits: a client may write a long message before it reads. A pipe that is ready accepts PIPE_BUF bytes.
void Server::write_some() {
    const std::string_view rest = std::string_view(output_).substr(written_);
    const ssize_t written = write(STDOUT_FILENO, rest.data(), std::min<size_t>(rest.size(), PIPE_BUF));
    const bool has_no_reader = written < 0 && errno != EINTR && errno != EAGAIN;
    is_over_ |= has_no_reader;
    if (written > 0)
        written_ += static_cast<size_t>(written);
    // Moving the rest to the front costs time, so do this rarely.
    if (has_no_reader || written_ == output_.size()) {
        output_.clear();
        written_ = 0;
    } else if (written_ >= most_output) {
        output_.erase(0, std::exchange(written_, 0));
    }
}

void Server::write_rest() {
    pollfd ready{STDOUT_FILENO, POLLOUT, 0};
    while (!output_.empty() && poll(&ready, 1, static_cast<int>(last_write.count())) > 0)
        write_some();
}

// ---- jobs -----------------------------------------------------------------------------------------------------------

Result<void> Server::begin(Job& job) {
    if (const ChildTask* task = std::get_if<ChildTask>(&job.task)) {
        Result<Child> child = Child::start(task->setting);
        if (!child)
            return std::move(child).error();
        job.child.emplace(*std::move(child));
        return {};
    }
    Result<rpc::Worker> worker = rpc::Worker::start(std::get<WorkerTask>(job.task).work);
    if (!worker)
        return std::move(worker).error();
    job.worker.emplace(*std::move(worker));
    return {};
}

void Server::begin_jobs() {
    size_t sessions = 0, others = 0;
    for (const Job& job : jobs_)
        (job.is_session() ? sessions : others) += job.is_running() ? 1 : 0;
    const size_t most_sessions = lowest(policies_, &Policy::sessions);
    for (auto job = jobs_.begin(); job != jobs_.end();) {
        const auto next = std::next(job);
        size_t& running = job->is_session() ? sessions : others;
        if (!job->is_running() && running < (job->is_session() ? most_sessions : most_workers)) {
            job->begin = Clock::now();
            if (Result<void> begun = begin(*job)) {
                running++;
            } else {
                answer(job->id, to_json(failed(begun.error().message)));
                jobs_.erase(job);
            }
        }
        job = next;
    }
}

void Server::finish(Job& job) {
    if (job.child) {
        const ChildTask& task = std::get<ChildTask>(job.task);
        Outcome outcome = job.child->finish();
        if (job.is_cancelled)
            return;
        if (outcome.ended_by == EndedBy::Startup && !task.setting.seconds)
            return answer(job.id, to_json(failed(fmt::format("it took more than {} s", task.setting.startup_seconds))));
        return answer(job.id, to_json(task.finish(std::move(outcome))));
    }
    const Result<std::string> text = job.worker->finish();
    const Json result = Json::parse(text ? *text : "", nullptr, false);
    if (text && result.is_object())
        return answer(job.id, result);
    answer(job.id, to_json(failed(text ? "its answer is not JSON" : text.error().message)));
}

void Server::tell_progress(Job& job) {
    const Clock::time_point now = Clock::now();
    if (job.progress_token.is_null() || job.is_cancelled || now - job.told < progress_interval)
        return;
    job.told = now;
    const double age = std::chrono::duration<double>(now - job.begin).count();
    const char* state = !job.is_running()  ? "waiting for other calls"
                        : job.is_session() ? (job.child->is_armed() ? "tracing" : "finding probe points")
                                           : "working";
    Json params = {{"progressToken", job.progress_token}, {"progress", age}, {"message", state}};
    send(rpc::make_notification("notifications/progress", std::move(params)));
}

void Server::advance_jobs() {
    for (auto job = jobs_.begin(); job != jobs_.end();) {
        const auto next = std::next(job);
        tell_progress(*job);
        pollfd ready{job->worker ? job->worker->descriptor() : -1, POLLIN, 0};
        bool has_ended = false;
        if (job->child)
            has_ended = !job->child->advance();
        else if (job->worker && poll(&ready, 1, 0) > 0)
            has_ended = !job->worker->read_some();
        if (has_ended) {
            finish(*job);
            jobs_.erase(job);
        } else if (job->worker && Clock::now() - job->begin > longest_worker) {
            answer(job->id, to_json(failed(fmt::format("it took more than {} s", longest_worker.count() / 1000))));
            jobs_.erase(job);
        }
        job = next;
    }
}

// Lets sessions end in order, then kills them.
void Server::end_children() {
    for (Job& job : jobs_) {
        job.is_cancelled = true;
        if (job.child)
            job.child->cancel();
    }
    std::erase_if(jobs_, [](const Job& job) { return !job.child; });
    const Clock::time_point end = Clock::now() + last_end;
    while (!jobs_.empty() && Clock::now() < end) {
        std::vector<pollfd> waiting;
        for (const Job& job : jobs_)
            for (const int descriptor : job.child->descriptors())
                waiting.push_back({descriptor, POLLIN, 0});
        poll(waiting.data(), waiting.size(), 100);
        advance_jobs();
    }
    jobs_.clear();
}

// ---- the loop -------------------------------------------------------------------------------------------------------

// Returns the time for poll(2), in milliseconds.
int Server::time_to_wait() const {
    std::optional<Clock::time_point> next;
    const auto add = [&](Clock::time_point at) { next = next ? std::min(*next, at) : at; };
    for (const Job& job : jobs_) {
        if (!job.progress_token.is_null() && !job.is_cancelled)
            add(job.told + progress_interval);
        if (job.child)
            add(job.child->wake_up());
        else if (job.worker)
            add(job.begin + longest_worker + milliseconds(1));
    }
    if (!next)
        return -1;
    const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now());
    return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

int Server::run() {
    while (!is_over_ && !ended_by_signal) {
        begin_jobs();
        // A client that does not read its answers cannot ask for more. Its end is still noticed (POLLHUP).
        const bool may_ask = output_.size() < most_output;
        std::vector<pollfd> waiting = {{STDIN_FILENO, static_cast<int16_t>(may_ask ? POLLIN : 0), 0},
                                       {output_.empty() ? -1 : STDOUT_FILENO, POLLOUT, 0}};
        for (const Job& job : jobs_) {
            if (job.worker)
                waiting.push_back({job.worker->descriptor(), POLLIN, 0});
            if (job.child)
                for (const int descriptor : job.child->descriptors())
                    waiting.push_back({descriptor, POLLIN, 0});
        }
        if (poll(waiting.data(), waiting.size(), time_to_wait()) < 0 && errno != EINTR)
            break;
        if (waiting[1].revents)
            write_some();
        advance_jobs();
        if (waiting[0].revents && may_ask)
            read_input();
        else if (waiting[0].revents)
            is_over_ = true;
    }
    end_children();
    write_rest();
    return 0;
}

constexpr const char* usage =
    "Usage: sonde mcp [--policy FILE]\n"
    "  A server for agents that debug (Model Context Protocol). A client starts it, and speaks with it on standard "
    "input\n"
    "  and output. FILE limits what its scripts may probe, in place of ~/.config/sonde/mcp.json; /etc/sonde/mcp.json\n"
    "  always applies.\n";

} // namespace

int serve(const std::vector<std::string>& words) {
    if (!words.empty() && (words[0] == "-h" || words[0] == "--help"))
        return fmt::print("{}", usage), 0;
    std::string file;
    if (words.size() == 2 && words[0] == "--policy" && !words[1].empty())
        file = words[1];
    else if (words.size() == 1 && words[0].starts_with("--policy=") && words[0].size() > 9)
        file = words[0].substr(9);
    else if (!words.empty())
        return say_error(fmt::format("mcp: expected `--policy FILE` or nothing, got `{}`", fmt::join(words, " "))),
               exit_failure;
    Result<Policies> policies = find_policies(file);
    if (!policies)
        return say_error("mcp: " + policies.error().message), exit_failure;
    if (isatty(STDIN_FILENO) == 1)
        fmt::print(stderr, "{}Waiting for a client's messages; Ctrl-C ends the server.\n", usage);
    std::signal(SIGPIPE, SIG_IGN);
    struct sigaction action{};
    action.sa_handler = note_signal; // without SA_RESTART, so that poll() returns
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    return Server(*std::move(policies)).run();
}

} // namespace sonde::mcp
