// Executes instructions with and without a uprobe, and prints the differences, for tests/instructions.
//
//   execute ENCODINGS [--attach=best|uprobe_multi|perf_event|nothing] [--patience=SECONDS] [--signals=MICROSECONDS]
//           [--leave-probes]
//
// ENCODINGS is a list from `generate`. Each instruction has a slot in a file of code whose other bytes are `hlt`. A
// user program that reaches a `hlt` gets SIGSEGV exactly there, so the place where the program goes on is known. The
// file exists twice, and the second one has a uprobe on each instruction. A child process maps a part of one of the
// files at a fixed address and runs its instructions. Another child does the same with the other file. Both see the
// same addresses, registers and memory, so every difference comes from the uprobe.
//
// How one instruction runs: the child does nothing but return from a signal handler. The handler's frame holds all
// registers of the interrupted program, and returning from the handler loads them. So the handler writes the initial
// state of the instruction into its own frame, and returns to the instruction. The instruction ends in a `hlt` or
// faults itself. In both cases the handler runs again, with all registers in the new frame. It compares memory, stores
// a row of numbers (`Outcome`), restores memory and continues with the next instruction. This takes two transitions to
// the kernel, so a hundred thousand instructions take seconds.
//
// Instructions may spoil the child's segment registers and flags. So the child is built without stack protection, and
// calls no function of libc. If an instruction ends the child or never ends, that is its outcome, and the parent starts
// another child for the rest.
//
// Each instruction runs in three states (`make_states`), twice without a uprobe and twice with one. If the first two
// runs differ, the field differs by nature and is not compared. The second run with a uprobe matters because kernels
// replace the breakpoint after the first hit.
//
// Output: a line for each instruction, with its number, `attached` or `refused`, the plain outcome (`lacks`: SIGILL),
// the first byte after the runs, the hits in each run, and the fields that differ. The last line has the totals.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/encodings/attach.h"
#include "tests/encodings/encoding_list.h"
#include "tests/encodings/machine.h"

namespace encodings {
namespace {

int write_code(const std::string& path, const std::vector<uint8_t>& code) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (file < 0 || write(file, code.data(), code.size()) != static_cast<ssize_t>(code.size()))
        fail(path.c_str());
    return file;
}

struct Ending {
    int status = 0;
    bool hung = false;
};

Ending wait_for(pid_t pid, int patience_s) {
    Ending ending;
    uint64_t seen = ~uint64_t{0};
    auto since = std::chrono::steady_clock::now();
    while (waitpid(pid, &ending.status, WNOHANG) == 0) {
        const uint64_t progress = child.shared->progress;
        const auto now = std::chrono::steady_clock::now();
        if (progress != seen)
            seen = progress, since = now;
        else if (now - since > std::chrono::seconds(patience_s)) {
            kill(pid, SIGKILL);
            ending.hung = true;
        }
        usleep(300);
    }
    return ending;
}

constexpr uint64_t died = 2, hung = 3;

// Runs a batch with one of the files; children are started until all instructions have an outcome.
void run_batch(const std::vector<Instruction>& instructions, size_t first, size_t end, int file, Outcomes* outcomes,
               volatile uint64_t* hits, int patience_s) {
    memset(static_cast<void*>(outcomes), 0, sizeof(Outcomes) * (end - first));
    for (size_t at = first; at < end;) {
        child.instructions = instructions.data() + first;
        child.at = at - first;
        child.end = end - first;
        child.outcomes = outcomes;
        child.hits = hits;
        child.state = child.repeat = 0;
        child.is_running = false;
        child.shared->index = child.at;
        child.shared->is_in_handler = 0;
        const pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid == 0)
            run_child(file);
        const Ending ending = wait_for(pid, patience_s);
        if (WIFEXITED(ending.status) && WEXITSTATUS(ending.status) == 0 && !ending.hung)
            return;
        at = first + child.shared->index;
        if (WIFEXITED(ending.status) && WEXITSTATUS(ending.status) > 70)
            fprintf(stderr, "execute: the child ended with %d at %zu (%llx)\n", WEXITSTATUS(ending.status), at,
                    static_cast<unsigned long long>(child.shared->failure));
        Outcomes& result = outcomes[at - first];
        for (auto& runs : result.run)
            for (Outcome& outcome : runs)
                if (!outcome.done) {
                    outcome.done = ending.hung ? hung : died;
                    outcome.values[field_signal] = static_cast<uint64_t>(ending.status);
                }
        ++at;
    }
}

