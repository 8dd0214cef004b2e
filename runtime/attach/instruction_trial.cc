// The problem: a uprobe replaces an instruction by a breakpoint. When the breakpoint is hit, the kernel emulates the
// instruction or executes a copy of it elsewhere. For some instructions the result is wrong, and the kernel attaches to
// them without an error. For example, it mistakes `vpor` (c5 f9 eb c1) for `jmp`, because it reads the byte eb as the
// opcode. The traced program then computes something else.
//
// The idea: execute a sample of each class twice, without and with a probe, and compare everything that the program
// could notice.
//
// 1. The samples are written to an anonymous file (memfd), one page for each. Other processes do not map this file, so
//    they cannot hit the probes.
// 2. A child process maps the file. It runs each sample `rounds` times from a fixed state: registers, flags, vector
//    registers, memory and stack. It stores the state after the last run.
// 3. The session puts a uprobe on each sample, and the child runs all samples again.
// 4. A class passes if both states are equal and each probe was hit exactly `rounds` times. A repeated string
//    instruction (`rep movsb`) has an equal state, but the kernel counts one hit for each element.
//
// The child must survive any result. A mistaken jump can go anywhere: the bytes around the sample are breakpoints, and
// a signal handler brings the child back. A sample that never comes back is stopped by a timer. If anything in the test
// itself fails, the class counts as broken: a probe that is refused is better than a changed program.
#include "runtime/attach/instruction_trial.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "arch/host/trial_state.h"
#include "arch/instruction_trial.h"
#include "base/fd.h"
#include "runtime/attach/attach.h"
#include "runtime/kernel/uprobe_session.h"

namespace sonde {
namespace {

constexpr int rounds = 3;
constexpr int round_limit_ms = 100; // some samples loop forever in the page where the kernel executes the copies
constexpr size_t page = 4096, sample_at = 2048, memory_bytes = 8192;

// The state after a sample. Both runs must be equal in all members.
struct Outcome {
    TrialState state;
    uint64_t memory; // hash of the data and of the stack above the red zone
    bool done;
    bool operator==(const Outcome& other) const {
        return std::memcmp(&state, &other.state, sizeof state) == 0 && memory == other.memory && done == other.done;
    }
};

void take_signal(int signal, siginfo_t* /*info*/, void* context) { take_trial_signal(signal, context); }

// Memory that the child shares with the session, or code that the child executes.
class Mapping {
  public:
    explicit Mapping(size_t size, int protection = PROT_READ | PROT_WRITE, int flags = MAP_SHARED | MAP_ANONYMOUS,
                     int fd = -1)
        : size_(size), at_(mmap(nullptr, size, protection, flags, fd, 0)) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (*this)
            munmap(at_, size_);
    }
    explicit operator bool() const { return at_ != MAP_FAILED; }
    char* at(size_t offset = 0) const { return static_cast<char*>(at_) + offset; }

  private:
    size_t size_;
    void* at_;
};

// Everything that the child needs. It is created before fork(), because allocating memory after fork() is not safe: the
// session may have other threads.
struct Trial {
    std::vector<TrialSample> wanted;
    Fd file; // a page for each sample
    Mapping code, memory, results;

    explicit Trial(std::vector<TrialSample> some, Fd fd)
        : wanted(std::move(some)), file(std::move(fd)),
          code(wanted.size() * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get()), memory(2 * memory_bytes),
          results(2 * wanted.size() * sizeof(Outcome)) {}
    bool ready() const { return code && memory && results; }
    Outcome& outcome(size_t sample, bool probed) const {
        return reinterpret_cast<Outcome*>(results.at())[2 * sample + (probed ? 1 : 0)];
    }
};

Fd make_file(const std::vector<TrialSample>& wanted) {
    constexpr unsigned may_execute = 0x0010; // MFD_EXEC (6.3); older kernels reject it
    Fd out(static_cast<int>(syscall(SYS_memfd_create, "sonde_trial", MFD_CLOEXEC | may_execute)));
    if (out.get() < 0)
        out = Fd(static_cast<int>(syscall(SYS_memfd_create, "sonde_trial", MFD_CLOEXEC)));
    for (size_t i = 0; i < wanted.size(); i++) {
        const std::string text = trial_page(wanted[i].code, page, sample_at);
        if (pwrite(out.get(), text.data(), text.size(), static_cast<off_t>(i * page)) !=
            static_cast<ssize_t>(text.size()))
            return {};
    }
    return out;
}

// ---- in the child ---------------------------------------------------------------------------------------------------

uint64_t hash_of(const char* bytes, size_t size) {
    uint64_t out = 0xcbf29ce484222325; // FNV-1a
    for (size_t i = 0; i < size; i++)
        out = (out ^ static_cast<uint8_t>(bytes[i])) * 0x100000001b3;
    return out;
}

void set_timer(int milliseconds) {
    itimerval timer{};
    timer.it_value.tv_usec = milliseconds * 1000;
    setitimer(ITIMER_REAL, &timer, nullptr);
}

// Runs one sample `rounds` times and stores the state after the last run. Each round starts from the same registers and
// memory, so that the runs with and without a probe can be compared.
void run_sample(const Trial& trial, size_t sample, bool probed) {
    char *data = trial.memory.at(), *stack = trial.memory.at(memory_bytes);
    const char* behind = trial.code.at(sample * page) + sample_at + trial.wanted[sample].code.size();
    Outcome& out = trial.outcome(sample, probed);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < 2 * memory_bytes; i++)
            data[i] = static_cast<char>(i * 7 + i / 256);
        begin_trial(trial.wanted[sample].code, data, stack + memory_bytes / 2, behind);
        set_timer(round_limit_ms);
        run_trial_sample(trial.code.at(sample * page + sample_at));
        set_timer(0);
        if (trial_state().signal == SIGALRM)
            break;
    }
    // Ignore the memory below the red zone: a signal may overwrite it at any time, so no program uses that memory.
    out.memory =
        hash_of(data, memory_bytes) * 31 + hash_of(stack + memory_bytes / 2 - red_zone, memory_bytes / 2 + red_zone);
    out.state = trial_state();
    out.done = true;
}

