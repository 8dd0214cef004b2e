// The loop of the session: read an input, carry it out, repeat. While it waits for input, it watches the pieces, the
// command and the process of -x.
//
// Three kinds of processes take part:
//
//     sonde repl  ── the prompt; translates; owns the maps of the globals; runs no handler
//       ├─ piece 1, piece 2 ...   one for each probe, with its BPF programs (piece_process.h)
//       └─ the command of -c      waits until `run`
//
// On a terminal, pieces and the command write to pipes, so that their output does not destroy the line that the user
// types. Otherwise they inherit standard output and standard error.
#include "driver/repl/repl.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/glob.h"
#include "base/processes.h"
#include "base/suggest.h"
#include "base/terminal_text.h"
#include "driver/completion/point_completions.h"
#include "driver/confine.h"
#include "driver/memory_left.h"
#include "driver/options.h"
#include "driver/pass.h"
#include "driver/repl/line_editor.h"
#include "driver/repl/piece_process.h"
#include "driver/repl/script.h"
#include "driver/repl/shared_pieces.h"
#include "driver/repl/typed.h"
#include "driver/repl/values.h"
#include "frontend/probes/probe.h"
#include "frontend/sema/sema.h"
#include "frontend/tapset/inventory.h"
#include "runtime/processes/command.h"
#include "runtime/text/accounting.h"
#include "runtime/text/messages.h"

namespace sonde::repl {
namespace {

constexpr const char* usage =
    "Usage: sonde repl [OPTIONS] [-x PID | -c COMMAND | PROGRAM]\n"
    "  Begins a session in which you type probes and look at their results while they run.\n"
    "  Input can also come from a pipe.\n"
    "  -x PID      Points without a path belong to this process; probes see only it and its children\n"
    "  -c COMMAND  The same for this command, which starts when you type `run`\n"
    "  PROGRAM     Points without a path belong to this program; probes see all its processes\n"
    "  OPTIONS     As for scripts: -g, -w, -I, -D, --container and so on\n"
    "\n"
    "You type:\n"
    "  process.function(\"f*\")                            a point, or a pattern: list points and their variables\n"
    "  probe process.function(\"f\") { hits[$x]++ }        a probe: arm it; undeclared names become globals\n"
    "  hits    hits[3]    @count(s)    delete hits       an expression or statements: run them once, print the value\n"
    "  global most = 5    function f(x) { ... }          declarations for later probes\n";

volatile std::sig_atomic_t interrupted = 0, terminated = 0;
int signal_pipe[2] = {-1, -1}; // becomes readable at a signal, so that poll() does not miss it

bool take_interrupt() {
    const bool out = interrupted;
    interrupted = 0;
    return out;
}
void note_signal(int number) {
    if (number != SIGWINCH)
        (number == SIGINT ? interrupted : terminated) = 1;
    const int before = errno;
    static_cast<void>(write(signal_pipe[1], "", 1));
    errno = before;
}

// A pipe from the pieces or from the command, whose text is shown between the lines that the user types.
struct Stream {
    Fd reader, writer;
    bool is_raw = false;

    Result<void> open() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return errno_error("cannot create a pipe", errno);
        reader.reset(ends[0]);
        writer.reset(ends[1]);
        fcntl(reader.get(), F_SETFL, O_NONBLOCK);
        fcntl(writer.get(), F_SETPIPE_SZ, 1 << 20);
        return {};
    }
    // Returns the text that has arrived.
    std::string take() const {
        std::string out;
        char bytes[65536];
        for (ssize_t got = 0; reader && out.size() < (1 << 20) && (got = read(reader.get(), bytes, sizeof bytes)) > 0;)
            out.append(bytes, static_cast<size_t>(got));
        return is_raw ? out : terminal_text(out);
    }
};

// A probe of the session.
struct LiveProbe {
    int number;
    std::string text;
    size_t points;
    bool only_at_end; // nothing but `end` and `error`
    std::unique_ptr<PieceProcess> process;
};

class Repl {
  public:
    Repl(Options options, Policies policies) : options_(std::move(options)), policies_(std::move(policies)) {}
    Repl(const Repl&) = delete;
    Repl& operator=(const Repl&) = delete;
    ~Repl() { command_.terminate(); }

    Result<int> run();

