// One thread waits for messages, for the results of workers, and for the time of the next check. It never parses a
// script itself (worker.h).
//
// * A check begins shortly after the last edit. An edit before its end kills its worker.
// * A request about a document runs in a worker, too. A cancel request kills it.
// * Everything else is answered at once.
//
// With --log-points, the documents are source files. Then nothing of this applies: log_points.h answers all requests.
#include "driver/lsp/server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "driver/lsp/check.h"
#include "driver/lsp/completion.h"
#include "driver/lsp/documents.h"
#include "driver/lsp/features.h"
#include "driver/lsp/frames.h"
#include "driver/lsp/log_points.h"
#include "driver/lsp/protocol.h"
#include "driver/lsp/script.h"
#include "driver/pass.h"
#include "driver/rpc/message.h"
#include "driver/rpc/worker.h"
#include "driver/tools.h"

namespace sonde::lsp {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds debounce{150};
constexpr milliseconds longest_check{120'000}; // such as a download of debug information
constexpr milliseconds parent_check{5'000};
constexpr milliseconds last_write{1'000}; // when the session ends
constexpr size_t max_jobs = 4;            // requests that run at the same time

// A request in a worker, or waiting for one.
struct Job {
    Json id;
    const Feature* feature;
    std::string uri;
    Json params;
    std::optional<rpc::Worker> worker;
};

// The checks of a document.
struct Checks {
    std::optional<Clock::time_point> due;
    std::optional<rpc::Worker> worker;
    Clock::time_point begin;
    uint64_t edits = 0; // of the text that the worker checks
};

class Server {
  public:
    explicit Server(Setting setting) : setting_(std::move(setting)) {}
    // For log points.
    explicit Server(std::vector<std::string> words) {
        log_points_.emplace(std::move(words), documents_, [this](const Json& message) { send(message); });
    }
    int run();

  private:
    enum class State { Fresh, Ready, ShutDown };

    void send(const Json& message) { output_ += frame(json_text(message)); }
    void fail(const Json& id, ErrorCode code, const std::string& message) {
        send(make_response(id, Failure{code, message}));
    }

    // Input.
    void read_input();
    void handle_message(const std::string& body);
    void handle_request(const Json& id, const std::string& method, const Json& params);
    void handle_notification(const std::string& method, const Json& params);
    Answer initialize(const Json& params);
    void cancel(const Json& params);

    // Output.
    void write_some();
    void write_rest();

    // Checks.
    void plan_check(const std::string& uri, milliseconds delay);
    void begin_checks();
    void end_check(const std::string& uri, Checks& checks, Result<Json> result);
    void publish(const Document& document);

    // Requests in workers.
    void begin_jobs();
    void end_job(Job& job);

    int time_to_wait() const;
    bool is_parent_alive() const { return parent_ <= 0 || kill(static_cast<pid_t>(parent_), 0) == 0 || errno != ESRCH; }

    Setting setting_;
    State state_ = State::Fresh;
    std::optional<int> status_; // set: the session ends with this exit status
    int64_t parent_ = 0;
    FrameReader input_;
    std::string output_;
    Documents documents_;
    std::optional<LogPoints> log_points_; // without it, the documents are scripts
    std::map<std::string, Checks> checks_;
    std::list<Job> jobs_;
    std::optional<rpc::Worker> inventory_; // reads the names of the library
};

// ---- input ----------------------------------------------------------------------------------------------------------

void Server::read_input() {
    char buffer[65536];
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) { // the client has ended without a word
        status_ = exit_failure;
        return;
    }
    input_.feed({buffer, static_cast<size_t>(got)});
    while (!status_) {
        const FrameReader::Next next = input_.next();
        if (std::holds_alternative<FrameReader::Incomplete>(next))
            return;
        if (const auto* bad = std::get_if<FrameReader::BadHeader>(&next))
            fail(nullptr, ErrorCode::ParseError, bad->reason);
        else
            handle_message(std::get<FrameReader::Message>(next).body);
    }
}

void Server::handle_message(const std::string& body) {
    const Json message = Json::parse(body, nullptr, false);
    if (message.is_discarded())
        return fail(nullptr, ErrorCode::ParseError, "expected JSON");
    const auto read = rpc::read_message(message);
    if (const auto* bad = std::get_if<rpc::BadMessage>(&read))
        return send(make_response(bad->id, bad->failure));
    if (const auto* call = std::get_if<rpc::Call>(&read)) {
        if (call->is_request())
            handle_request(call->id, call->method, call->params);
        else
            handle_notification(call->method, call->params);
    }
    if (const auto* reply = std::get_if<rpc::Reply>(&read); reply && log_points_)
        log_points_->handle_reply(reply->id, reply->result);
}

void Server::handle_request(const Json& id, const std::string& method, const Json& params) {
    if (method == "initialize") {
        if (state_ != State::Fresh)
            return fail(id, ErrorCode::InvalidRequest, "the server is initialized already");
        return send(make_response(id, initialize(params)));
    }
    if (state_ == State::Fresh)
        return fail(id, ErrorCode::ServerNotInitialized, "expected `initialize` as the first request");
    if (state_ == State::ShutDown)
        return fail(id, ErrorCode::InvalidRequest, "the server is shut down");
    if (method == "shutdown") {
        state_ = State::ShutDown;
        checks_.clear();
        if (log_points_)
            log_points_->end();
        return send(make_response(id, Json()));
    }
    if (log_points_)
        if (const std::optional<Answer> answer = log_points_->answer(method, params))
            return send(make_response(id, *answer));
    const Feature* feature = log_points_ ? nullptr : find_feature(method);
    if (!feature)
        return fail(id, ErrorCode::MethodNotFound, fmt::format("there is no method `{}`", method));
    std::string uri = uri_in(params);
    if (!documents_.find(uri))
        return fail(id, ErrorCode::InvalidParams, fmt::format("the document `{}` is not open", uri));
    jobs_.push_back({id, feature, std::move(uri), params, {}});
}

// Wrong notifications have no answer. Messages about them would only fill the editor's log.
void Server::handle_notification(const std::string& method, const Json& params) {
    if (method == "exit")
        status_ = state_ == State::ShutDown ? 0 : exit_failure;
    if (state_ != State::Ready)
        return;
    const std::string uri = uri_in(params);
    if (method == "$/cancelRequest") {
        cancel(params);
    } else if (method == "textDocument/didOpen") {
        if (documents_.open(params) && !log_points_)
            plan_check(uri, milliseconds(0));
    } else if (method == "textDocument/didChange") {
        if (log_points_)
            log_points_->note_change(params);
        documents_.change(params);
        if (documents_.find(uri) && !log_points_)
            plan_check(uri, debounce);
    } else if (method == "textDocument/didSave") {
        // Perhaps the user has built the traced program again.
        if (documents_.find(uri) && !log_points_)
            plan_check(uri, milliseconds(0));
    } else if (method == "textDocument/didClose") {
        checks_.erase(uri);
        if (log_points_)
            log_points_->note_close(uri);
        if (documents_.close(uri) && !log_points_)
            send(make_notification("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}}));
    }
}

// Reads the options in a worker, because some of them, such as limits, have an effect at once. Returns the error, or
// "".
std::string find_wrong_options(const std::vector<std::string>& words) {
    Result<rpc::Worker> worker = rpc::Worker::start([&] {
        const Result<Options> options = read_options(words, "/script.stp");
        return options ? std::string() : options.error().message;
    });
    if (!worker)
        return worker.error().message;
    while (worker->read_some()) {
    }
    Result<std::string> problem = worker->finish();
    return problem ? *problem : problem.error().message;
}

Answer Server::initialize(const Json& params) {
    if (!params.is_object())
        return Failure{ErrorCode::InvalidParams, "expected an object as the parameters"};
    const Json* more = find_member(params, "initializationOptions");
    if (log_points_)
        if (const std::string wrong = log_points_->configure(params); !wrong.empty())
            return Failure{ErrorCode::InvalidParams, wrong};
    if (const Json* words = more && !log_points_ ? find_member(*more, "options") : nullptr) {
        if (!words->is_array() || !std::ranges::all_of(*words, [](const Json& word) { return word.is_string(); }))
            return Failure{ErrorCode::InvalidParams, "`initializationOptions.options`: expected an array of strings"};
        std::vector<std::string> all = words->get<std::vector<std::string>>();
        all.insert(all.begin(), setting_.words.begin(), setting_.words.end());
        if (const std::string wrong = find_wrong_options(all); !wrong.empty())
            return Failure{ErrorCode::InvalidParams, "`initializationOptions.options`: " + wrong};
        setting_.words = std::move(all);
    }
    // Paths in scripts are relative to the folder that the user has opened, as in a shell there.
    const Json* folders = find_member(params, "workspaceFolders");
    const std::optional<std::string> root = folders && folders->is_array() && !folders->empty()
                                                ? text_member((*folders)[0], "uri")
                                                : text_member(params, "rootUri");
    std::error_code ignored;
    if (const std::string path = path_of_uri(root.value_or("")); !path.empty())
        std::filesystem::current_path(path, ignored);
    parent_ = number_member(params, "processId").value_or(0);
    state_ = State::Ready;
    if (!log_points_)
        if (Result<rpc::Worker> worker = rpc::Worker::start([&] { return json_text(read_inventory(setting_)); }))
            inventory_.emplace(*std::move(worker));
    return Json{{"capabilities", log_points_ ? log_points_->capabilities() : capabilities()},
                {"serverInfo", {{"name", "sonde"}, {"version", SONDE_VERSION}}}};
}

void Server::cancel(const Json& params) {
    const Json* id = find_member(params, "id");
    const auto found = id ? std::ranges::find(jobs_, *id, &Job::id) : jobs_.end();
    if (found == jobs_.end())
        return; // it is answered already
    jobs_.erase(found);
    fail(*id, ErrorCode::RequestCancelled, "the client has cancelled the request");
}

// ---- output ---------------------------------------------------------------------------------------------------------

// Never waits: a client may write a long message before it reads. A pipe that is ready accepts PIPE_BUF bytes.
void Server::write_some() {
    const ssize_t written = write(STDOUT_FILENO, output_.data(), std::min<size_t>(output_.size(), PIPE_BUF));
    if (written > 0)
        output_.erase(0, static_cast<size_t>(written));
    else if (written < 0 && errno != EINTR && errno != EAGAIN)
        status_ = exit_failure; // nobody reads
}

void Server::write_rest() {
    pollfd ready{STDOUT_FILENO, POLLOUT, 0};
    for (int status = *status_; !output_.empty() && status_ == status;)
        if (poll(&ready, 1, static_cast<int>(last_write.count())) > 0)
            write_some();
        else
            return;
}

// ---- checks ---------------------------------------------------------------------------------------------------------

void Server::plan_check(const std::string& uri, milliseconds delay) {
    Checks& checks = checks_[uri];
    checks.worker.reset();
    checks.due = Clock::now() + delay;
}

void Server::begin_checks() {
    const Clock::time_point now = Clock::now();
    for (auto& [uri, checks] : checks_) {
        if (checks.worker && now - checks.begin > longest_check)
            end_check(uri, checks, Error(fmt::format("the check took more than {} s", longest_check.count() / 1000)));
        if (!checks.due || *checks.due > now)
            continue;
        checks.due.reset();
        const Document& document = *documents_.find(uri);
        checks.edits = document.edits;
        checks.begin = now;
        Result<rpc::Worker> worker = rpc::Worker::start([&] { return json_text(check(document, setting_)); });
        if (worker)
            checks.worker.emplace(*std::move(worker));
        else
            end_check(uri, checks, worker.error());
    }
}

void Server::end_check(const std::string& uri, Checks& checks, Result<Json> result) {
    checks.worker.reset();
    Document& document = *documents_.find(uri);
    if (result && !result->is_object())
        result = Error("its answer is not JSON");
    document.checked = result ? *std::move(result) : failed_check("cannot check the script: " + result.error().message);
    document.checked_edits = checks.edits;
    publish(document);
}

void Server::publish(const Document& document) {
    send(make_notification(
        "textDocument/publishDiagnostics",
        {{"uri", document.uri}, {"version", document.version}, {"diagnostics", document.checked["diagnostics"]}}));
}

// ---- requests in workers --------------------------------------------------------------------------------------------

void Server::begin_jobs() {
    size_t running = 0;
    for (auto job = jobs_.begin(); job != jobs_.end() && running < max_jobs;) {
        const auto next = std::next(job);
        if (!job->worker) {
            const Document* document = documents_.find(job->uri);
            Result<rpc::Worker> worker =
                !document ? Result<rpc::Worker>(Error("the document was closed")) : rpc::Worker::start([&] {
                    return json_text(make_response(job->id, job->feature->answer({*document, job->params, setting_})));
                });
            if (worker) {
                job->worker.emplace(*std::move(worker));
            } else {
                fail(job->id, ErrorCode::RequestFailed, worker.error().message);
                jobs_.erase(job);
            }
        }
        running++;
        job = next;
    }
}

void Server::end_job(Job& job) {
    if (Result<std::string> response = job.worker->finish())
        output_ += frame(*response);
    else
        fail(job.id, ErrorCode::InternalError, fmt::format("{}: {}", job.feature->method, response.error().message));
}

// ---- the loop -------------------------------------------------------------------------------------------------------

// Returns the time for poll(2), in milliseconds.
int Server::time_to_wait() const {
    std::optional<Clock::time_point> next;
    const auto add = [&](Clock::time_point at) { next = next ? std::min(*next, at) : at; };
    if (parent_ > 0)
        add(Clock::now() + parent_check);
    for (const auto& [uri, checks] : checks_) {
        if (checks.due)
            add(*checks.due);
        if (checks.worker)
            add(checks.begin + longest_check + milliseconds(1));
    }
    if (const auto at = log_points_ ? log_points_->wake_up() : std::nullopt)
        add(*at);
    if (!next)
        return -1;
    const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now());
    return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

int Server::run() {
    while (!status_) {
        begin_checks();
        begin_jobs();
        std::vector<pollfd> waiting = {{STDIN_FILENO, POLLIN, 0}, {output_.empty() ? -1 : STDOUT_FILENO, POLLOUT, 0}};
        if (inventory_)
            waiting.push_back({inventory_->descriptor(), POLLIN, 0});
        if (log_points_)
            log_points_->add_descriptors(waiting);
        for (const Job& job : jobs_)
            if (job.worker)
                waiting.push_back({job.worker->descriptor(), POLLIN, 0});
        for (const auto& [uri, checks] : checks_)
            if (checks.worker)
                waiting.push_back({checks.worker->descriptor(), POLLIN, 0});
        if (poll(waiting.data(), waiting.size(), time_to_wait()) < 0 && errno != EINTR)
            return exit_failure;
        const auto is_ready = [&](int descriptor) {
            return std::ranges::any_of(waiting, [&](const pollfd& one) { return one.fd == descriptor && one.revents; });
        };
        if (waiting[1].revents)
            write_some();
        for (auto job = jobs_.begin(); job != jobs_.end();) {
            const auto next = std::next(job);
            if (job->worker && is_ready(job->worker->descriptor()) && !job->worker->read_some()) {
                end_job(*job);
                jobs_.erase(job);
            }
            job = next;
        }
        if (inventory_ && is_ready(inventory_->descriptor()) && !inventory_->read_some()) {
            const Result<std::string> text = inventory_->finish();
            inventory_.reset();
            setting_.inventory = Json::parse(text ? *text : "null", nullptr, false);
        }
        for (auto& [uri, checks] : checks_)
            if (checks.worker && is_ready(checks.worker->descriptor()) && !checks.worker->read_some()) {
                Result<std::string> text = checks.worker->finish();
                end_check(uri, checks, text ? Result<Json>(Json::parse(*text, nullptr, false)) : text.error());
            }
        if (log_points_)
            log_points_->advance(is_ready);
        if (waiting[0].revents) // last: an edit changes the list of workers
            read_input();
        if (!is_parent_alive())
            status_ = exit_failure;
    }
    write_rest();
    return *status_;
}

// A folder that exists as long as this object. Empty path: it cannot be created.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::error_code error;
        path_ = (std::filesystem::temp_directory_path(error) / "sonde-library-XXXXXX").string();
        if (error || !mkdtemp(path_.data()))
            path_.clear();
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty())
            std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

constexpr const char* usage =
    "Usage: sonde lsp [OPTIONS] [-- ARGUMENTS]\n"
    "       sonde lsp --log-points [OPTIONS]\n"
    "  A language server for scripts. An editor starts it, and speaks with it on standard input and output (LSP).\n"
    "  OPTIONS are those of a translation, such as -g or -I FOLDER. ARGUMENTS are those of the scripts.\n"
    "  With --log-points, the server is for source files of C, C++, Rust, Go and Python. It shows values of running\n"
    "  programs at their lines. OPTIONS are then those of `sonde log`, such as --overload=5.\n";

// Serves log points. `words` are options of `sonde log`.
int serve_log_points(const std::vector<std::string>& words) {
    std::vector<std::string> checked = words;
    checked.insert(checked.begin(), "log");
    checked.emplace_back("--help"); // reads the words before it
    Result<rpc::Worker> worker = rpc::Worker::start([&] {
        const rpc::CapturedErrors errors;
        expand_tool(checked);
        return errors.text();
    });
    if (!worker)
        return say_error("lsp: " + worker.error().message), exit_failure;
    while (worker->read_some()) {
    }
    if (const Result<std::string> wrong = worker->finish(); !wrong || !wrong->empty())
        return fmt::print(stderr, "{}", wrong ? *wrong : wrong.error().message + "\n"), exit_failure;
    return Server(words).run();
}

} // namespace

int serve(const std::vector<std::string>& words) {
    if (!words.empty() && (words[0] == "-h" || words[0] == "--help"))
        return fmt::print("{}", usage), 0;
    const bool for_log_points = !words.empty() && words[0] == "--log-points";
    if (const std::string wrong = for_log_points ? "" : find_wrong_options(words); !wrong.empty())
        return say_error("lsp: " + wrong), exit_failure;
    if (isatty(STDIN_FILENO) == 1)
        fmt::print(stderr, "{}Waiting for an editor's messages; Ctrl-C ends the server.\n", usage);
    std::signal(SIGPIPE, SIG_IGN);
    if (for_log_points)
        return serve_log_points({words.begin() + 1, words.end()});
    const TemporaryFolder library;
    if (Result<void> written = write_library(library.path()); !written)
        say_error("the editor cannot open files of the library: " + written.error().message);
    return Server({words, library.path(), nullptr}).run();
}

} // namespace sonde::lsp
