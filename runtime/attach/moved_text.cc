// Repairs the code of processes that move, copy or drop it; moved_text.h explains the problem and the idea.
//
// The steps, for a program that calls mprotect() on its copy:
//
// 1. At the program's first instruction, sonde_text_moves() stores an element in maps::moved, and waits.
//    look() finds it and calls follow(), which attaches the same BPF program to mprotect() and the other functions in
//    this process. Then sonde_text_state() ends the wait.
// 2. At mprotect(), the BPF program stores the range, and waits again.
// 3. look() calls mend(), which searches the range for breakpoints in copies of probed instructions. It writes the
//    original instructions through /proc/PID/mem.
// 4. sonde_text_state() ends the wait. The process's mprotect() runs now, and makes the copy executable.
//
// The copy lies at `from`, but will run at `to`. For mprotect() both are equal. For mremap() they differ.
//
// madvise(MADV_DONTNEED) is handled after its system call instruction, because before it the breakpoints still exist.
// Then rearm() attaches a program that does nothing to the places without a breakpoint, in this process only. The
// kernel sets the breakpoint for it, finds that the probe needs the breakpoint as well, and leaves it when the program
// is detached.
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
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/clock.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/process_maps.h"
#include "base/processes.h"
#include "base/program_identity.h"
#include "base/quiet_thread.h"
#include "base/shared_libraries.h"
#include "runtime/attach/own_places.h"
#include "runtime/plan/moved_text_event.h"
#include "runtime/plan/object_names.h"
#include "runtime/processes/code_memory.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

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

// A function that changes mappings, under each of its names, and where the BPF program is attached in it.
struct Watched {
    const char* function;
    const char* name;
    sonde_moved_place at_entry, after_call; // SONDE_AT_NO_CALL: not there
};
constexpr Watched watched_functions[] = {
    {"mprotect", "mprotect", SONDE_AT_MPROTECT, SONDE_AFTER_MPROTECT},
    {"mprotect", "__mprotect", SONDE_AT_MPROTECT, SONDE_AFTER_MPROTECT},
    {"pkey_mprotect", "pkey_mprotect", SONDE_AT_MPROTECT, SONDE_AFTER_MPROTECT},
    {"mremap", "mremap", SONDE_AT_MREMAP, SONDE_AT_NO_CALL},
    {"mremap", "__mremap", SONDE_AT_MREMAP, SONDE_AT_NO_CALL},
    {"mmap", "mmap", SONDE_AT_NO_CALL, SONDE_AFTER_MMAP},
    {"mmap", "mmap64", SONDE_AT_NO_CALL, SONDE_AFTER_MMAP},
    {"mmap", "__mmap", SONDE_AT_NO_CALL, SONDE_AFTER_MMAP},
    {"madvise", "madvise", SONDE_AT_NO_CALL, SONDE_AFTER_MADVISE},
    {"madvise", "__madvise", SONDE_AT_NO_CALL, SONDE_AFTER_MADVISE},
};
const Watched* find_watched(std::string_view name) {
    const auto found =
        std::ranges::find(watched_functions, name, [](const Watched& one) { return std::string_view(one.name); });
    return found == std::end(watched_functions) ? nullptr : &*found;
}

constexpr size_t most_code = 512; // to read: these functions are short

// Returns the offsets in `code` of the instructions after system calls.
std::vector<size_t> places_after_calls(std::string_view code) {
    const Architecture& architecture = host_architecture();
    std::vector<size_t> out;
    for (size_t at = 0; at < code.size();) {
        const std::optional<Instruction> found = architecture.decode(code.substr(at));
        if (!found)
            break;
        const bool is_call = architecture.hazard(code.substr(at)) == Hazard::SystemCall;
        at += found->length;
        if (is_call && at < code.size())
            out.push_back(at);
    }
    return out;
}