  private:
    Result<void> begin();
    Result<void> start_command();
    // Carries out one input. Returns false if something was wrong.
    bool carry_out(const std::string& input);
    bool run_command(const Typed& typed);
    bool run_list(const std::string&);
    bool run_drop(const std::string& arguments);
    bool run_pause(const std::string&) { return pause(true); }
    bool run_resume(const std::string&) { return pause(false); }
    bool run_run(const std::string&);
    bool run_wait(const std::string& arguments);
    bool run_top(const std::string& arguments);
    bool run_hist(const std::string& arguments);
    bool run_save(const std::string& arguments);
    bool run_help(const std::string&);
    bool run_quit(const std::string&) { return is_over_ = true; }

    bool declare(const std::string& input);
    bool add_probe(const std::string& text);
    bool run_statements(const std::string& input);
    std::unique_ptr<PieceProcess> start(const Piece& piece, bool in_foreground);
    bool pause(bool paused);
    // Ends a piece, and waits for its end.
    void end(LiveProbe& probe, bool runs_end_handler);
    void end_all(bool runs_end_handlers);

    // Events: what happened since the last call, as text for the user.
    LineSource::Events events();
    std::string look();
    std::string look_at_probes();
    std::string look_at_target();
    // Waits for events for at most `most_ms`.
    void wait_for_events(int most_ms);
    std::vector<pollfd> descriptors() const;

    // Prints at once. say_line() is for news about the session, which a program that reads the output does not want.
    void print(const std::string& text) const { std::fwrite(text.data(), 1, text.size(), stdout), std::fflush(stdout); }
    void say_line(const std::string& text) const { fmt::print(stderr, "{}\n", text); }
    bool fail(const std::string& message) const { return say_error(message), false; }
    Write writer() const {
        return [this](const std::string& text) { return print(text), !interrupted; };
    }
    const plan::Global* find_global(const std::string& name, const char* kind);

    EditorCompletions complete(const std::string& line);
    PointSources point_sources();