// Runs all samples without probes, reports this on `ready`, waits on `go` until the session has attached the probes,
// and runs them again.
[[noreturn]] void run_child(const Trial& trial, int ready, int go) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 1);
    cpu_set_t here; // each processor has its own answers to `cpuid`
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    // The signal handler needs its own stack: a sample may leave any value in the stack pointer.
    static char own_stack[64 << 10];
    stack_t alternative{};
    alternative.ss_sp = own_stack;
    alternative.ss_size = sizeof own_stack;
    sigaltstack(&alternative, nullptr);
    sigset_t nothing;
    sigemptyset(&nothing);
    sigprocmask(SIG_SETMASK, &nothing, nullptr);
    struct sigaction action{};
    action.sa_sigaction = take_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int number : {SIGSEGV, SIGTRAP, SIGILL, SIGBUS, SIGFPE, SIGALRM})
        sigaction(number, &action, nullptr);
    for (bool probed : {false, true}) {
        for (size_t i = 0; i < trial.wanted.size(); i++)
            run_sample(trial, i, probed);
        char byte = 0;
        if (!probed && (write(ready, "r", 1) != 1 || read(go, &byte, 1) != 1))
            break;
    }
    _exit(0);
}

// ---- in the session -------------------------------------------------------------------------------------------------

// Counts the hits of probes on samples in the child.
class HitCounts {
  public:
    virtual ~HitCounts() = default;
    // Of a sample; empty: it has no probe.
    virtual std::optional<uint64_t> of(size_t sample) const = 0;
};

// One perf event for each sample: for kernels without uprobe_multi links. Each takes about 100 ms.
class EventCounts final : public HitCounts {
  public:
    EventCounts(const Trial& trial, pid_t child) {
        uint32_t type = 0;
        if (!(std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> type))
            return;
        const std::string path = fmt::format("/proc/self/fd/{}", trial.file.get());
        for (size_t i = 0; i < trial.wanted.size(); i++) {
            perf_event_attr attr{};
            attr.size = sizeof attr;
            attr.type = type;
            attr.config1 = reinterpret_cast<uint64_t>(path.c_str());
            attr.config2 = i * page + sample_at;
            events_.emplace_back(
                static_cast<int>(syscall(SYS_perf_event_open, &attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC)));
        }
    }
    std::optional<uint64_t> of(size_t sample) const override {
        uint64_t hits = 0;
        if (sample >= events_.size() || !events_[sample] ||
            read(events_[sample].get(), &hits, sizeof hits) != sizeof hits)
            return std::nullopt;
        return hits;
    }

  private:
    std::vector<Fd> events_;
};

// uprobe_multi links (6.6), each for many samples, and a program that counts by the probe's cookie. Taking a link off
// waits for the kernel, so there are few: one for all samples, but for those of classes that the kernel refuses. These
// have one for each class, as a link that contains one of them cannot be made.
class LinkCounts final : public HitCounts {
  public:
    // Null: the kernel has no such links, or does not let this process make them.
    static std::unique_ptr<LinkCounts> make(const Trial& trial, pid_t child) {
        std::unique_ptr<LinkCounts> out(new LinkCounts(trial.wanted.size()));
        if (!out->load())
            return nullptr;
        std::map<Hazard, std::vector<size_t>> by_class;
        std::vector<size_t> together;
        for (size_t i = 0; i < trial.wanted.size(); i++) {
            by_class[trial.wanted[i].hazard].push_back(i);
            if (traits_of(trial.wanted[i].hazard).effect != HazardEffect::Refused)
                together.push_back(i);
        }
        const bool linked = out->link(trial, child, together);
        for (const auto& [hazard, samples] : by_class)
            if (!linked || traits_of(hazard).effect == HazardEffect::Refused)
                out->link(trial, child, samples);
        if (out->links_.empty())
            return nullptr;
        return out;
    }
    std::optional<uint64_t> of(size_t sample) const override {
        uint64_t hits = 0;
        const auto key = static_cast<uint32_t>(sample);
        if (!has_probe_[sample] || bpf_map_lookup_elem(counts_.get(), &key, &hits) != 0)
            return std::nullopt;
        return hits;
    }