// The differences between the plain runs and those with a uprobe, as text. Fields that differ by nature count as equal.
std::string compare(const Outcomes& plain, const Outcomes& probed, const Instruction& instruction) {
    std::string text;
    char number[128];
    for (int state = 0; state < state_count; ++state) {
        const Outcome &one = plain.run[state][0], &other = plain.run[state][1];
        for (int repeat = 0; repeat < repeat_count; ++repeat) {
            const Outcome& run = probed.run[state][repeat];
            std::string differs;
            if (run.done != one.done) {
                snprintf(number, sizeof(number), "end:%d>%d(%x)", static_cast<int>(one.done),
                         static_cast<int>(run.done), static_cast<int>(run.values[field_signal]));
                differs = number;
            } else {
                // A call of a non-canonical address can store the return address before it fails (docs/kernels.md).
                const bool is_failed_call =
                    instruction.is_call && one.values[field_rip] == code_at + instruction.offset;
                const size_t end = instruction.stores_unit || is_failed_call ? size_t{field_memory} : field_count;
                for (size_t field = instruction.is_random ? field_rsp : 0; field < end; ++field) {
                    if (instruction.loads_base && (field == field_fs_base || field == field_gs_base))
                        continue;
                    if (one.values[field] == other.values[field] && one.values[field] != run.values[field]) {
                        snprintf(number, sizeof(number), "%s%s:%llx>%llx", differs.empty() ? "" : ", ",
                                 field_names[field], static_cast<unsigned long long>(one.values[field]),
                                 static_cast<unsigned long long>(run.values[field]));
                        differs += number;
                    }
                }
            }
            if (!differs.empty())
                text += (text.empty() ? "" : " | ") + std::to_string(state) + std::to_string(repeat) + ", " + differs;
        }
    }
    return text;
}

const char* describe_plain(const Outcomes& plain, const Instruction& instruction) {
    bool lacks = true, faults = true;
    for (const auto& runs : plain.run) {
        const bool here = runs[0].values[field_rip] == code_at + instruction.offset;
        if (runs[0].done != 1)
            return "ends";
        lacks &= here && runs[0].values[field_signal] == SIGILL;
        faults &= here;
    }
    return lacks ? "lacks" : faults ? "faults" : "runs";
}

struct Totals {
    size_t attached = 0, lacking = 0, differing = 0, miscounted = 0;
};

void report(size_t number, const Instruction& instruction, const Outcomes& plain, const Outcomes& probed,
            Totals& totals) {
    if (instruction.is_skipped) {
        printf("%zu\tskipped\t-\t-\t-\t-\n", number);
        return;
    }
    const std::string differences = compare(plain, probed, instruction);
    const char* ending = describe_plain(plain, instruction);
    std::string hits;
    bool counts = true;
    for (const auto& runs : probed.run)
        for (const Outcome& run : runs) {
            hits += (hits.empty() ? "" : ",") + std::to_string(run.hits);
            counts &= run.hits == 1;
        }
    totals.attached += probed.attached;
    totals.lacking += ending[0] == 'l';
    totals.differing += !differences.empty();
    totals.miscounted += probed.attached && !counts;
    printf("%zu\t%s\t%s\t%02x\t%s\t%s\n", number, probed.attached ? "attached" : "refused", ending,
           probed.first_byte_after, probed.attached ? hits.c_str() : "-",
           differences.empty() ? "-" : differences.c_str());
}

