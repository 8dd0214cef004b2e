// A walk reads:
//
//     registers, thread pointer    the program sonde_ask_thread
//     memory                       process_vm_readv(2), which needs CAP_SYS_PTRACE for programs of other users
//     mappings                     /proc/PID/maps, read once, and again for an unknown address
//     tables of files              those that handlers have (Symbols::table_of)
//     facts about interpreters     the maps of handlers
//
// A thread may run while its memory is read, and the stack would be wrong. So the number of its switches is compared. A
// thread that has run is on a processor, or has been switched off since.
#include "runtime/symbols/thread_stacks.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/clock.h"
#include "base/fd.h"
#include "runtime/plan/object_names.h"
#include "runtime/symbols/symbols.h"
#include "runtime/symbols/walk_tables.h"

namespace sonde {
namespace {

constexpr int most_tries = 5;
constexpr int64_t pause_ns = 1'000'000; // between two tries
constexpr int64_t offset_is_valid_for = 1'000'000'000;

void pause_for(int64_t nanoseconds) {
    const timespec time{0, nanoseconds};
    nanosleep(&time, nullptr);
}

const char* const map_names[] = {
#define LANGUAGE_RUNTIME(id, name, ...) plan::maps::name,
#include "runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
};

// The name of a system call by its number; "" if it is unknown.
std::string_view name_of_call(uint64_t number, bool is_narrow) {
    constexpr uint64_t each = 512;
    std::string_view names = host_architecture().system_calls().names;
    if (number >= each)
        return "";
    for (uint64_t skipped = number + (is_narrow ? each : 0); skipped; skipped--) {
        const size_t end = names.find('|');
        if (end == std::string_view::npos)
            return "";
        names.remove_prefix(end + 1);
    }
    return names.substr(0, names.find('|'));
}

// "1.50 s"
std::string duration(int64_t nanoseconds) {
    const double seconds = static_cast<double>(std::max<int64_t>(nanoseconds, 0)) / 1e9;
    return seconds < 0.1 ? fmt::format("{:.0f} ms", seconds * 1e3) : fmt::format("{:.1f} s", seconds);
}

} // namespace

// The mappings of a process, and its memory.
struct ThreadStacks::Process {
    int64_t here = 0; // its number in sonde's /proc
    uint64_t number = 0;
    std::vector<ProcessMapping> mappings;
    bool is_read_again = false; // in this walk
    int error = 0;              // of the last failing read

    const ProcessMapping* find(uint64_t address) const {
        const auto next = std::ranges::upper_bound(mappings, address, {}, &ProcessMapping::start);
        return next == mappings.begin() || !std::prev(next)->covers(address) ? nullptr : &*std::prev(next);
    }
    // The mapping with the code of the same file. Only these have a table.
    const ProcessMapping* code_of(const ProcessMapping& one) const {
        const auto found = std::ranges::find_if(mappings, [&](const ProcessMapping& other) {
            return other.executable && other.inode == one.inode && other.device == one.device;
        });
        return found == mappings.end() ? nullptr : &*found;
    }
    bool read(uint64_t address, void* to, size_t size) {
        iovec here_is{to, size}, there_is{reinterpret_cast<void*>(address), size};
        const ssize_t got = process_vm_readv(static_cast<pid_t>(here), &here_is, 1, &there_is, 1, 0);
        if (got < 0)
            error = errno;
        return got == static_cast<ssize_t>(size);
    }
};

// The environment of sonde_walk_thread().
struct ThreadStacks::Walk {
    Symbols& symbols;
    const KernelObject& kernel;
    Process* process = nullptr;
    sonde_thread thread{};
    sonde_thread_walk walk{};
    sonde_walk_caches caches{};
    WalkTables tables{symbols};
    std::array<std::unordered_map<uint32_t, std::vector<char>>, SONDE_LANGUAGES> interpreters;
    std::unordered_map<uint32_t, std::unique_ptr<sonde_interpreted_name>> names;
    std::vector<uint32_t> new_names;

