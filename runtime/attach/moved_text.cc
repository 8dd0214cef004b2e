// Repairs the code of processes that move it; moved_text.h explains the problem and the idea.
//
// The steps, for a program that calls mprotect() on its copy:
//
// 1. At the program's first instruction, sonde_text_moves() stores an element in maps::moved, and waits.
//    look() finds it and calls follow(), which attaches the same BPF program to mprotect() and mremap() in this
//    process. Then sonde_text_state() ends the wait.
// 2. At mprotect(), the BPF program stores the range, and waits again.
// 3. look() calls mend(), which compares the copy with the plan's bytes at each probed instruction. Where it finds a
//    breakpoint, it writes the original instruction through /proc/PID/mem.
// 4. sonde_text_state() ends the wait. The process's mprotect() runs now, and makes the copy executable.
//
// The copy lies at `from`, but will run at `to`. For mprotect() both are equal. For mremap() they differ.
#include "runtime/attach/moved_text.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/processes.h"
#include "base/quiet_thread.h"
#include "base/shared_libraries.h"
#include "runtime/plan/moved_text_event.h"
#include "runtime/plan/object_names.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

constexpr char breakpoint = '\xcc';
constexpr char call = '\xe8'; // since Linux 6.18, a uprobe replaces a 5-byte nop by a call

// The state follows the name in /proc/PID/stat, and the name may contain blanks and parentheses: "12 (a b) T 1 ..."
// (proc(5)). So search for the last ") ".
bool is_stopped(int64_t process) {
    const Result<std::string> status = read_file(fmt::format("/proc/{}/stat", process));
    const size_t name_end = status ? status->rfind(") ") : std::string::npos;
    return name_end != std::string::npos &&
           (status->substr(name_end + 2, 1) == "T" || status->substr(name_end + 2, 1) == "t");
}

// Returns false if the process has ended, or is not stopped after a second.
bool wait_until_stopped(int64_t process) {
    constexpr int64_t most_ns = 1'000'000'000;
    const timespec turn{0, 1'000'000};
    for (const int64_t began = now_ns(); now_ns() - began < most_ns; nanosleep(&turn, nullptr))
        if (is_stopped(process))
            return true;
    return false;
}

// Finds mprotect() and mremap() in a file. The cookie tells the BPF program which of the two was called.
UprobeTargets find_places(const std::string& path) {
    UprobeTargets out;
    const Result<ElfFile> file = ElfFile::open(path);
    if (!file)
        return out;
    std::map<uint64_t, uint64_t> places;
    file->for_each_symbol([&](const ElfSymbol& symbol) {
        const uint64_t cookie = symbol.name == "mprotect" || symbol.name == "__mprotect" ? SONDE_AT_MPROTECT
                                : symbol.name == "mremap" || symbol.name == "__mremap"   ? SONDE_AT_MREMAP
                                                                                         : 0;
        if (cookie == 0 || symbol.section == SHN_UNDEF)
            return true;
        for (const ElfSegment& segment : file->segments())
            if (segment.executable && symbol.address >= segment.address &&
                symbol.address < segment.address + segment.file_size)
                places[symbol.address - segment.address + segment.offset] = cookie;
        return true;
    });
    out.program = plan::programs::text_moves;
    out.path = out.attach_name = path;
    for (const auto& [offset, cookie] : places) {
        out.offsets.push_back(offset);
        out.cookies.push_back(cookie);
        out.ref_ctr_offsets.push_back(0);
        out.names.push_back(fmt::format("{}+{:#x}", path, offset));
    }
    return out;
}

struct Patch {
    off_t address;
    std::string bytes;
};

// Returns how many could be written.
size_t write_all(int64_t process, const std::vector<Patch>& patches) {
    const Fd memory(open(fmt::format("/proc/{}/mem", process).c_str(), O_RDWR | O_CLOEXEC));
    return static_cast<size_t>(std::ranges::count_if(patches, [&](const Patch& patch) {
        return memory && pwrite(memory.get(), patch.bytes.data(), patch.bytes.size(), patch.address) ==
                             static_cast<ssize_t>(patch.bytes.size());
    }));
}

// The copy may not be writable any more. Kernels since 6.12 can be built to let only a tracer write such memory ("proc:
// add config & param to block forcing mem writes", CONFIG_PROC_MEM_FORCE_PTRACE; Debian's are). So a thread becomes the
// process's tracer without stopping it. The kernel detaches the tracer when the thread ends.
size_t write_patches(int64_t process, const std::vector<Patch>& patches) {
    size_t out = write_all(process, patches);
    if (out == patches.size())
        return out;
    auto as_tracer = [&] {
        if (ptrace(PTRACE_SEIZE, static_cast<pid_t>(process), nullptr, nullptr) == 0)
            out = write_all(process, patches);
    };
    if (Result<std::thread> thread = start_quiet_thread("repairs moved code", as_tracer); thread)
        thread->join();
    return out;
}

