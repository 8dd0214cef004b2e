// Watchpoints: hardware breakpoints as perf events (perf_event_open(2), PERF_TYPE_BREAKPOINT).
#include "runtime/attach/watchpoint.h"

#include <elf.h>
#include <linux/hw_breakpoint.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/elf_file.h"
#include "runtime/attach/perf_links.h"
#include "runtime/messages.h"

namespace sonde {
namespace {

perf_event_attr attributes(const plan::WatchSpec& watch, uint64_t address) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_BREAKPOINT;
    attr.bp_type = watch.reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
    attr.bp_addr = address;
    attr.bp_len = watch.length;
    attr.sample_period = 1;
    return attr;
}

std::vector<int64_t> threads_of(int64_t process) {
    std::vector<int64_t> out;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error))
        out.push_back(std::atoll(thread.path().filename().c_str()));
    return out;
}

bool runs(int64_t process, const std::string& program) {
    std::error_code error;
    return std::filesystem::equivalent(fmt::format("/proc/{}/exe", process), program, error);
}

// How far from its own addresses a process' program is loaded: the kernel tells each process where its entry is.
Result<uint64_t> load_bias(int64_t process, const std::string& program) {
    Result<ElfFile> file = ElfFile::open(program);
    if (!file)
        return std::move(file).error();
    Result<std::string> vector = read_file(fmt::format("/proc/{}/auxv", process));
    if (!vector)
        return std::move(vector).error();
    for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= vector->size(); at += sizeof(Elf64_auxv_t)) {
        Elf64_auxv_t entry;
        std::memcpy(&entry, vector->data() + at, sizeof entry);
        if (entry.a_type == AT_ENTRY)
            return entry.a_un.a_val - file->entry();
    }
    return Error(fmt::format("process {} does not tell where {} is loaded", process, program));
}

// The address that a symbol of the kernel has now; a saved plan may come from another time.
uint64_t kernel_address(const plan::Point& point) {
    Result<std::string> text = point.watch.is_symbol ? read_file("/proc/kallsyms") : Error("");
    if (!text)
        return point.watch.address;
    std::string name = fmt::format(" {}\n", point.symbol);
    for (size_t at = text->find(name); at != std::string::npos; at = text->find(name, at + 1)) {
        size_t line = text->rfind('\n', at) + 1;
        if (uint64_t address = std::strtoull(text->c_str() + line, nullptr, 16))
            return address;
    }
    return point.watch.address;
}

} // namespace

Result<std::unique_ptr<Attachment>> attach_watchpoint(bpf_object* object, const std::string& name,
                                                      const plan::Point& point) {
    auto out = std::make_unique<PerfLinks>(object, name, point);
    perf_event_attr attr = attributes(point.watch, kernel_address(point));
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
        if (Result<void> added = out->add(attr, -1, static_cast<int>(cpu)); !added)
            return std::move(added).error();
    return std::unique_ptr<Attachment>(std::move(out));
}

Result<Attachments> Watchpoints::watch(int64_t process, bool by_number) {
    Attachments out;
    for (const plan::Probe& probe : plan_.probes)
        for (const plan::Point& point : probe.points) {
            if (probe.kind != plan::ProbeKind::Watch || point.watch.is_kernel)
                continue;
            if (by_number ? point.pid != process : point.program.empty() || !runs(process, point.program))
                continue;
            uint64_t address = point.watch.address;
            if (point.watch.is_relative) {
                Result<uint64_t> bias = load_bias(process, point.path);
                if (!bias)
                    return std::move(bias).error().in(fmt::format("cannot attach to {}", point.pp));
                address += *bias;
            }
            perf_event_attr attr = attributes(point.watch, address);
            attr.inherit = 1;
            auto links = std::make_unique<PerfLinks>(kernel_.object(), probe.symbol, point);
            for (int64_t thread : threads_of(process))
                if (Result<void> added = links->add(attr, static_cast<pid_t>(thread), -1); !added)
                    return std::move(added).error();
            out.push_back(std::move(links));
        }
    return out;
}

Result<void> Watchpoints::begin(const std::vector<int64_t>& processes) {
    auto keep = [&](int64_t process, bool by_number) -> Result<void> {
        Result<Attachments> some = watch(process, by_number);
        if (!some)
            return std::move(some).error();
        if (!some->empty())
            std::move(some->begin(), some->end(), std::back_inserter(watched_[process]));
        return {};
    };
    for (const plan::Probe& probe : plan_.probes)
        for (const plan::Point& point : probe.points)
            if (probe.kind == plan::ProbeKind::Watch && point.pid && !watched_.contains(point.pid))
                if (Result<void> kept = keep(point.pid, true); !kept)
                    return kept;
    for (int64_t process : processes)
        if (Result<void> kept = keep(process, false); !kept)
            return kept;
    return {};
}

void Watchpoints::process_began(int64_t process) {
    watched_.erase(process); // of the program that it has left
    Result<Attachments> some = watch(process, false);
    if (some)
        watched_[process] = *std::move(some);
    else
        say(fmt::format("WARNING: process {} is not watched: {}", process, some.error().message));
    kill(static_cast<pid_t>(process), SIGCONT);
}

} // namespace sonde
