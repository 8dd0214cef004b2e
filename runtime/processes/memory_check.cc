// Reading all code of all processes would be slow. But most pages of code are shared with the file, so they are equal
// to it by definition. Only pages that a process has written to are private copies, and can differ. /proc/PID/pagemap
// marks these pages (Documentation/admin-guide/mm/pagemap.rst). So the check reads a few numbers for each process, and
// memory only for private pages.
//
// Not every difference is a patch. Four kinds are harmless:
//
// * Another tracer's uprobe has put a breakpoint there. The kernel manages it, so sonde can add its own. It is
//   recognized by mapping the file again: the kernel inserts uprobes into every new mapping, but not a debugger's
//   breakpoints.
// * The other tracer has just removed its uprobe. So the memory is read a second time.
// * The uprobe is for this process alone, or is left over from a tracer that was killed (kernel_breakpoint.h).
// * Since Linux 6.18, a uprobe on a 5-byte nop becomes a call of the kernel's own page (`[uprobes-trampoline]`).
//
// A debugger that has stopped the process takes its breakpoints out of the memory until the process goes on (gdb's
// `breakpoint always-inserted off`). If the process stops often, its breakpoints are in the memory for short times
// only. So the check looks again and again for 0.3 s if the process has a debugger.
#include "runtime/processes/memory_check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/clock.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/process_maps.h"
#include "base/processes.h"
#include "runtime/processes/code_memory.h"
#include "runtime/processes/kernel_breakpoint.h"

namespace sonde {
namespace {

const uint64_t page_size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

uint64_t page_of(uint64_t address) { return address & ~(page_size - 1); }

// A file of the plan whose instructions are compared.
std::string to_hex(std::string_view bytes) {
    std::string out;
    for (unsigned char byte : bytes)
        out += fmt::format("{}{:02x}", out.empty() ? "" : " ", byte);
    return out;
}

struct ProbedCodeFile {
    const plan::ProbedFile* file;
    int fd;
    uint64_t inode = 0, device = 0;              // as in /proc/PID/maps
    std::vector<const plan::ProbedCode*> places; // instructions, sorted by offset
};

// Returns whether another tracer has a uprobe at the offset. Maps the page: the kernel inserts uprobes into each new
// mapping, while a debugger's breakpoint stays in the debugged process.
bool is_probed_by_others(int fd, uint64_t offset) {
    const uint64_t page = page_of(offset);
    void* mapped = mmap(nullptr, page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, static_cast<off_t>(page));
    if (mapped == MAP_FAILED)
        return false;
    const bool out = is_breakpoint({static_cast<const char*>(mapped) + (offset - page), page_size - (offset - page)});
    munmap(mapped, page_size);
    return out;
}

std::vector<ProbedCodeFile> code_files(const plan::Plan& plan, const ProbedFiles& files) {
    std::vector<ProbedCodeFile> out;
    for (const plan::ProbedFile& file : plan.files) {
        ProbedCodeFile one{&file, files.fd(file.path), 0, 0, {}};
        // Returns the plan's files that have instructions to compare.
        for (const plan::ProbedCode& code : file.code)
            if (code.length > 0)
                one.places.push_back(&code);
        const auto numbers = one.places.empty() ? std::nullopt : numbers_of(one.fd);
        if (!numbers)
            continue;
        std::tie(one.device, one.inode) = *numbers;
        std::ranges::sort(one.places, {}, &plan::ProbedCode::offset);
        out.push_back(std::move(one));
    }
    return out;
}

// The memory of one process.
class ProcessMemory {
  public:
    ProcessMemory(int64_t process, std::vector<ProcessMapping> mappings)
        : process_(process), mappings_(std::move(mappings)),
          pages_(open(fmt::format("/proc/{}/pagemap", process).c_str(), O_RDONLY | O_CLOEXEC)) {}

    const std::vector<ProcessMapping>& mappings() const { return mappings_; }
    // Whether a page that was read is a private copy, so that its bytes can differ from the file's now or later.
    bool has_private_code() const { return has_private_code_; }

    // Returns the bytes in memory if they differ from the file's instruction. Returns an empty string if they are equal
    // or cannot be read.
    std::string difference(const plan::ProbedCode& code, uint64_t address) {
        const uint64_t last = address + code.length - 1;
        if (!is_private(address) && (page_of(last) == page_of(address) || !is_private(last)))
            return "";
        has_private_code_ = true;
        std::string found(code.length, '\0');
        iovec here{found.data(), found.size()}, there{reinterpret_cast<void*>(address), found.size()};
        const ssize_t got = process_vm_readv(static_cast<pid_t>(process_), &here, 1, &there, 1, 0);
        if (got != static_cast<ssize_t>(found.size()) || code.bytes.starts_with(found))
            return "";
        return found;
    }

