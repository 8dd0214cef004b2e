#include "driver/rpc/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace sonde::rpc {
namespace {

// Out of memory, the kernel should end the child, not the server.
void offer_to_oom_killer() { static_cast<void>(write_file("/proc/self/oom_score_adj", "1000")); }

[[noreturn]] void run_child(const std::function<std::string()>& work, int output, pid_t server) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(1);
    offer_to_oom_killer();
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    int status = 1;
    try {
        status = write_all(output, work(), "the answer") ? 0 : 1;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "sonde: %s\n", problem.what());
    }
    _exit(status);
}

} // namespace

Result<Worker> Worker::start(const std::function<std::string()>& work) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno_error("cannot create a pipe", errno);
    Fd output(ends[0]), input(ends[1]);
    const pid_t server = getpid(), child = fork();
    if (child < 0)
        return errno_error("cannot create a process", errno);
    if (child == 0)
        run_child(work, input.get(), server);
    return Worker(child, std::move(output));
}

Worker::Worker(Worker&& other) noexcept
    : child_(std::exchange(other.child_, 0)), output_(std::move(other.output_)), text_(std::move(other.text_)) {}

Worker::~Worker() {
    if (child_ <= 0)
        return;
    kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool Worker::read_some() {
    char buffer[65536];
    const ssize_t got = read(output_.get(), buffer, sizeof buffer);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    text_.append(buffer, static_cast<size_t>(got));
    return got > 0;
}

Result<std::string> Worker::finish() {
    int status = 0;
    while (waitpid(child_, &status, 0) < 0)
        if (errno != EINTR)
            return errno_error("cannot wait for a process", errno);
    child_ = 0;
    if (WIFSIGNALED(status))
        return Error(
            fmt::format("its process was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
    if (WEXITSTATUS(status) != 0)
        return Error(fmt::format("its process ended with status {}", WEXITSTATUS(status)));
    return std::move(text_);
}

CapturedErrors::CapturedErrors()
    : file_(memfd_create("messages", MFD_CLOEXEC)), before_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    std::fflush(stderr);
    if (file_)
        dup2(file_.get(), STDERR_FILENO);
}

CapturedErrors::~CapturedErrors() {
    std::fflush(stderr);
    if (before_)
        dup2(before_.get(), STDERR_FILENO);
}

std::string CapturedErrors::text() const {
    std::fflush(stderr);
    if (!file_ || lseek(file_.get(), 0, SEEK_SET) < 0)
        return "";
    Result<std::string> all = read_all(file_.get(), "messages");
    return all ? *std::move(all) : "";
}

} // namespace sonde::rpc