    Options options_;
    const Policies policies_;
    std::string target_; // how -x, -c or PROGRAM was given, for messages and `save`
    std::unique_ptr<LineSource> lines_;
    std::unique_ptr<Script> script_;
    std::unique_ptr<SharedMaps> maps_;
    Stream output_, errors_, command_output_;
    Command command_;
    Fd target_fd_; // of the command or the process of -x; becomes readable at its end
    bool command_runs_ = false, target_ended_ = false;
    std::vector<LiveProbe> probes_; // in the order of their numbers
    int next_number_ = 1;
    bool is_over_ = false, is_paused_ = false, is_lossy_ = false, has_exited_ = false, has_failed_ = false;
};

// ---- the beginning

Result<void> Repl::start_command() {
    // The command gets no input: standard input is the prompt's. It must not die from Ctrl-C at the prompt.
    const Fd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const Fd saved[] = {Fd(fcntl(0, F_DUPFD_CLOEXEC, 3)), Fd(fcntl(1, F_DUPFD_CLOEXEC, 3)),
                        Fd(fcntl(2, F_DUPFD_CLOEXEC, 3))};
    fflush(nullptr);
    dup2(nothing.get(), 0);
    if (command_output_.writer)
        for (const int fd : {1, 2})
            dup2(command_output_.writer.get(), fd);
    Result<Command> started = Command::start(options_.session.command, allow_many_files());
    for (int fd = 0; fd < 3; fd++)
        dup2(saved[fd].get(), fd);
    if (!started)
        return std::move(started).error();
    command_ = *std::move(started);
    setpgid(command_.pid(), command_.pid());
    return {};
}

Result<void> Repl::begin() {
    Result<std::unique_ptr<SharedMaps>> maps = SharedMaps::create();
    if (!maps)
        return std::move(maps).error();
    maps_ = *std::move(maps);
    const bool is_terminal = isatty(STDIN_FILENO) == 1 && is_capable_terminal(STDOUT_FILENO);
    if (is_terminal) {
        for (Stream* stream : {&output_, &errors_, &command_output_})
            if (Result<void> opened = stream->open(); !opened)
                return opened;
        command_output_.is_raw = true; // it would write to the terminal without sonde, too
        output_.is_raw = errors_.is_raw = options_.session.raw;
    }
    Result<std::unique_ptr<Script>> script = Script::open(options_, policies_);
    if (!script)
        return std::move(script).error();
    script_ = *std::move(script);
    if (!options_.session.command.empty()) {
        target_ = fmt::format("-c '{}'", options_.session.command);
        if (Result<void> started = start_command(); !started)
            return started;
        // For the pieces, it is a process that runs already.
        options_.session.files.push_back(command_.program());
        options_.session.target_pid = command_.pid();
        options_.session.command.clear();
    } else if (options_.session.target_pid) {
        target_ = fmt::format("-x {}", options_.session.target_pid);
        if (!is_process(options_.session.target_pid))
            return Error(fmt::format("-x {}: this process does not exist", options_.session.target_pid));
    }
    if (const int64_t pid = options_.session.target_pid) {
        target_fd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        if (!target_fd_)
            return errno_error(fmt::format("cannot watch process {}", pid), errno);
    }
    if (is_terminal) {
        const char* home = std::getenv("HOME");
        const char* state = std::getenv("XDG_STATE_HOME");
        const std::string folder = state && *state ? state : home ? std::string(home) + "/.local/state" : "";
        std::error_code ignored;
        if (!folder.empty())
            std::filesystem::create_directories(folder + "/sonde", ignored);
        lines_ = make_line_editor(folder.empty() ? "" : folder + "/sonde/repl_history",
                                  [this](const std::string& line) { return complete(line); });
    } else {
        lines_ = make_plain_source();
    }
    return {};
}

Result<int> Repl::run() {
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return errno_error("cannot create a pipe", errno);
    struct sigaction action{};
    action.sa_handler = note_signal; // without SA_RESTART, so that system calls end
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH})
        sigaction(number, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    if (Result<void> begun = begin(); !begun)
        return std::move(begun).error();
    if (lines_->is_interactive()) {
        say_line("Type a probe, a point or an expression; `help` explains more, and Ctrl-D ends the session.");
        if (command_.pid())
            say_line("The command waits until you type `run`.");
    }
    std::string input;
    const LineSource::Events watched = events();
    while (!is_over_ && !terminated) {
        const LineSource::Read read = lines_->read(input.empty() ? "sonde> " : "  ...> ", watched);
        if (read.end == LineSource::End::Interrupted) {
            if (terminated || (take_interrupt() && !lines_->is_interactive()))
                break;
            if (lines_->is_interactive())
                print("^C\n");
            input.clear();
            continue;
        }
        const bool at_end = read.end == LineSource::End::EndOfInput;
        if (at_end && input.empty())
            break;
        // An empty line ends an unfinished input, which is then wrong.
        const bool is_empty = read.line.find_first_not_of(" \t") == std::string::npos;
        input += (input.empty() ? "" : "\n") + read.line;
        if (!at_end && !is_empty && !is_finished(input))
            continue;
        lines_->remember(input);
        const bool done = carry_out(std::exchange(input, {}));
        has_failed_ |= !done;
        if (take_interrupt() && !lines_->is_interactive())
            break;
        if (at_end)
            break;
    }
    if (lines_->is_interactive() && !is_over_)
        print("\n");
    end_all(true);
    command_.terminate();
    if (const std::string rest = output_.take() + errors_.take() + command_output_.take(); !rest.empty())
        print(rest);
    return has_failed_ && !lines_->is_interactive() ? exit_failure : is_lossy_ ? exit_lossy : 0;
}

// ---- events

std::vector<pollfd> Repl::descriptors() const {
    std::vector<pollfd> out = {{signal_pipe[0], POLLIN, 0}};
    for (const int fd : {output_.reader.get(), errors_.reader.get(), command_output_.reader.get(), target_fd_.get()})
        if (fd >= 0)
            out.push_back({fd, POLLIN, 0});
    for (const LiveProbe& probe : probes_)
        for (const int fd : {probe.process->report_fd(), probe.process->end_fd()})
            if (fd >= 0)
                out.push_back({fd, POLLIN, 0});
    return out;
}

LineSource::Events Repl::events() {
    return {[this] { return descriptors(); }, [this] { return look(); }, [] { return interrupted || terminated; }};
}

std::string Repl::look() {
    for (char byte = 0; read(signal_pipe[0], &byte, 1) == 1;) {
    }
    std::string out = output_.take() + errors_.take() + command_output_.take();
    const std::string news = look_at_probes() + look_at_target();
    // What the pieces wrote before they ended comes first.
    out += output_.take() + errors_.take() + command_output_.take();
    if (news.empty() || lines_->is_interactive())
        return out + news;
    fmt::print(stderr, "{}", news);
    return out;
}

