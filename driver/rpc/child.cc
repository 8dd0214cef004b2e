// A session normally ends by its own -T. The deadlines here are for a session that hangs, and for its translation,
// which can read much debug information.
//
// SIGINT ends a session as a user's Ctrl-C does: its end probes run, and it reports losses. If that takes too long, the
// whole process group is killed; the kernel then detaches the probes.
#include "driver/rpc/child.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace sonde::rpc {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr milliseconds grace{5'000};        // from SIGINT to SIGKILL
constexpr milliseconds session_end{10'000}; // beyond -T
constexpr size_t most_errors = size_t{64} << 10;

Clock::duration as_duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(duration<double>(seconds));
}
double seconds_between(Clock::time_point begin, Clock::time_point end) { return duration<double>(end - begin).count(); }

struct Pipe {
    Fd reader, writer;
};
Result<Pipe> make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno_error("cannot create a pipe", errno);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// A file in memory at its beginning.
Result<Fd> make_file(const char* name, const std::string& text) {
    Fd out(memfd_create(name, MFD_CLOEXEC));
    if (!out)
        return errno_error("cannot create a file in memory", errno);
    if (Result<void> written = write_all(out.get(), text, name); !written)
        return std::move(written).error();
    lseek(out.get(), 0, SEEK_SET);
    return out;
}

// The child's descriptors, by their number there.
using Inherited = std::array<int, 5>;

[[noreturn]] void run_child(const std::vector<std::string>& words, const Inherited& inherited, pid_t server) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != server)
        _exit(1);
    setpgid(0, 0);
    std::signal(SIGPIPE, SIG_DFL);
    // A descriptor must not be overwritten before it is copied, so all move out of the way first.
    Inherited moved{};
    for (size_t i = 0; i < inherited.size(); i++)
        moved[i] = fcntl(inherited[i], F_DUPFD_CLOEXEC, 16);
    for (size_t i = 0; i < moved.size(); i++)
        if (dup2(moved[i], static_cast<int>(i)) < 0)
            _exit(1);
    std::vector<const char*> argv = {"sonde"};
    for (const std::string& word : words)
        argv.push_back(word.c_str());
    argv.push_back(nullptr);
    execv("/proc/self/exe", const_cast<char* const*>(argv.data()));
    _exit(127);
}

// Reads what is there. Returns false at the end of the stream.
bool read_available(int fd, std::string& out) {
    char buffer[65536];
    while (true) {
        const ssize_t got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0;
        out.append(buffer, static_cast<size_t>(got));
    }
}

// Cuts a text to at most `size` bytes, after the last whole line.
void cut_at_line(std::string& text, size_t size) {
    text.resize(std::min(text.size(), size));
    const size_t end = text.rfind('\n');
    text.resize(end == std::string::npos ? 0 : end + 1);
}

} // namespace

Result<Child> Child::start(ChildSetting setting) {
    Result<Pipe> output = make_pipe(), errors = make_pipe(), ready = make_pipe();
    Result<Fd> input = make_file("script", setting.input), report = make_file("report", "");
    for (const auto* one : {&output, &errors, &ready})
        if (!*one)
            return one->error();
    for (const auto* one : {&input, &report})
        if (!*one)
            return one->error();
    const pid_t server = getpid(), pid = fork();
    if (pid < 0)
        return errno_error("cannot create a process", errno);
    if (pid == 0)
        run_child(setting.words,
                  {input->get(), output->writer.get(), errors->writer.get(), report->get(), ready->writer.get()},
                  server);
    Child out(std::move(setting), pid);
    out.process_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!out.process_)
        return errno_error("cannot watch a process", errno);
    out.output_ = std::move(output->reader);
    out.errors_ = std::move(errors->reader);
    out.ready_ = std::move(ready->reader);
    out.report_ = *std::move(report);
    return out;
}