  private:
    explicit LinkCounts(size_t samples) : has_probe_(samples) {}

    bool load() {
        counts_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_trial", sizeof(uint32_t), sizeof(uint64_t),
                                    static_cast<uint32_t>(has_probe_.size()), nullptr));
        // counts[bpf_get_attach_cookie(r1)]++; return 0
        const bpf_insn code[] = {
            {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_attach_cookie},
            {BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0, -4, 0},
            {BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0},
            {BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4},
            {BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, counts_.get()},
            {0, 0, 0, 0, 0},
            {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem},
            {BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0},
            {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1},
            {BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD},
            {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
            {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
        };
        bpf_prog_load_opts options{};
        options.sz = sizeof options;
        options.expected_attach_type = static_cast<enum bpf_attach_type>(trace_uprobe_multi);
        program_ = Fd(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sonde_trial", "GPL", code, std::size(code), &options));
        return counts_ && program_;
    }

    bool link(const Trial& trial, pid_t child, const std::vector<size_t>& samples) {
        if (samples.empty())
            return true;
        UprobeTargets targets;
        targets.attach_name = fmt::format("/proc/self/fd/{}", trial.file.get());
        targets.process = child;
        for (const size_t sample : samples) {
            targets.offsets.push_back(sample * page + sample_at);
            targets.cookies.push_back(sample);
        }
        Result<std::unique_ptr<Attachment>> made = attach_uprobe_multi(program_.get(), targets);
        if (!made)
            return false;
        links_.push_back(*std::move(made));
        for (const size_t sample : samples)
            has_probe_[sample] = true;
        return true;
    }

    Fd counts_, program_;
    std::vector<bool> has_probe_;
    std::vector<std::unique_ptr<Attachment>> links_;
};

std::unique_ptr<HitCounts> place_probes(const Trial& trial, pid_t child) {
    if (std::unique_ptr<LinkCounts> links = LinkCounts::make(trial, child))
        return links;
    return std::make_unique<EventCounts>(trial, child);
}

struct Pipe {
    Fd read, write;
    static Pipe make() {
        int ends[2] = {-1, -1};
        if (pipe2(ends, O_CLOEXEC) != 0)
            return {};
        return {Fd(ends[0]), Fd(ends[1])};
    }
};

std::set<Hazard> judge(const Trial& trial, const HitCounts& counts) {
    std::set<Hazard> out;
    for (size_t i = 0; i < trial.wanted.size(); i++) {
        const Outcome &plain = trial.outcome(i, false), &probed = trial.outcome(i, true);
        if (counts.of(i) != uint64_t{rounds} || !plain.done || !(plain == probed))
            out.insert(trial.wanted[i].hazard);
    }
    return out;
}

// Waits for the child, and kills it after 15 seconds.
void wait_for(pid_t child) {
    constexpr int most_ms = 15'000;
    for (int waited = 0;; waited++) {
        if (waitpid(child, nullptr, WNOHANG) != 0)
            return;
        if (waited == most_ms)
            kill(child, SIGKILL);
        usleep(1000);
    }
}

// Runs the child. Returns all classes if the test cannot run, and otherwise the broken ones.
std::set<Hazard> run_trial(const Trial& trial) {
    std::set<Hazard> all;
    for (const TrialSample& sample : trial.wanted)
        all.insert(sample.hazard);
    Pipe ready = Pipe::make(), go = Pipe::make();
    if (ready.read.get() < 0 || go.read.get() < 0)
        return all;
    const pid_t child = fork();
    if (child < 0)
        return all;
    if (child == 0) {
        close(ready.read.get());
        close(go.write.get());
        run_child(trial, ready.write.get(), go.read.get());
    }
    ready.write = {};
    go.read = {};
    std::unique_ptr<HitCounts> counts;
    char byte = 0;
    ssize_t told = 0;
    do
        told = read(ready.read.get(), &byte, 1);
    while (told < 0 && errno == EINTR);
    if (told == 1) {
        counts = place_probes(trial, child);
        if (write(go.write.get(), "g", 1) != 1)
            kill(child, SIGKILL);
    }
    go.write = {};
    wait_for(child);
    return counts ? judge(trial, *counts) : all;
}

} // namespace

std::set<Hazard> try_hazards(const std::set<Hazard>& wanted) {
    std::vector<TrialSample> some;
    std::set<Hazard> out;
    // Programs do not execute what this processor lacks.
    for (const TrialSample& sample : trial_samples())
        if (wanted.contains(sample.hazard))
            some.push_back(sample);
    for (Hazard hazard : wanted)
        if (hazard != Hazard::None && std::ranges::find(some, hazard, &TrialSample::hazard) == some.end())
            out.insert(hazard);
    if (some.empty())
        return out;
    Fd file = make_file(some);
    const Trial trial(std::move(some), std::move(file));
    if (trial.ready())
        out.merge(run_trial(trial));
    else
        for (const TrialSample& sample : trial.wanted)
            out.insert(sample.hazard);
    return out;
}

} // namespace sonde