    Walk(Symbols& of, const KernelObject& with) : symbols(of), kernel(with) {
        walk.thread = &thread;
        walk.context = this;
        walk.caches = &caches;
        walk.read = [](void* self, void* to, unsigned size, unsigned long long address) {
            return static_cast<Walk*>(self)->process->read(address, to, size) ? 0 : 1;
        };
        walk.find_mapping = [](void* self, unsigned long long address, sonde_found* found) {
            return int{static_cast<Walk*>(self)->find_mapping(address, *found)};
        };
        walk.find_table = [](void* self, unsigned long long inode) {
            return static_cast<Walk*>(self)->tables.find(inode);
        };
        walk.find_interpreter = [](void* self, unsigned language, unsigned element) -> const void* {
            return static_cast<Walk*>(self)->find_interpreter(language, element);
        };
        walk.find_name = [](void* self, unsigned number) { return static_cast<Walk*>(self)->find_name(number); };
    }

    bool find_mapping(uint64_t address, sonde_found& found) {
        const ProcessMapping* mapping = process->find(address);
        if (!mapping && !process->is_read_again) {
            process->is_read_again = true;
            process->mappings = read_process_maps(process->here);
            symbols.read_mappings(process->number);
            mapping = process->find(address);
        }
        if (!mapping)
            return false;
        const ProcessMapping* code = mapping->has_file() && mapping->inode ? process->code_of(*mapping) : mapping;
        found.at.start = mapping->start;
        found.at.end = mapping->end;
        found.at.offset = mapping->offset;
        found.at.inode = code ? symbols.file_at(process->number, code->start) : 0;
        found.code = mapping->executable;
        if (mapping->path == "[vdso]")
            found.at.offset = 0;
        return true;
    }
    const void* find_interpreter(uint32_t language, uint32_t element) {
        const int map = kernel.map_fd(map_names[language]);
        auto [known, fresh] = interpreters[language].try_emplace(element);
        bpf_map_info info{};
        uint32_t size = sizeof info;
        if (fresh && bpf_obj_get_info_by_fd(map, &info, &size) == 0) {
            known->second.resize(info.value_size);
            if (bpf_map_lookup_elem(map, &element, known->second.data()) != 0)
                known->second.clear();
        }
        return known->second.empty() ? nullptr : known->second.data();
    }
    // The walk may fill a new name. give_names() then stores it in the map, from which names are printed.
    sonde_interpreted_name* find_name(uint32_t number) {
        auto [known, fresh] = names.try_emplace(number);
        if (fresh) {
            known->second = std::make_unique<sonde_interpreted_name>();
            if (bpf_map_lookup_elem(kernel.map_fd(plan::maps::frame_names), &number, known->second.get()) != 0)
                new_names.push_back(number);
        }
        return known->second.get();
    }
    void give_names() {
        for (const uint32_t number : new_names)
            bpf_map_update_elem(kernel.map_fd(plan::maps::frame_names), &number, names[number].get(), BPF_ANY);
        new_names.clear();
    }
};

ThreadStacks::ThreadStacks(Symbols& symbols, const KernelObject& kernel)
    : symbols_(symbols), kernel_(kernel), walk_(std::make_unique<Walk>(symbols, kernel)) {}
ThreadStacks::~ThreadStacks() = default;

bool ThreadStacks::ask(int folder, bool only_schedule, sonde_thread& to) {
    const Result<uint32_t> found =
        kernel_.run(plan::programs::ask_thread, {static_cast<uint64_t>(folder), !only_schedule});
    const uint32_t none = 0;
    return found && *found && bpf_map_lookup_elem(kernel_.map_fd(plan::maps::thread), &none, &to) == 0 && to.is_there;
}

// The scheduler's clock is another one than CLOCK_MONOTONIC. Its value is known at one moment: when this thread has
// just got a processor, because it has slept.
std::optional<int64_t> ThreadStacks::since_arrival(int folder, const sonde_thread& thread) {
    if (!thread.arrival || !thread.own_arrival)
        return std::nullopt;
    if (const int64_t now = now_ns(); !measured_ || now - measured_ > offset_is_valid_for) {
        pause_for(1000);
        sonde_thread again{};
        measured_ = now_ns();
        if (!ask(folder, true, again))
            return std::nullopt;
        clock_offset_ = static_cast<int64_t>(again.own_arrival) - measured_;
    }
    return now_ns() + clock_offset_ - static_cast<int64_t>(thread.arrival);
}

std::string ThreadStacks::describe(int folder, const sonde_thread& thread) {
    enum { Stopped = 4, Traced = 8 };
    const RegisterFile& registers = host_architecture().registers();
    const auto saved = [&](int number) { return thread.registers[registers.offset(number) / 8]; };
    const auto number = static_cast<int64_t>(saved(syscall_number_register) << 32) >> 32;
    const bool is_narrow =
        registers.in_32_bit_mode.mask &&
        (saved(registers.in_32_bit_mode.number) & registers.in_32_bit_mode.mask) == registers.in_32_bit_mode.value;
    std::string out = thread.state == 0        ? "waits for a processor"
                      : thread.state & Stopped ? "is stopped by a signal"
                      : thread.state & Traced  ? "is stopped by a debugger"
                                               : "waits";
    if (number >= 0) {
        const std::string_view name = name_of_call(static_cast<uint64_t>(number), is_narrow);
        out += name.empty() ? fmt::format(" in system call {}", number) : fmt::format(" in {}()", name);
    } else if (out == "waits") {
        out += " for memory";
    }
    if (const std::optional<int64_t> since = since_arrival(folder, thread))
        out += " for " + duration(*since);
    return out;
}

ThreadStacks::Process& ThreadStacks::process_of(const sonde_thread& thread, int64_t here) {
    std::unique_ptr<Process>& known = processes_[thread.process];
    if (!known) {
        known = std::make_unique<Process>();
        known->here = here;
        known->number = thread.process;
        known->mappings = read_process_maps(here);
        symbols_.read_mappings(thread.process);
    }
    known->is_read_again = false;
    known->error = 0;
    return *known;
}

ThreadStack ThreadStacks::read(uint64_t process, uint64_t thread, uint64_t most) {
    enum { PF_EXITING = 4, PF_KTHREAD = 0x200000 };
    ThreadStack out;
    out.process = process;
    const int64_t here = kernel_.numbers().in_session(static_cast<int64_t>(process));
    const int64_t thread_here = kernel_.numbers().in_session(static_cast<int64_t>(thread));
    // /proc has a folder for each thread, although only those of processes are listed (proc(5)).
    const Result<Fd> folder = open_file(fmt::format("/proc/{}", thread_here), O_RDONLY | O_DIRECTORY);
    sonde_thread& now = walk_->thread;
    walk_->walk.most = std::min<uint64_t>(most, SONDE_STACK_MOST);
    for (int i = 0; i < most_tries; i++) {
        if (i)
            pause_for(pause_ns);
        if (!folder || !ask(folder->get(), false, now)) {
            out.none = "the thread has ended";
            return out;
        }
        if (now.exited || now.flags & PF_EXITING) {
            out.none = now.exited ? "the thread has ended, and its parent has not yet noticed that" : "the thread ends";
            return out;
        }
        if (now.flags & PF_KTHREAD || !now.memory) {
            out.none = "this is a kernel thread";
            return out;
        }
        out.none = now.runs ? "the thread runs" : "";
        if (now.runs)
            continue;
        walk_->process = &process_of(now, here);
        sonde_walk_thread(&walk_->walk);
        walk_->give_names();
        sonde_thread after{};
        if (!ask(folder->get(), true, after)) {
            out.none = "the thread has ended";
            return out;
        }
        if (after.switches == now.switches && !after.runs)
            break;
        out.none = "the thread ran while its stack was read";
    }
    if (!out.none.empty())
        return out;
    const sonde_stack& stack = walk_->walk.stacks.user;
    Process* of = walk_->process;
    out.doing = describe(folder->get(), now);
    out.state = stack.state;
    if (of->error == EPERM || of->mappings.empty()) {
        out.none = "no permission to read the process: CAP_SYS_PTRACE is missing";
        return out;
    }
    for (uint64_t i = 0; i < std::min<uint64_t>(stack.depth, SONDE_STACK_MOST); i++) {
        const sonde_walked_function& function = walk_->walk.functions[i];
        out.frames.push_back({stack.address[i], function.is_native ? &function : nullptr});
    }
    out.read = [of](uint64_t address, void* to, size_t size) { return of->read(address, to, size); };
    return out;
}

} // namespace sonde