Child::Child(Child&& other) noexcept
    : setting_(std::move(other.setting_)), pid_(std::exchange(other.pid_, 0)), process_(std::move(other.process_)),
      output_(std::move(other.output_)), errors_(std::move(other.errors_)), ready_(std::move(other.ready_)),
      report_(std::move(other.report_)), begin_(other.begin_), armed_(other.armed_), kill_at_(other.kill_at_),
      outcome_(std::move(other.outcome_)) {}

Child::~Child() {
    if (pid_ <= 0)
        return;
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

std::vector<int> Child::descriptors() const {
    std::vector<int> out = {process_.get()};
    for (const Fd* one : {&output_, &errors_, &ready_})
        if (one->valid())
            out.push_back(one->get());
    return out;
}

Clock::time_point Child::deadline() const {
    if (!setting_.seconds || !armed_)
        return begin_ + as_duration(setting_.startup_seconds);
    return *armed_ + as_duration(*setting_.seconds) + session_end;
}

Clock::time_point Child::wake_up() const { return (kill_at_ ? *kill_at_ : deadline()) + milliseconds(1); }

double Child::age() const { return seconds_between(begin_, Clock::now()); }

void Child::stop(EndedBy reason) {
    if (kill_at_)
        return;
    outcome_.ended_by = reason;
    kill_at_ = Clock::now() + grace;
    kill(pid_, SIGINT);
}

std::string Child::take_lines() {
    const size_t end = outcome_.output.rfind('\n') + 1; // 0: no whole line
    std::string out = outcome_.output.substr(0, end);
    outcome_.output.erase(0, end);
    return out;
}

void Child::read_output() {
    std::string text;
    if (!read_available(output_.get(), text))
        output_.reset();
    outcome_.output_bytes += text.size();
    const size_t room = setting_.output_bytes - std::min<size_t>(setting_.output_bytes, outcome_.output.size());
    outcome_.output.append(text, 0, room);
    if (text.size() > room)
        stop(EndedBy::Output);
}

void Child::read_errors() {
    std::string text;
    if (!read_available(errors_.get(), text))
        errors_.reset();
    outcome_.errors.append(text, 0, most_errors - std::min(most_errors, outcome_.errors.size()));
}

bool Child::advance() {
    siginfo_t state{};
    const bool has_ended =
        waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid == pid_;
    if (ready_) {
        std::string text;
        const bool open = read_available(ready_.get(), text);
        if (!text.empty())
            armed_ = Clock::now();
        if (!open || armed_)
            ready_.reset();
    }
    if (output_)
        read_output();
    if (errors_)
        read_errors();
    if (has_ended)
        return false;
    const Clock::time_point now = Clock::now();
    if (!kill_at_ && now > deadline())
        stop(setting_.seconds && armed_ ? EndedBy::Time : EndedBy::Startup);
    if (kill_at_ && now > *kill_at_) {
        kill(-pid_, SIGKILL);
        kill(pid_, SIGKILL);
    }
    return true;
}

Outcome Child::finish() {
    // The session's command could have started others. The process still exists as a zombie, so its number is not used
    // again.
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    Outcome& out = outcome_;
    const Clock::time_point now = Clock::now();
    out.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    out.was_armed = armed_.has_value();
    out.armed_s = armed_ ? seconds_between(*armed_, now) : 0;
    out.total_s = seconds_between(begin_, now);
    if (out.ended_by == EndedBy::Exit && armed_ && setting_.seconds && out.armed_s >= *setting_.seconds)
        out.ended_by = EndedBy::Time;
    if (out.output_bytes > out.output.size())
        cut_at_line(out.output, out.output.size());
    out.cut_bytes = out.output_bytes - out.output.size();
    if (lseek(report_.get(), 0, SEEK_SET) == 0)
        if (Result<std::string> report = read_all(report_.get(), "the report"))
            out.report = *std::move(report);
    return std::move(out);
}

} // namespace sonde::rpc