std::string Repl::look_at_probes() {
    std::string out;
    for (LiveProbe& probe : probes_)
        probe.process->look();
    const auto exiting = std::ranges::find_if(probes_, [](const LiveProbe& one) { return one.process->has_exited(); });
    if (exiting != probes_.end()) {
        for (LiveProbe& probe : probes_)
            probe.process->pause(true); // at once: ending them takes longer
        out +=
            fmt::format("probe {} has called exit(): all probes are removed, and the globals stay\n", exiting->number);
        end_all(true);
        has_exited_ = true;
        return out;
    }
    for (LiveProbe& probe : probes_) {
        if (!probe.process->has_ended())
            continue;
        const int status = probe.process->status();
        is_lossy_ |= status == exit_lossy;
        has_failed_ |= status != 0 && status != exit_lossy;
        out += ended_line(probe.number, probe.text, status);
    }
    std::erase_if(probes_, [](const LiveProbe& probe) { return probe.process->has_ended(); });
    return out;
}

std::string Repl::look_at_target() {
    pollfd one{target_fd_.get(), POLLIN, 0};
    if (!target_fd_ || poll(&one, 1, 0) <= 0)
        return "";
    target_ended_ = true;
    target_fd_.reset();
    // Records of its last hits may still be in the rings. The pieces read these every 10 ms.
    usleep(30'000);
    const std::string after = "; the globals can still be printed and saved\n";
    if (!command_.pid())
        return fmt::format("process {} has ended{}", options_.session.target_pid, after);
    const std::optional<int> status = command_.poll();
    if (!status || (WIFEXITED(*status) && WEXITSTATUS(*status) == 0))
        return "the command has ended" + after;
    return (WIFEXITED(*status) ? fmt::format("the command has ended with status {}", WEXITSTATUS(*status))
                               : fmt::format("the command was ended by signal {} ({})", WTERMSIG(*status),
                                             strsignal(WTERMSIG(*status)))) +
           after;
}

void Repl::wait_for_events(int most_ms) {
    std::vector<pollfd> fds = descriptors();
    poll(fds.data(), fds.size(), most_ms);
    if (const std::string text = look(); !text.empty())
        print(text);
}

// ---- inputs

bool Repl::carry_out(const std::string& input) {
    const auto is_point = [this](std::string_view word) { return script_->is_point(word); };
    const auto is_global = [this](std::string_view word) { return script_->is_global(word); };
    const Typed typed = sort_typed(input, is_point, is_global);
    switch (typed.kind) {
    case TypedKind::Nothing:
        return true;
    case TypedKind::Command:
        return run_command(typed);
    case TypedKind::Declarations:
        return declare(input);
    case TypedKind::Points:
        return script_->list_points(input);
    case TypedKind::Statements:
        break;
    }
    return run_statements(input);
}

bool Repl::run_command(const Typed& typed) {
    static const std::map<std::string_view, bool (Repl::*)(const std::string&)> actions = {
        {"list", &Repl::run_list},     {"drop", &Repl::run_drop}, {"pause", &Repl::run_pause},
        {"resume", &Repl::run_resume}, {"run", &Repl::run_run},   {"wait", &Repl::run_wait},
        {"top", &Repl::run_top},       {"hist", &Repl::run_hist}, {"save", &Repl::run_save},
        {"help", &Repl::run_help},     {"quit", &Repl::run_quit},
    };
    const auto row = std::ranges::find(command_rows, typed.command, &CommandRow::name);
    if (!*row->arguments && !typed.arguments.empty())
        return fail(fmt::format("{}: expected nothing after it, got `{}`", typed.command, typed.arguments));
    return (this->*actions.at(typed.command))(typed.arguments);
}

bool Repl::declare(const std::string& input) {
    std::vector<std::string> probes, said;
    if (!script_->declare(input, probes, said))
        return false;
    for (const std::string& line : said)
        say_line(line);
    return std::ranges::all_of(probes, [this](const std::string& probe) { return add_probe(probe); });
}

// Starts a piece and waits until it is armed or has ended. `in_foreground`: until it has ended; Ctrl-C ends it.
std::unique_ptr<PieceProcess> Repl::start(const Piece& piece, bool in_foreground) {
    Options options = options_;
    if (piece.plan.bpf_object.empty() || target_ended_)
        options.session.target_pid = 0; // it need not exist
    Result<std::unique_ptr<PieceProcess>> started =
        PieceProcess::start(piece.plan, options, *maps_, {output_.writer.get(), errors_.writer.get()},
                            [this](uint32_t arrangement) { return script_->rearrange(arrangement); });
    if (!started)
        return fail(started.error().message), nullptr;
    PieceProcess& process = **started;
    int64_t kill_at = INT64_MAX;
    while (!process.has_ended() && (in_foreground || !process.is_armed())) {
        std::vector<pollfd> fds = descriptors();
        for (const int fd : {process.report_fd(), process.end_fd()})
            if (fd >= 0)
                fds.push_back({fd, POLLIN, 0});
        poll(fds.data(), fds.size(), 100);
        process.look();
        if (const std::string text = look(); !text.empty())
            print(text);
        if ((interrupted || terminated) && kill_at == INT64_MAX) {
            process.signal(SIGINT);
            kill_at = now_ns() + end_within_ns / 5;
        }
        if (now_ns() > kill_at)
            process.signal(SIGKILL);
    }
    if (const std::string text = output_.take() + errors_.take(); !text.empty())
        print(text);
    if (process.has_ended() && process.status() > 128)
        fail(fmt::format("the handler's process was ended by signal {} ({})", process.status() - 128,
                         strsignal(process.status() - 128)));
    return *std::move(started);
}

bool Repl::add_probe(const std::string& text) {
    const std::unique_ptr<Piece> piece = script_->translate_probe(text);
    if (!piece)
        return false;
    if (Result<void> made = make_room(*piece, *script_, *maps_); !made)
        return fail(made.error().message);
    std::unique_ptr<PieceProcess> process = start(*piece, runs_once(piece->plan));
    const bool is_good = process && (process->is_armed() || (process->has_ended() && process->status() == 0));
    if (!is_good) {
        take_back(*piece, *script_, *maps_);
        return false;
    }
    script_->adopt(*piece);
    for (const std::string& name : piece->new_globals)
        say_line(fmt::format("`{}` is a new global", name));
    const bool only_at_end = runs_only_at_end(piece->plan);
    if (process->has_exited()) {
        end_all(true);
        has_exited_ = true;
        say_line("exit(): all probes are removed, and the globals stay");
        return true;
    }
    if (process->has_ended())
        return true;
    say_line(fmt::format("probe {}: {}{}", next_number_, counted(piece->points, "point"),
                         is_paused_ ? ", paused until `resume`" : ""));
    probes_.push_back({next_number_++, text, piece->points, only_at_end, std::move(process)});
    return true;
}

bool Repl::run_statements(const std::string& input) {
    const std::optional<NamedValue> named = read_named_value(input);
    if (const plan::Global* global = named ? script_->globals().find(named->name) : nullptr;
        global &&
        (named->keys.empty() || (global->type == plan::Value::Stats && named->keys.size() == global->keys.size()))) {
        print_global(*global, named->keys, *maps_, {}, writer());
        return true;
    }
    const std::unique_ptr<Piece> piece = script_->translate_statements(input);
    if (!piece)
        return false;
    if (Result<void> made = make_room(*piece, *script_, *maps_); !made)
        return fail(made.error().message);
    const std::unique_ptr<PieceProcess> process = start(*piece, true);
    if (!process || (process->status() != 0 && process->status() != exit_lossy)) {
        take_back(*piece, *script_, *maps_);
        return false;
    }
    script_->adopt(*piece);
    for (const std::string& name : piece->new_globals)
        say_line(fmt::format("`{}` is a new global", name));
    if (process->has_exited()) {
        end_all(true);
        has_exited_ = true;
        say_line("exit(): all probes are removed, and the globals stay");
    }
    return true;
}

// ---- commands

bool Repl::run_list(const std::string&) {
    if (probes_.empty())
        print("no probe is armed\n");
    for (const LiveProbe& probe : probes_)
        print(probe_line(probe.number, probe.text, probe.process->counts()));
    if (is_paused_)
        print("paused: `resume` lets the handlers run again\n");
    const std::vector<std::string> names = script_->global_names();
    if (!names.empty())
        print(fmt::format("globals: {}\n", fmt::join(names, ", ")));
    return true;
}

void Repl::end(LiveProbe& probe, bool runs_end_handler) {
    probe.process->signal(probe.only_at_end && !runs_end_handler ? SIGKILL : SIGTERM);
    const int64_t kill_at = now_ns() + end_within_ns;
    while (probe.process->look(), !probe.process->has_ended()) {
        pollfd fds[] = {
            {probe.process->end_fd(), POLLIN, 0}, {output_.reader.get(), POLLIN, 0}, {errors_.reader.get(), POLLIN, 0}};
        poll(fds, std::size(fds), 100);
        if (const std::string text = output_.take() + errors_.take() + command_output_.take(); !text.empty())
            print(text);
        if (now_ns() > kill_at) {
            say_error(fmt::format("probe {} does not end; it is killed, and its last output is lost", probe.number));
            probe.process->signal(SIGKILL);
        }
    }
    is_lossy_ |= probe.process->status() == exit_lossy;
    if (const std::string text = output_.take() + errors_.take(); !text.empty())
        print(text);
}

// Ends all probes in the order of their numbers, those with `end` handlers last: these print what the others have
// counted.
void Repl::end_all(bool runs_end_handlers) {
    for (const bool at_end : {false, true})
        for (LiveProbe& probe : probes_)
            if (probe.only_at_end == at_end)
                end(probe, runs_end_handlers);
    probes_.clear();
}

bool Repl::run_drop(const std::string& arguments) {
    const std::vector<std::string> words = split(arguments);
    if (words.empty())
        return fail("drop: expected the numbers of probes, or `all`; `list` shows the numbers");
    if (words.size() == 1 && words[0] == "all") {
        end_all(false);
        return true;
    }
    bool is_good = true;
    for (const std::string& word : words) {
        const std::optional<uint64_t> number = read_number(word);
        const auto found = std::ranges::find_if(
            probes_, [&](const LiveProbe& probe) { return number && static_cast<uint64_t>(probe.number) == *number; });
        if (found == probes_.end()) {
            std::vector<int> numbers;
            for (const LiveProbe& probe : probes_)
                numbers.push_back(probe.number);
            is_good = fail(numbers.empty() ? fmt::format("drop: there is no probe {}: no probe is armed", word)
                                           : fmt::format("drop: there is no probe {}; the probes are {}", word,
                                                         fmt::join(numbers, ", ")));
            continue;
        }
        end(*found, false);
        if (found->only_at_end)
            say_line(fmt::format("probe {} is removed; its handler did not run", found->number));
        else
            say_line(fmt::format("probe {} is removed; the globals stay", found->number));
        probes_.erase(found);
    }
    return is_good;
}

bool Repl::pause(bool paused) {
    if (paused == is_paused_)
        return fail(paused ? "the session is paused already; `resume` continues it" : "the session is not paused");
    is_paused_ = paused;
    __atomic_store_n(reinterpret_cast<uint64_t*>(maps_->memory() + plan::shared_paused), paused ? 1 : 0,
                     __ATOMIC_SEQ_CST);
    for (LiveProbe& probe : probes_)
        probe.process->pause(paused);
    return true;
}

bool Repl::run_run(const std::string&) {
    if (!command_.pid())
        return fail("run: there is no command; start the session with `sonde repl -c COMMAND`");
    if (command_runs_)
        return fail(target_ended_ ? "run: the command has run already; it can run only once in a session"
                                  : "run: the command runs already");
    if (probes_.empty())
        say_line("no probe is armed, so the command runs unseen until you add one");
    command_runs_ = true;
    command_.release();
    return true;
}

bool Repl::run_wait(const std::string& arguments) {
    double seconds = -1;
    if (!arguments.empty()) {
        char* end = nullptr;
        seconds = std::strtod(arguments.c_str(), &end);
        if (*end == 's')
            end++;
        if (*end || seconds < 0 || seconds > 1e9)
            return fail(fmt::format("wait: expected a number of seconds, got `{}`", arguments));
    }
    if (seconds < 0 && !target_ended_ && command_.pid() && !command_runs_)
        return fail("wait: the command does not run yet; type `run` first, or `wait SECONDS`");
    has_exited_ = false;
    const int64_t end = seconds < 0 ? INT64_MAX : now_ns() + static_cast<int64_t>(seconds * 1e9);
    const bool waits_for_target = seconds < 0 && options_.session.target_pid != 0;
    while (!interrupted && !terminated && !has_exited_ && now_ns() < end && !(waits_for_target && target_ended_)) {
        if (seconds < 0 && !waits_for_target && probes_.empty())
            break; // nothing can happen any more
        wait_for_events(static_cast<int>(std::clamp<int64_t>((end - now_ns()) / 1'000'000, 1, 100)));
    }
    return true;
}

const plan::Global* Repl::find_global(const std::string& name, const char* kind) {
    const plan::Global* global = script_->globals().find(name);
    if (global)
        return global;
    const std::string near = nearest_name(name, script_->global_names());
    fail(fmt::format("there is no {} `{}`{}", kind, name,
                     script_->is_global(name) ? ": no probe has used the global yet"
                     : near.empty()           ? ""
                                              : fmt::format("; did you mean `{}`?", near)));
    return nullptr;
}

bool Repl::run_top(const std::string& arguments) {
    size_t most = 10;
    std::vector<const plan::Global*> arrays;
    for (const std::string& word : split(arguments)) {
        if (const std::optional<uint64_t> number = read_number(word)) {
            most = *number;
            continue;
        }
        const plan::Global* global = find_global(word, "array");
        if (!global)
            return false;
        if (global->keys.empty())
            return fail(fmt::format("top: `{}` is not an array; type `{}` to print it", word, word));
        arrays.push_back(global);
    }
    if (arrays.empty())
        for (const plan::Global& global : script_->globals().globals)
            if (!global.keys.empty())
                arrays.push_back(&global);
    if (arrays.empty())
        return fail("top: the session has no arrays; a probe such as `probe POINT { hits[$x]++ }` makes one");
    for (const plan::Global* global : arrays)
        if (!interrupted)
            print_top(*global, *maps_, most, {}, writer());
    return true;
}

bool Repl::run_hist(const std::string& arguments) {
    std::vector<NamedValue> names;
    if (const std::optional<NamedValue> one = read_named_value(arguments))
        names.push_back(*one);
    else
        for (const std::string& word : split(arguments))
            names.push_back({word, {}});
    if (names.empty())
        for (const plan::Global& global : script_->globals().globals)
            if (global.type == plan::Value::Stats)
                names.push_back({global.name, {}});
    if (names.empty())
        return fail("hist: the session has no statistics; `name <<< value` in a probe makes one");
    std::vector<const plan::Global*> statistics;
    for (const NamedValue& one : names) {
        const plan::Global* global = find_global(one.name, "statistic");
        if (!global)
            return false;
        if (global->type != plan::Value::Stats)
            return fail(fmt::format("hist: `{}` is not a statistic; `name <<< value` in a probe makes one", one.name));
        if (!one.keys.empty() && one.keys.size() != global->keys.size())
            return fail(fmt::format("hist: `{}` has {}", one.name, counted(global->keys.size(), "key")));
        statistics.push_back(global);
    }
    for (size_t i = 0; i < statistics.size(); i++)
        if (!interrupted)
            print_histograms(*statistics[i], names[i].keys, *maps_, {}, writer());
    return true;
}

bool Repl::run_save(const std::string& arguments) {
    std::string path = arguments;
    const bool replaces = path.starts_with("-f ");
    if (replaces)
        path.erase(0, path.find_first_not_of(' ', 2));
    if (path.empty())
        return fail("save: expected the name of a file");
    std::vector<std::string> texts;
    for (const LiveProbe& probe : probes_)
        texts.push_back(probe.text);
    if (texts.empty() && script_->declarations().empty())
        return fail("save: the session has no probes and no declarations");
    const std::string text =
        fmt::format("# Saved by `sonde repl`. Run it with: sonde {}{}\n", target_.empty() ? "" : target_ + " ", path) +
        script_->to_text(texts);
    const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (replaces ? O_TRUNC : O_EXCL), 0666));
    if (!file && errno == EEXIST)
        return fail(fmt::format("save: `{}` exists already; choose another name, or type `save -f {}` to replace it",
                                path, path));
    if (!file)
        return fail(errno_error(fmt::format("save: cannot create `{}`", path), errno).message);
    if (Result<void> written = write_all(file.get(), text, path); !written)
        return fail("save: " + written.error().message);
    say_line(fmt::format("{} saved in `{}`", counted(texts.size(), "probe"), path));
    return true;
}