// Finds the functions in a file: those that it contains, and those that it calls in others.
FileFunctions find_functions(const std::string& path) {
    FileFunctions out;
    const Result<ElfFile> file = ElfFile::open(path);
    if (!file)
        return out;
    const auto add = [&](const char* name, uint64_t offset, std::string_view code, sonde_moved_place place) {
        if (place != SONDE_AT_NO_CALL && first_sound(code) == size_t{0})
            out.places[name][offset] = place;
    };
    file->for_each_symbol([&](const ElfSymbol& symbol) {
        const Watched* function = find_watched(symbol.name);
        if (!function)
            return true;
        if (symbol.section == SHN_UNDEF) {
            out.called.insert(function->function);
            return true;
        }
        const std::optional<uint64_t> offset = file->file_offset(symbol.address);
        const Result<std::string> read = offset ? read_at(file->fd(), *offset, most_code) : Error("");
        if (!read)
            return true;
        const std::string_view code = *read;
        add(function->function, *offset, code, function->at_entry);
        for (const size_t behind : places_after_calls(code.substr(0, symbol.size)))
            add(function->function, *offset + behind, code.substr(behind), function->after_call);
        return true;
    });
    return out;
}

// The cookies tell the BPF program which function was called.
UprobeTargets targets_in(const std::string& path, const FileFunctions& functions, const std::set<std::string>& wanted) {
    UprobeTargets out;
    out.program = plan::programs::text_moves;
    out.path = out.attach_name = path;
    for (const auto& [name, places] : functions.places) {
        if (!wanted.contains(name))
            continue;
        for (const auto& [offset, cookie] : places) {
            out.offsets.push_back(offset);
            out.cookies.push_back(cookie);
            out.ref_ctr_offsets.push_back(0);
            out.names.push_back(fmt::format("{}+{:#x}", path, offset));
        }
    }
    return out;
}

// Returns how many could be written.
size_t write_all(int64_t process, const std::vector<CodePatch>& patches) {
    const Fd memory(open(fmt::format("/proc/{}/mem", process).c_str(), O_RDWR | O_CLOEXEC));
    return static_cast<size_t>(std::ranges::count_if(patches, [&](const CodePatch& patch) {
        return memory && pwrite(memory.get(), patch.bytes.data(), patch.bytes.size(),
                                static_cast<off_t>(patch.address)) == static_cast<ssize_t>(patch.bytes.size());
    }));
}

