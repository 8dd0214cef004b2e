// Collects the files that the target's processes execute and map as code.
//
// A perf event of the type "dummy" counts nothing, but the kernel writes a record into its buffer for each mapping of
// executable code (perf_event_attr::mmap2). Child processes inherit it.
//
// The buffer is a ring of pages that the kernel and sonde share (perf_event_open(2), "MMAP layout"). data_head is where
// the kernel writes next, and data_tail is where sonde reads next. A record can go over the end of the ring, so it is
// copied in two parts. If the ring is full, the kernel drops records and writes PERF_RECORD_LOST. The list is then
// incomplete, and explanations must not rely on it (is_complete()).
#include "runtime/processes/target_files.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <bpf/libbpf.h>
#include <fmt/format.h>

#include "base/process_maps.h"
#include "base/processes.h"

namespace sonde {
namespace {

constexpr size_t data_pages = 16; // for each processor, a power of two: 500 mappings between two calls of drain()
constexpr size_t most_paths = 1 << 16;

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
size_t buffer_bytes() { return (1 + data_pages) * page_bytes(); }

} // namespace

TargetFiles::~TargetFiles() {
    for (const Buffer& buffer : buffers_)
        munmap(buffer.memory, buffer_bytes());
}

void TargetFiles::follow(pid_t process) {
    process_ = process;
    perf_event_attr attr{};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.size = sizeof attr;
    attr.mmap = attr.mmap2 = 1;
    attr.inherit = 1;
    attr.exclude_kernel = attr.exclude_hv = 1;
    attr.watermark = 1;
    attr.wakeup_watermark = static_cast<uint32_t>(data_pages * page_bytes());
    // An inherited event needs one buffer for each processor.
    complete_ = true;
    for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
        Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attr, process, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
        if (!event && errno == ENODEV) // the processor is off
            continue;
        void* memory =
            event ? mmap(nullptr, buffer_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0) : MAP_FAILED;
        if (memory == MAP_FAILED) {
            complete_ = false;
            return;
        }
        buffers_.push_back({std::move(event), static_cast<char*>(memory)});
    }
}

void TargetFiles::add(const std::string& path, uint64_t inode) {
    if (inode == 0)
        return;
    if (paths_.size() >= most_paths) {
        complete_ = false;
        return;
    }
    paths_[path].insert(inode);
    inodes_.insert(inode);
}

void TargetFiles::drain() {
    for (const Buffer& buffer : buffers_)
        take(buffer);
}

void TargetFiles::take(const Buffer& buffer) {
    struct Mapped { // PERF_RECORD_MMAP2, after the header
        uint32_t pid, tid;
        uint64_t address, length, offset;
        uint32_t major, minor;
        uint64_t inode, generation;
        uint32_t protection, flags;
    };
    auto* page = reinterpret_cast<perf_event_mmap_page*>(buffer.memory);
    const char* data = buffer.memory + page_bytes();
    const uint64_t size = data_pages * page_bytes();
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
    auto copy = [&](uint64_t from, size_t bytes) {
        std::string out(bytes, 0);
        size_t first = std::min<size_t>(bytes, size - from % size);
        std::memcpy(out.data(), data + from % size, first);
        std::memcpy(out.data() + first, data, bytes - first);
        return out;
    };
    while (tail < head) {
        perf_event_header header{};
        std::memcpy(&header, copy(tail, sizeof header).data(), sizeof header);
        if (header.size < sizeof header)
            break;
        if (header.type == PERF_RECORD_LOST)
            complete_ = false;
        if (header.type == PERF_RECORD_MMAP2 && header.size > sizeof header + sizeof(Mapped)) {
            std::string record = copy(tail, header.size);
            Mapped mapped{};
            std::memcpy(&mapped, record.data() + sizeof header, sizeof mapped);
            const char* path = record.data() + sizeof header + sizeof mapped;
            std::string name(path, strnlen(path, record.size() - sizeof header - sizeof mapped));
            // Before the exec, the process is a copy of sonde, which maps nothing while it waits. So the first mapping
            // is the program.
            if (program_.empty() && static_cast<pid_t>(mapped.pid) == process_ && mapped.inode != 0)
                program_ = name;
            add(name, mapped.inode);
        }
        tail += header.size;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

bool TargetFiles::look_at_one(int64_t process) {
    bool found = false;
    for (const ProcessMapping& mapping : read_process_maps(process)) {
        if (!mapping.executable || mapping.inode == 0)
            continue;
        std::string path = mapping.path;
        if (size_t gone = path.rfind(" (deleted)"); gone != std::string::npos)
            path.resize(gone);
        add(path, mapping.inode);
        found = true;
    }
    return found;
}

void TargetFiles::look_at_all() {
    for (int64_t process : all_processes())
        complete_ = look_at_one(process) || complete_;
}

void TargetFiles::look_at(int64_t process) {
    complete_ = look_at_one(process) || complete_;
    if (program_.empty())
        program_ = process_program(process);
    for (int64_t child : children_of(process))
        look_at(child);
}

std::set<uint64_t> TargetFiles::inodes_at(const std::string& path) const {
    auto found = paths_.find(path);
    return found == paths_.end() ? std::set<uint64_t>() : found->second;
}

} // namespace sonde