struct Options {
    const char* list = nullptr;
    std::string attach = "best";
    int patience_s = 3;
    bool leaves_probes = false;
    bool is_valid = true;
};

Options read_options(int count, char** arguments) {
    Options options;
    for (int at = 1; at < count; ++at) {
        const std::string word = arguments[at];
        if (word.starts_with("--attach="))
            options.attach = word.substr(9);
        else if (word.starts_with("--patience="))
            options.patience_s = std::stoi(word.substr(11));
        else if (word == "--leave-probes")
            options.leaves_probes = true;
        else if (word.starts_with("--signals="))
            child.alarm_us = std::stoi(word.substr(10));
        else if (!options.list && word[0] != '-')
            options.list = arguments[at];
        else
            options.is_valid = false;
    }
    options.is_valid &= options.list && (options.attach == "best" || options.attach == "uprobe_multi" ||
                                         options.attach == "perf_event" || options.attach == "nothing");
    return options;
}

// The two files, which have no name any more, and the hits of the second.
struct Files {
    int plain = -1, probed = -1;
    volatile uint64_t* hits = nullptr;
};

Files make_files(const Options& options, const std::vector<Instruction>& instructions,
                 const std::vector<uint8_t>& code) {
    static uint64_t none;
    std::string folder = std::string(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") + "/instructions-XXXXXX";
    if (!mkdtemp(folder.data()))
        fail(folder.c_str());
    const std::string plain = folder + "/plain", probed = folder + "/probed";
    Files files = {write_code(plain, code), write_code(probed, code), &none};
    if (options.attach != "nothing") {
        Counter counter = load_counter();
        files.hits = counter.hits;
        const bool is_multi = options.attach != "perf_event" && attach_multi(counter, probed, instructions);
        if (!is_multi && options.attach == "uprobe_multi")
            fail("bpf: a link");
        if (!is_multi)
            attach_events(counter, probed, instructions);
    }
    unlink(plain.c_str());
    unlink(probed.c_str());
    rmdir(folder.c_str());
    return files;
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
    const Options options = read_options(count, arguments);
    if (!options.is_valid) {
        fprintf(stderr, "usage: execute ENCODINGS [--attach=best|uprobe_multi|perf_event|nothing] [--patience=SECONDS] "
                        "[--signals=MICROSECONDS]\n");
        return 2;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof(one), &one);
    std::vector<uint8_t> code;
    const std::vector<Instruction> instructions = read_encodings(options.list, code);
    if (instructions.empty() || code.size() > after_at - code_at - page_size)
        fail("the list of encodings is empty or too long");
    make_states();
    const auto begun = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    };
    const Files files = make_files(options, instructions, code);
    fprintf(stderr, "%.1f s: attached\n", seconds());
    auto *plain = share<Outcomes>(batch_size), *probed = share<Outcomes>(batch_size);
    child.shared = share<Shared>(1);
    Totals totals;
    for (size_t first = 0; first < instructions.size(); first += batch_size) {
        const size_t end = std::min(first + batch_size, instructions.size());
        run_batch(instructions, first, end, files.plain, plain, files.hits, options.patience_s);
        run_batch(instructions, first, end, files.probed, probed, files.hits, options.patience_s);
        for (size_t number = first; number < end; ++number)
            report(number, instructions[number], plain[number - first], probed[number - first], totals);
        fflush(stdout);
    }
    fprintf(stderr, "%.1f s: executed\n", seconds());
    printf("total\t%zu\tattached\t%zu\tlacking\t%zu\tdiffering\t%zu\tmiscounted\t%zu\tsignals\t%llu\tstrange\t%llu\n",
           instructions.size(), totals.attached, totals.lacking, totals.differing, totals.miscounted,
           static_cast<unsigned long long>(child.shared->alarms),
           static_cast<unsigned long long>(child.shared->strange_alarms));
    fflush(stdout);
    if (options.leaves_probes)
        leave_probes();
    return 0;
}
