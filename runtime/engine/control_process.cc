// The session's end of its control files; control_process.h explains why a second process serves them.
//
//     reader          server                            session
//     read(file) -->  the request waits
//                     frame Read, number 7       -->    runs the handler
//                     answers the request        <--    frame Answer, number 7
//
// A request has a deadline. If the session does not answer in time, the server gives the reader an error. The session
// then does not run the handler for that request any more, because a handler can have effects.
//
// The server must not hold anything that outlives the session: no descriptors besides the socket, no terminal, and no
// working directory on a file system that someone wants to unmount.
#include "runtime/engine/control_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/kernel/privileges.h"
#include "runtime/plan/kinds.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Separates the server from the session: no terminal, none of its signals, no inherited files.
void leave_session(int socket) {
    setsid();
    prctl(PR_SET_NAME, "sonde-files");
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
        ::signal(signal, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        dup2(nothing, fd);
    close_range(3, static_cast<unsigned>(socket) - 1, 0);
    close_range(static_cast<unsigned>(socket) + 1, ~0u, 0);
    // A process's working directory prevents unmounting.
    static_cast<void>(chdir("/"));
}

} // namespace

ControlProcess::ControlProcess(Fd socket, pid_t pid, const plan::Plan& plan, SpecialFiles special)
    : channel_(std::move(socket)), pid_(pid), nodes_(control_nodes(plan, special)), text_limit_(plan.max_string - 1) {}

// The child never returns from this function, and ends with _exit(), so that it runs no destructors of the parent's
// objects.
Result<std::unique_ptr<ControlProcess>> ControlProcess::start(const plan::Plan& plan, SpecialFiles special) {
    if (special.edits)
        for (const plan::Probe& probe : plan.probes)
            if (plan::is_file(probe.kind) && (probe.points[0].path + "/").starts_with("probes/"))
                return Error(fmt::format("--editable makes the control files `probes/add`, `probes/remove` and "
                                         "`probes/list`; choose another name for `{}` ({})",
                                         probe.points[0].path, probe.place));
    if (control_nodes(plan, special).size() == 1)
        return std::unique_ptr<ControlProcess>();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("cannot start the process that serves the control files", errno);
    Fd own(ends[0]), servers(ends[1]);
    pid_t pid = fork();
    if (pid < 0)
        return errno_error("cannot start the process that serves the control files", errno);
    if (pid == 0) {
        own.reset();
        // Use a number above those of standard input, output and error, which leave_session() replaces.
        int socket = fcntl(servers.get(), F_DUPFD_CLOEXEC, 10);
        leave_session(socket);
        keep_capabilities({CAP_SYS_ADMIN, CAP_DAC_OVERRIDE}); // to mount, and to create and remove the folder
        serve_control_files(plan, special, Fd(socket));
        _exit(0);
    }
    return std::unique_ptr<ControlProcess>(new ControlProcess(std::move(own), pid, plan, special));
}

Result<void> ControlProcess::mount() {
    constexpr int most_ms = 10000;
    channel_.send({}, "");
    ControlFrame frame;
    std::string text;
    const int64_t deadline = now_ns() + most_ms * 1000000ll;
    while (now_ns() < deadline) {
        pollfd ready{channel_.fd(), POLLIN, 0};
        poll(&ready, 1, 100);
        bool alive = channel_.receive();
        if (channel_.take(frame, text))
            return text.empty() ? Result<void>() : Error(text);
        if (!alive)
            break;
    }
    return Error("cannot make the control files: the process that serves them does not answer");
}

// A Read whose deadline has passed is not answered: its reader got an error already, and the handler may have side
// effects.
void ControlProcess::serve(const RunFileHandler& run, const DumpHandler& dump, ProbeEditor* editor,
                           const std::function<bool()>& stop) {
    ended_ = !channel_.receive();
    if (ended_) {
        warn("the process that serves the control files was killed; restart the session to get the files back",
             Weight::Answer);
        take_away();
    }
    ControlFrame frame;
    std::string text;
    while (!stop() && channel_.take(frame, text)) {
        if (frame.node >= nodes_.size())
            continue;
        const ControlNode& node = nodes_[frame.node];
        if (node.is_dump) {
            if (frame.kind == ControlFrame::Write)
                dump(text);
            else if (frame.kind == ControlFrame::Read && now_ns() < frame.deadline_ns)
                channel_.send({ControlFrame::Answer, frame.node, frame.id, 0, 0}, dump(std::nullopt));
            continue;
        }
        if (frame.kind == ControlFrame::Edit && node.edits && editor && now_ns() < frame.deadline_ns) {
            editor->ask(*node.edits, text, frame.is_whole,
                        [this, node = frame.node, id = frame.id](const ProbeEditor::Answer& answer) {
                            channel_.send({.kind = ControlFrame::Answer, .node = node, .id = id, .error = answer.error},
                                          answer.text);
                        });
        } else if (frame.kind == ControlFrame::Write) {
            for (const plan::Probe* probe : node.writes)
                run(*probe, text, text_limit_);
        } else if (frame.kind == ControlFrame::Read && node.reads && now_ns() < frame.deadline_ns) {
            uint64_t limit = node.reads->points[0].file.max_size;
            const ControlFrame answer{.kind = ControlFrame::Answer, .node = frame.node, .id = frame.id};
            channel_.send(answer, run(*node.reads, "", limit ? limit : text_limit_));
        }
    }
    channel_.flush();
}

void ControlProcess::take_away() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    remove_leftovers();
}

// The server sees the closed socket, unmounts and exits. It gets 1.5 seconds for this, then it is killed.
ControlProcess::~ControlProcess() {
    constexpr int turns = 150, turn_us = 10000;
    shutdown(channel_.fd(), SHUT_RDWR);
    for (int i = 0; pid_ > 0 && i < turns; i++) {
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) != 0) {
            pid_ = -1;
            if (WIFSIGNALED(status))
                remove_leftovers();
        } else {
            usleep(turn_us);
        }
    }
    if (pid_ > 0)
        take_away(); // SIGSTOP has stopped it, so it did not see the socket close
}

} // namespace sonde
