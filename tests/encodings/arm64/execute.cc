// Executes instructions of arm64 with and without a uprobe, and prints the differences, for tests/instructions.
//
//   execute ENCODINGS [--attach=best|uprobe_multi|perf_event|nothing] [--patience=SECONDS] [--leave-probes]
//
// The idea and the output are those of tests/encodings/execute.cc. Each instruction has a slot in a file of code whose
// other words are breakpoints. The code that runs a sample is that of sonde's own trials (arch/instruction_trial.h),
// with several initial states. A child process maps the file with probes or the one without at the same address, so
// every difference comes from the uprobe.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "arch/arm64/trial_state.h"
#include "arch/instruction_trial.h"
#include "tests/encodings/attach.h"
#include "tests/encodings/machine.h"

extern "C" sonde::TrialState sonde_trial_state;

namespace encodings {
namespace {

constexpr uint64_t code_place = 0x10000000, data_place = 0x22000000, stack_place = 0x21000000;
constexpr size_t memory_bytes = 8192, slot_bytes = 128, place_in_slot = 48;
constexpr int states = 3, repeats = 2, round_limit_ms = 200;

struct Run {
    sonde::TrialState state;
    uint64_t data, stack;
    uint64_t hits;
    uint64_t done; // 1; 2: the child died, 3: it hung
};

struct Result {
    Run runs[states][repeats];
    uint64_t word_before; // in memory, with or without a breakpoint
};

struct Progress {
    volatile uint64_t at; // the instruction that is being executed
    volatile uint64_t progress;
};

Progress* shared;
volatile uint64_t* hits;

std::vector<std::string> read_list(const char* path) {
    std::vector<std::string> out;
    std::ifstream input(path);
    for (std::string line; std::getline(input, line);) {
        std::string bytes;
        for (size_t at = 0; at + 1 < line.size() && line[at] != '\t'; at += 2)
            bytes += static_cast<char>(std::stoi(line.substr(at, 2), nullptr, 16));
        out.push_back(bytes);
    }
    return out;
}

void take_signal(int signal, siginfo_t* /*info*/, void* context) { sonde::take_trial_signal(signal, context); }

void set_timer(int milliseconds) {
    const itimerval timer = {{0, 0}, {0, milliseconds * 1000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}

uint64_t hash_of(const char* bytes, size_t size) {
    uint64_t out = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; i++)
        out = (out ^ static_cast<uint8_t>(bytes[i])) * 0x100000001b3;
    return out;
}

// Other values than those of sonde's trials: small numbers in half of the registers, and other flags. x8 would be the
// number of a system call.
void change_state(int state) {
    constexpr size_t first_small = 9, end_small = 16;
    constexpr uint64_t flags[states] = {0x20000000, 0x90000000, 0x40000000}; // C; N and V; Z
    sonde_trial_state.flags = flags[state];
    if (state == 0)
        return;
    for (size_t i = first_small; i < end_small; i++)
        sonde_trial_state.registers[i] = (i - first_small) * static_cast<size_t>(state);
    sonde_trial_state.registers[0] = state == 1 ? 0 : ~uint64_t{0};
}

void run_one(const std::string& code, size_t number, Result& out) {
    char* const place = reinterpret_cast<char*>(code_place) + number * slot_bytes + place_in_slot;
    char *data = reinterpret_cast<char*>(data_place), *stack = reinterpret_cast<char*>(stack_place);
    uint32_t word = 0;
    std::memcpy(&word, place, sizeof word);
    out.word_before = word;
    for (int state = 0; state < states; state++)
        for (int repeat = 0; repeat < repeats; repeat++) {
            for (size_t i = 0; i < memory_bytes; i++)
                data[i] = stack[i] = static_cast<char>(i * 7 + i / 256);
            const uint64_t before = *hits;
            sonde::begin_trial(code, data, stack + memory_bytes / 2, place + code.size());
            change_state(state);
            asm volatile("msr fpcr, xzr; msr fpsr, xzr");
            shared->progress = shared->progress + 1;
            set_timer(round_limit_ms);
            sonde::run_trial_sample(place);
            set_timer(0);
            Run& run = out.runs[state][repeat];
            run.state = sonde::trial_state();
            run.data = hash_of(data, memory_bytes);
            run.stack = hash_of(stack, memory_bytes);
            run.hits = *hits - before;
            run.done = 1;
        }
}

void map_at(uint64_t address, size_t size, int protection, int flags, int file) {
    if (mmap(reinterpret_cast<void*>(address), size, protection, flags | MAP_FIXED, file, 0) == MAP_FAILED)
        _exit(75);
}

[[noreturn]] void run_all(const std::vector<std::string>& list, size_t first, int file, size_t size, Result* outcomes) {
    map_at(code_place, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file);
    map_at(data_place, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    map_at(stack_place, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    constexpr size_t handler_bytes = 256 << 10; // frames with scalable vectors are large
    static char memory[handler_bytes];
    const stack_t own = {memory, 0, sizeof memory};
    sigaltstack(&own, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = take_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : {SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGALRM})
        sigaction(signal, &action, nullptr);
    for (size_t i = first; i < list.size(); i++) {
        shared->at = i;
        run_one(list[i], i, outcomes[i]);
    }
    _exit(0);
}

// Starts children until all instructions have an outcome.
void run_list(const std::vector<std::string>& list, int file, size_t size, Result* outcomes, int patience_s) {
    for (size_t at = 0; at < list.size(); at++) {
        shared->at = at;
        const pid_t pid = fork();
        if (pid == 0)
            run_all(list, at, file, size, outcomes);
        int status = 0;
        bool hung = false;
        uint64_t seen = 0;
        auto since = std::chrono::steady_clock::now();
        while (waitpid(pid, &status, WNOHANG) == 0) {
            if (shared->progress != seen) {
                seen = shared->progress;
                since = std::chrono::steady_clock::now();
            } else if (std::chrono::steady_clock::now() - since > std::chrono::seconds(patience_s)) {
                kill(pid, SIGKILL);
                hung = true;
            }
            usleep(1000);
        }
        if (!hung && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 75)
            fail("mmap in the child");
        at = shared->at;
        for (auto& runs : outcomes[at].runs)
            for (Run& run : runs)
                if (!run.done)
                    run.done = hung ? 3 : 2;
    }
}

std::string differences(const Result& plain, const Result& probed) {
    std::string out;
    const auto number = [](uint64_t value) {
        char text[32];
        snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
        return std::string(text);
    };
    for (int state = 0; state < states; state++)
        for (int repeat = 0; repeat < repeats; repeat++) {
            const Run &one = plain.runs[state][0], &other = plain.runs[state][1], &run = probed.runs[state][repeat];
            std::string differs;
            const auto add = [&](const std::string& name, uint64_t a, uint64_t b, uint64_t c) {
                if (a == b && a != c)
                    differs += ", " + name + ":" + number(a) + ">" + number(c);
            };
            const auto vector_hash = [](const Run& of, size_t i) {
                return hash_of(reinterpret_cast<const char*>(of.state.vectors[i].data()), of.state.vectors[i].size());
            };
            add("end", one.done, one.done, run.done);
            if (one.done == 1 && run.done == 1) {
                for (size_t i = 0; i < one.state.registers.size(); i++)
                    add("x" + std::to_string(i), one.state.registers[i], other.state.registers[i],
                        run.state.registers[i]);
                add("flags", one.state.flags, other.state.flags, run.state.flags);
                for (size_t i = 0; i < one.state.vectors.size(); i++)
                    add("v" + std::to_string(i), vector_hash(one, i), vector_hash(other, i), vector_hash(run, i));
                add("place", one.state.place, other.state.place, run.state.place);
                add("signal", one.state.signal, other.state.signal, run.state.signal);
                add("data", one.data, other.data, run.data);
                add("stack", one.stack, other.stack, run.stack);
            }
            if (!differs.empty())
                out += (out.empty() ? "" : " | ") + std::to_string(state) + std::to_string(repeat) + differs;
        }
    return out;
}

const char* describe(const Result& plain, size_t number) {
    const uint64_t place = code_place + number * slot_bytes + place_in_slot;
    bool lacks = true, faults = true;
    for (const auto& runs : plain.runs) {
        if (runs[0].done != 1)
            return "ends";
        const bool here = runs[0].state.signal != 0 && runs[0].state.place == place;
        lacks = lacks && here && runs[0].state.signal == SIGILL;
        faults = faults && here;
    }
    return lacks ? "lacks" : faults ? "faults" : "runs";
}

int write_code(const std::string& path, const std::vector<std::string>& list, size_t& size) {
    std::string code;
    for (const std::string& one : list)
        code += sonde::trial_page(one, slot_bytes, place_in_slot);
    code.resize((code.size() / page_size + 2) * page_size);
    size = code.size();
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (file < 0 || write(file, code.data(), code.size()) != static_cast<ssize_t>(code.size()))
        fail(path.c_str());
    return file;
}

// Starts a process that keeps the probes. The kernel takes events away one after the other, with a grace period for
// each.
void leave_probes() {
    if (fork() != 0)
        return;
    setsid();
    for (const int file : {0, 1, 2})
        close(file);
    for (;;)
        pause();
}

template <typename T> T* share(size_t count) {
    void* memory = mmap(nullptr, sizeof(T) * count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    return static_cast<T*>(memory);
}

} // namespace
} // namespace encodings

int main(int count, char** arguments) {
    using namespace encodings;
    std::string attach = "best";
    const char* path = nullptr;
    int patience_s = 5;
    bool leaves = false;
    for (int i = 1; i < count; i++) {
        const std::string word = arguments[i];
        if (word.starts_with("--attach="))
            attach = word.substr(9);
        else if (word.starts_with("--patience="))
            patience_s = std::stoi(word.substr(11));
        else if (word == "--leave-probes")
            leaves = true;
        else
            path = arguments[i];
    }
    const std::vector<std::string> list = path ? read_list(path) : std::vector<std::string>();
    if (list.empty()) {
        fprintf(stderr,
                "usage: execute ENCODINGS [--attach=best|uprobe_multi|perf_event|nothing] [--patience=SECONDS]\n");
        return 2;
    }
    std::string folder = std::string(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") + "/instructions-XXXXXX";
    if (!mkdtemp(folder.data()))
        fail(folder.c_str());
    size_t size = 0;
    const std::string plain_path = folder + "/plain", probed_path = folder + "/probed";
    const int plain_file = write_code(plain_path, list, size), probed_file = write_code(probed_path, list, size);
    std::vector<Instruction> places(list.size());
    for (size_t i = 0; i < list.size(); i++)
        places[i].offset = i * slot_bytes + place_in_slot;
    static uint64_t none;
    hits = &none;
    if (attach != "nothing") {
        Counter counter = load_counter();
        hits = counter.hits;
        const bool is_multi = attach != "perf_event" && attach_multi(counter, probed_path, places);
        if (!is_multi && attach == "uprobe_multi")
            fail("bpf: a link");
        if (!is_multi)
            attach_events(counter, probed_path, places);
    }
    shared = share<Progress>(1);
    auto *plain = share<Result>(list.size()), *probed = share<Result>(list.size());
    run_list(list, plain_file, size, plain, patience_s);
    run_list(list, probed_file, size, probed, patience_s);
    size_t attached = 0, lacking = 0, differing = 0, miscounted = 0;
    for (size_t i = 0; i < list.size(); i++) {
        uint32_t word = 0;
        std::memcpy(&word, list[i].data(), std::min(list[i].size(), sizeof word));
        const bool is_attached = probed[i].word_before != word;
        const std::string differs = differences(plain[i], probed[i]), ending = describe(plain[i], i);
        std::string counts;
        bool is_counted = true;
        for (const auto& runs : probed[i].runs)
            for (const Run& run : runs) {
                counts += (counts.empty() ? "" : ",") + std::to_string(run.hits);
                is_counted = is_counted && run.hits == 1;
            }
        attached += is_attached;
        lacking += ending == "lacks";
        differing += !differs.empty();
        miscounted += is_attached && !is_counted;
        printf("%zu\t%s\t%s\t-\t%s\t%s\n", i, is_attached ? "attached" : "refused", ending.c_str(),
               is_attached ? counts.c_str() : "-", differs.empty() ? "-" : differs.c_str());
    }
    printf("total\t%zu\tattached\t%zu\tlacking\t%zu\tdiffering\t%zu\tmiscounted\t%zu\tsignals\t0\tstrange\t0\n",
           list.size(), attached, lacking, differing, miscounted);
    fflush(stdout);
    for (const std::string& one : {plain_path, probed_path, folder})
        remove(one.c_str());
    if (leaves)
        leave_probes();
    return 0;
}
