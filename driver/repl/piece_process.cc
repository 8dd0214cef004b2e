// The child reports over a socket: one message when it is armed, with descriptors of three of its maps, and one when
// its script has called exit(). With these maps, the parent reads the counts of hits and pauses the handlers without
// asking the child, which may be busy.
//
// A child that is killed can hold the lock of the shared globals. Handlers in the kernel would wait for it in vain at
// each hit, and skip the hit. So the parent releases the lock of a child that has ended.
#include "driver/repl/piece_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/packets.h"
#include "driver/pass.h"
#include "driver/sinks.h"
#include "runtime/engine/session.h"
#include "runtime/load/load.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/text/messages.h"
#include "runtime/values/session_data.h"

namespace sonde::repl {
namespace {

struct Report {
    enum Kind : uint32_t { Armed, Exited } kind;
    uint32_t rows = 0, probes = 0;
};
// The descriptors of an Armed report: the data area, ProbeTiming by row, ProbeCounts by probe.
constexpr size_t maps_of_report = 3;

void send_report(int socket, const Report& report, const std::vector<int>& descriptors) {
    send_packet(socket, {reinterpret_cast<const char*>(&report), sizeof report}, descriptors, true);
}

// The main function of the child.
int run_piece(const plan::Plan& plan, const Options& options, const SharedMaps& maps, int socket,
              const std::function<Result<plan::Plan>(uint32_t)>& rearrange) {
    SessionData* data = nullptr;
    SessionHooks hooks;
    hooks.make_sinks = [&](SessionData& one, Output& output) {
        data = &one;
        return sink_maker(options)(one, output);
    };
    hooks.armed = [&] {
        std::vector<int> descriptors;
        if (data && data->kernel)
            for (const char* name : {".bss", plan::maps::timing, plan::maps::counts})
                descriptors.push_back(data->kernel->map_fd(name));
        if (std::ranges::find(descriptors, -1) != descriptors.end())
            descriptors.clear();
        send_report(socket,
                    {Report::Armed, static_cast<uint32_t>(plan.rows.size()), static_cast<uint32_t>(plan.probes.size())},
                    descriptors);
    };
    const SharedSession shared{.maps = maps, .exited = [socket] { send_report(socket, {Report::Exited}, {}); }};
    Result<int> status = run_session(plan, options.session, options.translate, hooks, &shared);
    constexpr uint32_t most = 4;
    for (uint32_t i = 1; !status && status.error().os_error == kernel_cannot_compile && rearrange && i <= most; i++) {
        const Result<plan::Plan> other = rearrange(i);
        status = other ? run_session(*other, options.session, options.translate, hooks, &shared)
                       : Result<int>(other.error());
    }
    if (!status)
        say_error(status.error().message);
    return status ? *status : exit_failure;
}

} // namespace

Result<std::unique_ptr<PieceProcess>>
PieceProcess::start(const plan::Plan& plan, const Options& options, const SharedMaps& maps, const Streams& streams,
                    const std::function<Result<plan::Plan>(uint32_t)>& rearrange) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("cannot start a probe", errno);
    std::unique_ptr<PieceProcess> out(new PieceProcess());
    out->reports_.reset(ends[0]);
    out->maps_ = &maps;
    Fd child_end(ends[1]);
    fflush(nullptr);
    const pid_t parent = getpid();
    out->pid_ = fork();
    if (out->pid_ < 0)
        return errno_error("cannot start a probe", errno);
    if (out->pid_ == 0) {
        // Ctrl-C is meant for the prompt, not for the probes.
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(exit_failure);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGQUIT, SIGWINCH})
            ::signal(number, SIG_DFL);
        const Fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
        dup2(nothing.get(), STDIN_FILENO);
        if (streams.output >= 0)
            dup2(streams.output, STDOUT_FILENO);
        if (streams.errors >= 0)
            dup2(streams.errors, STDERR_FILENO);
        const int status = run_piece(plan, options, maps, child_end.get(), rearrange);
        fflush(nullptr);
        _exit(status);
    }
    setpgid(out->pid_, out->pid_);
    out->process_fd_.reset(static_cast<int>(syscall(SYS_pidfd_open, out->pid_, 0)));
    if (!out->process_fd_)
        return errno_error("cannot watch a probe's process", errno);
    return out;
}

PieceProcess::~PieceProcess() {
    if (pid_ > 0 && !has_ended_) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    if (state_)
        munmap(state_, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

void PieceProcess::take_report() {
    std::string bytes;
    std::vector<Fd> descriptors;
    const PacketEnd end = receive_packet(reports_.get(), sizeof(Report), bytes, descriptors);
    if (end == PacketEnd::Closed)
        reports_.reset();
    if (end != PacketEnd::Packet || bytes.size() != sizeof(Report))
        return;
    Report report{};
    std::memcpy(&report, bytes.data(), sizeof report);
    if (report.kind == Report::Exited)
        exited_ = true;
    else
        is_armed_ = true;
    if (descriptors.size() != maps_of_report)
        return;
    data_ = std::move(descriptors[0]);
    timing_ = std::move(descriptors[1]);
    counts_ = std::move(descriptors[2]);
    rows_ = report.rows;
    probes_ = report.probes;
    void* memory =
        mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE, MAP_SHARED, data_.get(), 0);
    static_assert(offsetof(plan::SessionWords, state) == 0);
    if (memory != MAP_FAILED)
        state_ = static_cast<uint64_t*>(memory);
}

void PieceProcess::look() {
    for (pollfd one{reports_.get(), POLLIN, 0}; reports_ && poll(&one, 1, 0) > 0;)
        take_report();
    int status = 0;
    if (has_ended_ || waitpid(pid_, &status, WNOHANG) != pid_)
        return;
    has_ended_ = true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    while (reports_) // the last reports
        take_report();
    process_fd_.reset();
    auto* lock = reinterpret_cast<uint64_t*>(maps_->memory() + plan::shared_lock);
    uint64_t holder = __atomic_load_n(lock, __ATOMIC_SEQ_CST);
    if (holder >> 32 == static_cast<uint64_t>(pid_))
        __atomic_compare_exchange_n(lock, &holder, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void PieceProcess::signal(int number) const {
    if (!has_ended_)
        kill(-pid_, number);
}

void PieceProcess::pause(bool paused) {
    if (state_ && __atomic_load_n(state_, __ATOMIC_SEQ_CST) != plan::Stopping)
        __atomic_store_n(state_, paused ? plan::Arming : plan::Running, __ATOMIC_SEQ_CST);
}

PieceCounts PieceProcess::counts() const {
    PieceCounts out;
    out.is_known = state_ != nullptr;
    for (uint32_t row = 0; out.is_known && row < rows_; row++)
        if (plan::ProbeTiming timing{}; read_map_element(timing_.get(), row, &timing)) {
            out.hits += timing.hits;
            out.total_ns += timing.total_ns;
        }
    for (uint32_t probe = 0; out.is_known && probe < probes_; probe++)
        if (plan::ProbeCounts counts{}; read_map_element(counts_.get(), probe, &counts))
            out.lost += counts.skipped + counts.lost + counts.waited;
    return out;
}

} // namespace sonde::repl