  private:
    // Returns whether the page is a private copy, in memory or swapped out. Reads the numbers of 512 pages at a time.
    bool is_private(uint64_t address) {
        constexpr uint64_t present = 1ull << 63, swapped = 1ull << 62, of_file = 1ull << 61;
        const uint64_t number = address / page_size;
        if (number < first_ || number >= first_ + known_.size()) {
            known_.resize(512);
            first_ = number;
            const ssize_t got = pages_ ? pread(pages_.get(), known_.data(), known_.size() * sizeof(uint64_t),
                                               static_cast<off_t>(number * sizeof(uint64_t)))
                                       : -1;
            if (got < static_cast<ssize_t>(sizeof(uint64_t))) { // unknown: read the page's memory
                known_.clear();
                return true;
            }
            known_.resize(static_cast<size_t>(got) / sizeof(uint64_t));
        }
        const uint64_t page = known_[number - first_];
        return (page & swapped) || ((page & present) && !(page & of_file));
    }

    int64_t process_;
    std::vector<ProcessMapping> mappings_;
    Fd pages_;
    bool has_private_code_ = false;
    uint64_t first_ = 0;
    std::vector<uint64_t> known_; // pagemap entries of the pages from `first_` on
};
// Compares all files with one process after another, and collects the differences.

class Checker {
  public:
    Checker(const plan::Plan& plan, const ProbedFiles& files, const std::function<bool()>& stop)
        : plan_(plan), files_(code_files(plan, files)), stop_(stop) {
        for (const ProbedCodeFile& file : files_)
            inodes_.insert(file.inode);
    }

    bool has_nothing() const { return files_.empty(); }