bool Repl::run_help(const std::string&) {
    std::string out = std::string(usage).substr(std::string_view(usage).find("You type:")) + "\nCommands:\n";
    for (const CommandRow& row : command_rows)
        out += fmt::format("  {:<24}  {}\n", fmt::format("{} {}", row.name, row.arguments), row.help);
    print(out);
    return true;
}

// ---- completion

PointSources Repl::point_sources() {
    PointSources out;
    out.forms = probe_point_forms();
    for (const std::string& line : describe_aliases(*script_->t.library))
        out.aliases.push_back(line.substr(0, line.find(" = ")));
    out.list = [this](const std::string& point, bool with_variables) {
        Translation& t = script_->t;
        Diagnostics ignored(t.sources);
        const FileId file = t.sources.add("<input>", point);
        const std::vector<ast::ProbePoint*> points =
            parse_probe_points(file, t.sources, t.parse_options, t.arena, ignored);
        return ignored.has_errors()
                   ? std::vector<std::string>()
                   : sonde::list_points(points, with_variables, {}, *t.library, t.env, t.arena, ignored);
    };
    out.functions = [this] { return describe_functions(*script_->t.library, false); };
    return out;
}

EditorCompletions Repl::complete(const std::string& line) {
    EditorCompletions out;
    const auto offer = [&](const std::string& word, const std::string& typed, bool is_whole) {
        if (word.starts_with(typed) && std::ranges::find(out.words, word) == out.words.end()) {
            out.words.push_back(word);
            out.are_whole.push_back(is_whole);
        }
    };
    const size_t word_at = line.find_last_of(" \t(){}[],;+-*/=<>!&|") + 1; // 0 if the line is one word
    const std::string word = line.substr(word_at);
    out.begin = word_at;
    const std::string first = line.substr(0, line.find_first_of(" \t"));
    if (first == "probe" || first == "function" || first == "global") {
        const ScriptCompletions found = complete_script_end(line, point_sources());
        if (found.place != ScriptPlace::Body || std::ranges::none_of(found.words, [](auto&) { return true; }))
            out.begin = found.begin;
        if (found.begin == word_at || found.place != ScriptPlace::Body) {
            out.begin = found.begin;
            for (const Completion& one : found.words)
                offer(one.text, line.substr(std::min(found.begin, line.size())), one.is_whole);
        }
        if (found.place == ScriptPlace::Body && !word.empty() && out.begin == word_at)
            for (const std::string& name : script_->global_names())
                offer(name, word, false);
        return out;
    }
    const bool is_first = word_at == 0;
    if (is_first) {
        for (const CommandRow& row : command_rows)
            offer(row.name, line, *row.arguments != 0);
        for (const char* keyword : {"probe", "global", "function", "delete", "print", "println", "printf", "foreach"})
            offer(keyword, line, true);
    }
    if (is_first || first == "top" || first == "hist" || line.find_first_of("[(@") != std::string::npos ||
        !word.empty())
        for (const std::string& name : script_->global_names())
            offer(name, word, false);
    // A point: it has parentheses and strings, so the whole line is the word.
    if (!line.empty() && line.find(' ') == std::string::npos && out.words.empty()) {
        out.begin = 0;
        for (const Completion& one : complete_point(line, point_sources()))
            offer(one.text, line, one.is_whole);
    }
    return out;
}