// The copy may not be writable any more. Kernels since 6.12 can be built to let only a tracer write such memory ("proc:
// add config & param to block forcing mem writes", CONFIG_PROC_MEM_FORCE_PTRACE; Debian's are). So a thread becomes the
// process's tracer without stopping it. The kernel detaches the tracer when the thread ends.
size_t write_patches(int64_t process, const std::vector<CodePatch>& patches) {
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

// Writes to the files of mappings that are shared: the kernel does not let a tracer write to them if they are
// read-only. Only files without a name are changed, such as a memfd. Removes the written patches, and returns their
// number.
size_t write_to_shared(int64_t process, const std::vector<ProcessMapping>& mappings, std::vector<CodePatch>& patches) {
    return std::erase_if(patches, [&](const CodePatch& patch) {
        const auto mapping = std::ranges::find_if(
            mappings, [&](const ProcessMapping& one) { return one.shared && one.covers(patch.address); });
        if (mapping == mappings.end() || !mapping->path.ends_with(" (deleted)"))
            return false;
        const Fd file(open(fmt::format("/proc/{}/map_files/{:x}-{:x}", process, mapping->start, mapping->end).c_str(),
                           O_RDWR | O_CLOEXEC));
        return file && pwrite(file.get(), patch.bytes.data(), patch.bytes.size(),
                              static_cast<off_t>(mapping->offset + (patch.address - mapping->start))) ==
                           static_cast<ssize_t>(patch.bytes.size());
    });
}

bool same_file(int fd, const std::string& path) {
    struct stat one{}, other{};
    return fstat(fd, &one) == 0 && stat(path.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

} // namespace

Result<std::unique_ptr<MovedText>> MovedText::start(const plan::Plan& plan, const KernelObject& kernel,
                                                    const ProbedFiles& files, const Attachments& attachments,
                                                    WarnedOnce& warned, const std::vector<int64_t>& running,
                                                    bool uprobe_multi) {
    std::unique_ptr<MovedText> out(new MovedText(plan, kernel, files, attachments, warned, uprobe_multi));
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
    const std::optional<uint64_t> entry = elf->file_offset(elf->entry());
    if (!entry)
        return {};
    const Result<std::string> code = read_at(elf->fd(), *entry, most_code);
    const std::optional<size_t> sound = code ? first_sound(*code) : std::nullopt;
    if (!sound) {
        warn(fmt::format("the kernel cannot probe the first instructions of `{}`, so sonde does not notice if the "
                         "program moves its code: a breakpoint in moved code would end it with SIGTRAP",
                         file.path));
        return {};
    }
    targets.offsets = {*entry + *sound};
    targets.cookies = {SONDE_AT_BEGIN};
    targets.ref_ctr_offsets = {0};
    targets.names = {fmt::format("the first instruction of {}", file.path)};
    Result<std::unique_ptr<Attachment>> attached = attach(std::move(targets));
    if (!attached)
        return std::move(attached).error();
    beginnings_.push_back(*std::move(attached));
    return {};
}

// Reads each file once, because many processes use the same libraries.
const FileFunctions& MovedText::functions_of(const std::string& path) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0)
        status = {};
    const FileVersion version{status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    const auto [found, fresh] = functions_.try_emplace(version);
    if (fresh)
        found->second = find_functions(path);
    return found->second;
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
    // Each breakpoint in a library makes the start of a process slower, so only functions that somebody calls get one.
    // A static program calls its own.
    std::set<std::string> called;
    for (const std::string& path : paths) {
        const FileFunctions& functions = functions_of(path);
        called.insert(functions.called.begin(), functions.called.end());
        if (path == program)
            for (const auto& [name, found] : functions.places)
                called.insert(name);
    }
    for (const std::string& path : paths) {
        UprobeTargets targets = targets_in(path, functions_of(path), called);
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
    if (moved.is_text && moved.state == SONDE_MOVED_TIMED_OUT && !wait_until_stopped(process))
        return;
    const bool is_new_code = moved.at != SONDE_AFTER_MADVISE && moved.at != SONDE_AFTER_MPROTECT;
    if (is_new_code)
        say_copied(process, mend(process, moved));
    if (moved.at != SONDE_AT_MPROTECT && moved.at != SONDE_AT_MREMAP)
        rearm(process, moved);
}

void MovedText::tell(int64_t process, const std::string& text) { warned_(fmt::format("process {} {}", process, text)); }

void MovedText::say_copied(int64_t process, const Copied& copied) {
    if (copied.is_text)
        tell(process, fmt::format("has moved its code to other memory; sonde {}no longer sees hits of this code",
                                  copied.restored > 0 ? "has removed the breakpoints from the copy, and " : ""));
    else if (copied.restored > 0)
        tell(process, "has copied probed code to other memory; sonde has removed the breakpoints from the copy, and "
                      "does not see hits there");
    if (copied.failed > 0)
        tell(process, "has copied probed code to other memory, and sonde cannot remove the breakpoints from the copy; "
                      "SIGTRAP ends the process when it reaches one: do not probe the copied functions");
}

// Attaches to all missing places of a file at once, which sets their breakpoints.
void MovedText::rearm(int64_t process, const sonde_moved& moved) {
    const ArmedPlaces armed = armed_places(attachments_, process);
    const uint64_t from = moved.to, to = moved.to + moved.size;
    const BreakpointCheck found = checker_.check(process, armed, from, to);
    if (found.unprobed)
        warned_(found.unprobed->text(process));
    if (found.lost.empty())
        return;
    Attachments temporary;
    std::string why;
    for (const auto& [path, offsets] : found.lost) {
        UprobeTargets targets;
        targets.program = plan::programs::text_moves;
        targets.path = path;
        targets.attach_name = files_.attach_name(path);
        targets.process = process;
        targets.offsets.assign(offsets.begin(), offsets.end());
        targets.cookies.assign(offsets.size(), SONDE_AT_NO_CALL);
        targets.ref_ctr_offsets.assign(offsets.size(), 0);
        for (const uint64_t offset : offsets)
            targets.names.push_back(fmt::format("{}+{:#x}", path, offset));
        if (Result<std::unique_ptr<Attachment>> attached = attach(std::move(targets)); attached)
            temporary.push_back(*std::move(attached));
        else
            why = ": " + attached.error().message;
    }
    const bool is_armed = checker_.check(process, armed, from, to).lost.empty();
    drop(temporary);
    if (!is_process(process))
        return;
    if (!is_armed)
        tell(process, "has dropped pages of its code with breakpoints, and sonde cannot set them again" + why +
                          "; hits of this code are no longer seen");
    else if (moved.state == SONDE_MOVED_TIMED_OUT || threads_of(process).size() > 1)
        tell(process, "has dropped pages of its code with breakpoints; sonde has set them again, but may have missed "
                      "hits in between");
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
    constexpr size_t most = 1 << 16; // more than the map can have: ends a loop over elements that are reused meanwhile
    for (uint32_t key = 0; keys.size() < most && bpf_map_get_next_key(map, keys.empty() ? nullptr : &key, &key) == 0;)
        keys.push_back(key);
    std::ranges::sort(keys);
    for (const uint32_t key : keys) {
        sonde_moved moved{};
        if (bpf_map_lookup_elem(map, &key, &moved) != 0 || moved.state == SONDE_MOVED_RUNS)
            continue;
        const bool begins = (key & SONDE_MOVED_BEGINS) != 0;
        const int64_t process = kernel_.numbers().in_session(static_cast<int64_t>(moved.process));
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
        if (process != 0 && (begins ? taken : moved.is_text != 0) && wait_until_stopped(process))
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

// The memory of a process may be a copy of code anywhere, except for mappings of the probed files: there, the kernel
// knows the breakpoints.
MovedText::Copied MovedText::mend(int64_t process, const sonde_moved& moved) const {
    Copied out;
    std::vector<CodePatch> patches;
    if (moved.is_text)
        find_in_text(process, moved, patches, out);
    const std::vector<ProcessMapping> mappings = read_process_maps(process);
    for (const ProcessMapping& mapping : mappings) {
        const uint64_t from = std::max<uint64_t>(mapping.start, moved.from),
                       to = std::min<uint64_t>(mapping.end, moved.from + moved.size);
        if (from >= to || checker_.is_probed_file(mapping))
            continue;
        for (CodePatch& patch : copies_.find_in(process, from, to - from, mapping.inode == 0))
            if (std::ranges::find(patches, patch.address, &CodePatch::address) == patches.end())
                patches.push_back(std::move(patch));
    }
    const size_t total = patches.size();
    if (moved.at == SONDE_AFTER_MMAP)
        out.restored = write_to_shared(process, mappings, patches);
    out.restored += write_patches(process, patches);
    out.failed = total - out.restored;
    return out;
}

// Replaces only bytes that differ from the file and begin like a uprobe (a breakpoint or a call). Other differences
// may be the program's own patches. Compares addresses at the destination `to`, because the plan knows where the
// code runs, not where the copy lies now.
void MovedText::find_in_text(int64_t process, const sonde_moved& moved, std::vector<CodePatch>& patches,
                             Copied& out) const {
    const Fd memory(open(fmt::format("/proc/{}/mem", process).c_str(), O_RDONLY | O_CLOEXEC));
    const std::string program = fmt::format("/proc/{}/exe", process);
    const std::vector<ProcessMapping> mappings = read_process_maps(process);
    const auto is_in_file = [&](uint64_t address) {
        return std::ranges::any_of(mappings, [&](const ProcessMapping& mapping) {
            return mapping.covers(address) && checker_.is_probed_file(mapping);
        });
    };
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
                const uint64_t address = moved.code - lowest + segment.address + (place.offset - segment.offset);
                if (address < moved.to || address + place.length > moved.to + moved.size)
                    continue;
                const uint64_t copy = moved.from + (address - moved.to);
                if (is_in_file(copy))
                    continue;
                out.is_text = true;
                std::string found(place.length, '\0');
                if (pread(memory.get(), found.data(), found.size(), static_cast<off_t>(copy)) !=
                        static_cast<ssize_t>(found.size()) ||
                    place.bytes.starts_with(found) ||
                    !(is_breakpoint(found) || (found.size() == kernels_call_length && found[0] == kernels_call)))
                    continue;
                patches.push_back({copy, place.bytes.substr(0, place.length)});
            }
    }
}

} // namespace sonde