bool same_file(int fd, const std::string& path) {
    struct stat one{}, other{};
    return fstat(fd, &one) == 0 && stat(path.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

} // namespace

Result<std::unique_ptr<MovedText>> MovedText::start(const plan::Plan& plan, const KernelObject& kernel,
                                                    const ProbedFiles& files, const std::vector<int64_t>& running,
                                                    bool uprobe_multi) {
    std::unique_ptr<MovedText> out(new MovedText(plan, kernel, files, uprobe_multi));
    Result<void> followed;
    for (const plan::ProbedFile& file : plan.files)
        if (followed && file.may_move)
            followed = out->catch_beginning(file);
    for (size_t i = 0; followed && i < running.size(); i++)
        followed = out->follow(running[i]);
    if (!followed)
        return std::move(followed).error().in("cannot follow whether a program moves its code");
    return out;
}

Result<std::unique_ptr<Attachment>> MovedText::attach(UprobeTargets targets) const {
    if (handlers_hold_lock_)
        for (uint64_t& cookie : targets.cookies)
            cookie |= SONDE_HOLDS_LOCK;
    return uprobe_multi_ ? attach_uprobe_multi(kernel_.program_fd(targets.program), targets)
                         : attach_perf_event(kernel_.object(), targets);
}

Result<void> MovedText::catch_beginning(const plan::ProbedFile& file) {
    UprobeTargets targets;
    targets.program = plan::programs::text_moves;
    targets.path = file.path;
    targets.attach_name = files_.attach_name(file.path);
    const Result<ElfFile> elf = ElfFile::open_any_width(targets.attach_name);
    if (!elf)
        return {};
    for (const ElfSegment& segment : elf->segments())
        if (segment.executable && elf->entry() >= segment.address && elf->entry() < segment.address + segment.file_size)
            targets.offsets = {elf->entry() - segment.address + segment.offset};
    if (targets.offsets.empty())
        return {};
    targets.cookies = {SONDE_AT_BEGIN};
    targets.ref_ctr_offsets = {0};
    targets.names = {fmt::format("the first instruction of {}", file.path)};
    Result<std::unique_ptr<Attachment>> attached = attach(std::move(targets));
    if (!attached)
        return std::move(attached).error();
    beginnings_.push_back(*std::move(attached));
    return {};
}

Result<void> MovedText::follow(int64_t process) {
    const std::string program = fmt::format("/proc/{}/exe", process);
    const bool may_move = std::ranges::any_of(plan_.files, [&](const plan::ProbedFile& file) {
        return file.may_move && same_file(files_.fd(file.path), program);
    });
    if (!may_move)
        return {};
    std::vector<std::string> paths = mapped_libraries(process);
    paths.push_back(program);
    Attachments& places = followed_[process];
    drop(places); // of a program that ran in this process before
    for (const std::string& path : paths) {
        UprobeTargets targets = find_places(path);
        targets.process = process;
        if (targets.offsets.empty())
            continue;
        Result<std::unique_ptr<Attachment>> attached = attach(std::move(targets));
        if (!attached && (attached.error().os_error == ESRCH || !is_process(process)))
            break; // it has ended
        if (!attached)
            return std::move(attached).error();
        places.push_back(*std::move(attached));
    }
    return {};
}

// Detaching waits for handlers, so also for processes that wait in them for this session. That is why another thread
// does it. While it works, attachments are kept for the next time.
void MovedText::drop(Attachments& places) {
    std::ranges::move(places, std::back_inserter(dropped_));
    places.clear();
    if (dropped_.empty() || is_detaching_)
        return;
    if (detacher_.joinable())
        detacher_.join();
    is_detaching_ = true;
    auto work = [this, old = std::make_shared<Attachments>(std::exchange(dropped_, {}))] {
        old->clear();
        is_detaching_ = false;
    };
    if (Result<std::thread> thread = start_quiet_thread("stops following processes", work); thread)
        detacher_ = *std::move(thread);
    else
        work();
}

void MovedText::drop_ended() {
    for (auto one = followed_.begin(); one != followed_.end();) {
        if (is_process(one->first)) {
            ++one;
            continue;
        }
        drop(one->second);
        one = followed_.erase(one);
    }
}

void MovedText::serve(int64_t process, bool begins, const sonde_moved& moved) {
    if (begins) {
        if (Result<void> followed = follow(process); !followed)
            warn(fmt::format("cannot follow whether process {} moves its code: {}", process, followed.error().message));
        return;
    }
    if ((moved.state != SONDE_MOVED_TIMED_OUT || wait_until_stopped(process)) &&
        mend(process, moved.code, moved.from, moved.size, moved.to) > 0)
        warn(fmt::format("process {} has moved its code to other memory; sonde has removed the breakpoints from the "
                         "copy, and no longer sees hits of this code",
                         process),
             Weight::Answer);
}

bool MovedText::change_state(uint32_t key, sonde_moved_state from, sonde_moved_state to) const {
    const Result<uint32_t> is_other = kernel_.run(plan::programs::text_state, {key, from, to});
    return is_other && *is_other == 0;
}

// A process with a copy is served before those that begin: its handler may hold a lock that follow() needs.
//
// Lets each process continue even if it could not be repaired: a process that waits is worse than a missed hit.
void MovedText::look() {
    if (beginnings_.empty())
        return;
    const int map = kernel_.map_fd(plan::maps::moved);
    std::vector<uint32_t> keys;
    for (uint32_t key = 0; bpf_map_get_next_key(map, keys.empty() ? nullptr : &key, &key) == 0;)
        keys.push_back(key);
    std::ranges::sort(keys);
    for (const uint32_t key : keys) {
        sonde_moved moved{};
        if (bpf_map_lookup_elem(map, &key, &moved) != 0 || moved.state == SONDE_MOVED_RUNS)
            continue;
        const bool begins = (key & SONDE_MOVED_BEGINS) != 0;
        const int64_t process = kernel_.numbers().in_session(key & ~uint32_t{SONDE_MOVED_BEGINS});
        const bool taken = change_state(key, SONDE_MOVED_WAITS, SONDE_MOVED_TAKEN);
        if (process != 0)
            serve(process, begins, moved);
        if (begins && !taken && is_process(process))
            warn(fmt::format("process {} began while sonde did not answer: if it has moved its code to other memory, a "
                             "breakpoint there ends it with SIGTRAP",
                             process),
                 Weight::Answer);
        if (change_state(key, SONDE_MOVED_TAKEN, SONDE_MOVED_RUNS))
            continue; // its handler deletes the element
        if (process != 0 && (taken || !begins) && wait_until_stopped(process))
            kill(static_cast<pid_t>(process), SIGCONT);
        bpf_map_delete_elem(map, &key);
    }
    if (!keys.empty())
        drop_ended();
}

MovedText::~MovedText() {
    if (detacher_.joinable())
        detacher_.join();
}

// Replaces only bytes that differ from the file and begin like a uprobe (a breakpoint or a call). Other differences
// may be the program's own patches. Compares addresses at the destination `to`, because the plan knows where the
// code runs, not where the copy lies now.
size_t MovedText::mend(int64_t process, uint64_t code, uint64_t from, uint64_t size, uint64_t to) const {
    const Fd memory(open(fmt::format("/proc/{}/mem", process).c_str(), O_RDONLY | O_CLOEXEC));
    const std::string program = fmt::format("/proc/{}/exe", process);
    std::vector<Patch> patches;
    for (const plan::ProbedFile& file : plan_.files) {
        const Result<ElfFile> elf = ElfFile::open_any_width(program);
        if (!memory || !elf || !same_file(files_.fd(file.path), program))
            continue;
        uint64_t lowest = UINT64_MAX; // the linked address that corresponds to `code`
        for (const ElfSegment& segment : elf->segments())
            if (segment.executable)
                lowest = std::min(lowest, segment.address);
        for (const plan::ProbedCode& place : file.code)
            for (const ElfSegment& segment : elf->segments()) {
                if (place.length == 0 || !segment.executable || place.offset < segment.offset ||
                    place.offset >= segment.offset + segment.file_size)
                    continue;
                const uint64_t address = code - lowest + segment.address + (place.offset - segment.offset);
                if (address < to || address + place.length > to + size)
                    continue;
                const auto copy = static_cast<off_t>(from + (address - to));
                std::string found(place.length, '\0');
                if (pread(memory.get(), found.data(), found.size(), copy) != static_cast<ssize_t>(found.size()) ||
                    place.bytes.starts_with(found) || (found[0] != breakpoint && found[0] != call))
                    continue;
                patches.push_back({copy, place.bytes.substr(0, place.length)});
            }
    }
    return write_patches(process, patches);
}

} // namespace sonde