int refuse(const std::string& message) { return say_error("repl: " + message), exit_failure; }

// Options that have no meaning here, with the reason.
std::string why_not(const Options& options) {
    if (options.driver.last_pass != 5 || !options.driver.dump.empty() || options.driver.list ||
        !options.driver.why.empty() || options.driver.inventory != Inventory::None)
        return "an option asks for a listing or for a part of the translation, not for a session";
    if (!options.session.output.path.empty() || options.driver.background)
        return "-o and -F need a script that is complete; use `sonde -e`";
    if (options.name_other_machine() || !options.driver.kernel.empty())
        return "probes cannot be tried for another machine";
    return "";
}

} // namespace

int run(const std::vector<std::string>& words) {
    if (!words.empty() && (words[0] == "-h" || words[0] == "--help"))
        return fmt::print("{}", usage), 0;
    // An empty script, so that the first word is not the name of a file.
    std::vector<std::string> all = {"sonde", "-e", "probe never {}"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& word : all)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    std::variant<Options, int> read = read_command_line(static_cast<int>(all.size()), argv.data());
    if (const int* status = std::get_if<int>(&read))
        return *status;
    Options options = std::get<Options>(std::move(read));
    set_warnings_off(options.translate.warnings_off);
    if (const std::string why = why_not(options); !why.empty())
        return refuse(why);
    std::vector<std::string>& programs = options.translate.positional;
    if (programs.size() > 1)
        return refuse(fmt::format("expected one program, got `{}`", fmt::join(programs, " ")));
    if (!programs.empty()) {
        if (options.session.has_target())
            return refuse(fmt::format("-x, -c and PROGRAM exclude each other; leave out `{}`", programs[0]));
        Result<std::string> path = find_in_path(programs[0]);
        if (!path)
            return refuse(path.error().message);
        // As for -c: points without a path belong to the program.
        options.translate.target_command = *path;
        programs.clear();
    }
    // Hits are counted for `list`.
    options.translate.keeps_times = true;
    Result<Policies> policies = read_confinement(options);
    if (!policies)
        return refuse(policies.error().message);
    if (Result<void> enough = check_memory(); !enough)
        return refuse(enough.error().message);
    Result<int> status = Repl(std::move(options), *std::move(policies)).run();
    return status ? *status : refuse(status.error().message);
}

} // namespace sonde::repl