    void look_at(int64_t process) {
        bool hidden = false;
        std::vector<ProcessMapping> mappings = read_maps_of_files(process, inodes_, hidden);
        out_.hidden += hidden ? 1 : 0;
        if (mappings.empty())
            return;
        ProcessMemory memory(process, std::move(mappings));
        const size_t changes = out_.changes();
        const int64_t end = now_ns() + 300'000'000;
        for (;;) {
            for (const ProbedCodeFile& file : files_)
                compare(process, memory, file);
            if (out_.changes() > changes || !memory.has_private_code() || !tracer_of(process) || now_ns() > end ||
                stop_())
                return;
            const timespec pause{0, 200'000};
            nanosleep(&pause, nullptr);
        }
    }

    MemoryCheck take() { return std::move(out_); }

  private:
    static bool is_of(const ProcessMapping& mapping, const ProbedCodeFile& file) {
        return mapping.inode == file.inode && mapping.device == file.device;
    }

    void compare(int64_t process, ProcessMemory& memory, const ProbedCodeFile& file) {
        size_t covered = 0;
        const ProcessMapping* any = nullptr;
        for (const ProcessMapping& mapping : memory.mappings()) {
            if (!is_of(mapping, file))
                continue;
            any = &mapping;
            const uint64_t end = mapping.offset + (mapping.end - mapping.start);
            // The kernel inserts breakpoints only into private mappings that are not writable.
            if (mapping.shared || mapping.writable) {
                const auto first = std::ranges::lower_bound(file.places, mapping.offset, {}, &plan::ProbedCode::offset);
                if (mapping.executable && first != file.places.end() && (*first)->offset < end)
                    out_.unprobed.emplace(process, UnprobedMapping{file.file->path, mapping.shared});
                continue;
            }
            for (auto at = std::ranges::lower_bound(file.places, mapping.offset, {}, &plan::ProbedCode::offset);
                 at != file.places.end() && (*at)->offset < end && !stop_(); ++at) {
                covered += mapping.executable ? 1 : 0;
                compare(process, memory, file, **at, mapping.start + ((*at)->offset - mapping.offset));
            }
        }
        if (any && covered < file.places.size() && is_moved(memory, file, *any))
            out_.moved.emplace(process, file.file->path);
    }

    void compare(int64_t process, ProcessMemory& memory, const ProbedCodeFile& file, const plan::ProbedCode& code,
                 uint64_t address) {
        const std::string found = memory.difference(code, address);
        if (found.empty() || is_call_of_kernel(memory.mappings(), found, address))
            return;
        const size_t breakpoint_size = host_architecture().uprobe_breakpoint().size();
        const bool has_breakpoint =
            is_breakpoint(found) &&
            std::string_view(code.bytes).substr(breakpoint_size).starts_with(found.substr(breakpoint_size));
        if (has_breakpoint && (is_of_another_tracer(process, memory, file, code, address) ||
                               is_breakpoint_of_kernel(process, file.fd, code.offset)))
            return;
        if (out_.first_change.empty())
            out_.first_change = fmt::format("{}: process {} ({}) has {} at {:#x}, but the file has {}; {}",
                                            name_of(file, code), process, process_program(process), to_hex(found),
                                            address, to_hex(code.bytes.substr(0, code.length)),
                                            has_breakpoint ? "it is a breakpoint of a debugger or of the program itself"
                                                           : "its code was patched in memory");
        out_.changed[file.file->path].insert(code.offset);
    }

    // Whether the kernel put the breakpoint there for another tracer. That tracer may be taking its probes away
    // meanwhile: new mappings then have no breakpoint, while the old one still has it for some milliseconds. A
    // debugger's breakpoint stays, unless the debugger stops the process. All places together wait for it once.
    bool is_of_another_tracer(int64_t process, ProcessMemory& memory, const ProbedCodeFile& file,
                              const plan::ProbedCode& code, uint64_t address) {
        constexpr timespec pause{0, 5'000'000};
        for (;; pauses_left_--) {
            if (is_probed_by_others(file.fd, code.offset))
                return true;
            if (pauses_left_ <= 0 || tracer_of(process))
                return false;
            if (memory.difference(code, address).empty())
                return true;
            nanosleep(&pause, nullptr);
        }
    }

    std::string name_of(const ProbedCodeFile& file, const plan::ProbedCode& code) const {
        for (const plan::Point& point : plan_.rows)
            if (point.path == file.file->path && (point.offset == code.offset || point.entry_offset == code.offset))
                return point.pp;
        return fmt::format("{}+{:#x}", file.file->path, code.offset);
    }

    // Returns whether the process has its own executable memory at an address where an instruction of the file should
    // be mapped. This is the case if the program moved its code to large pages.
    static bool is_moved(const ProcessMemory& memory, const ProbedCodeFile& file, const ProcessMapping& any) {
        Result<ElfFile> elf = ElfFile::open_any_width(fmt::format("/proc/self/fd/{}", file.fd));
        if (!elf)
            return false;
        const auto address_of = [&](uint64_t offset) -> std::optional<uint64_t> {
            for (const ElfSegment& segment : elf->segments())
                if (offset >= page_of(segment.offset) && offset < segment.offset + segment.file_size)
                    return segment.address + offset - segment.offset;
            return std::nullopt;
        };
        const std::optional<uint64_t> mapped = address_of(any.offset);
        if (!mapped)
            return false;
        for (const plan::ProbedCode* code : file.places) {
            const std::optional<uint64_t> address = address_of(code->offset);
            if (!address)
                continue;
            const uint64_t here = any.start + (*address - *mapped);
            for (const ProcessMapping& mapping : memory.mappings())
                if (mapping.covers(here) && mapping.executable && mapping.inode == 0 && !mapping.path.starts_with("[v"))
                    return true;
        }
        return false;
    }

    const plan::Plan& plan_;
    std::vector<ProbedCodeFile> files_;
    std::set<uint64_t> inodes_;
    MemoryCheck out_;
    const std::function<bool()>& stop_;
    int pauses_left_ = 10;
};

} // namespace

std::string UnprobedMapping::text(int64_t process) const {
    return fmt::format("process {} ({}) has mapped `{}` {}; sonde does not see hits in such a mapping: the kernel sets "
                       "breakpoints only in private mappings that are not writable",
                       process, process_program(process), path,
                       shared ? "as shared memory (MAP_SHARED)" : "writable and executable");
}

size_t MemoryCheck::changes() const {
    size_t out = 0;
    for (const auto& [path, offsets] : changed)
        out += offsets.size();
    return out;
}

MemoryCheck check_memory_of_processes(const plan::Plan& plan, const ProbedFiles& files,
                                      const std::function<bool()>& stop) {
    Checker checker(plan, files, stop);
    if (checker.has_nothing())
        return {};
    for (const int64_t process : all_processes()) {
        if (stop())
            break;
        if (process != getpid())
            checker.look_at(process);
    }
    return checker.take();
}

} // namespace sonde
