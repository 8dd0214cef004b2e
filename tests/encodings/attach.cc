#include "tests/encodings/attach.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace encodings {

void fail(const char* what) {
    perror(what);
    exit(2);
}

namespace {

long bpf(int command, std::array<uint64_t, 16>& attributes) {
    return syscall(SYS_bpf, command, attributes.data(), sizeof(attributes));
}

uint64_t pair(uint64_t low, uint64_t high) { return low | high << 32; }

// A program that adds 1 to a number that this process can read.
int load_program(const Counter& counter, bool is_multi) {
    constexpr int program_load = 5, type_kprobe = 2;
    // r1 = &number; r2 = 1; *r1 += r2, atomically; r0 = 0; exit
    const std::array<uint64_t, 6> code = {
        0x2118 | static_cast<uint64_t>(counter.map) << 32, 0, 0x1000002b7, 0x21db, 0xb7, 0x95};
    static const char license[] = "GPL";
    std::array<uint64_t, 16> attributes = {pair(type_kprobe, code.size()), reinterpret_cast<uint64_t>(code.data()),
                                           reinterpret_cast<uint64_t>(license)};
    attributes[8] = is_multi ? pair(0, 48) : 0; // expected_attach_type BPF_TRACE_UPROBE_MULTI
    return static_cast<int>(bpf(program_load, attributes));
}

} // namespace

Counter load_counter() {
    constexpr int map_create = 0, type_array = 2, flag_mmapable = 1 << 10;
    std::array<uint64_t, 16> attributes = {pair(type_array, 4), pair(8, 1), flag_mmapable};
    Counter counter;
    counter.map = static_cast<int>(bpf(map_create, attributes));
    if (counter.map < 0)
        fail("bpf: a map");
    counter.hits =
        static_cast<volatile uint64_t*>(mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, counter.map, 0));
    if (counter.hits == MAP_FAILED)
        fail("mmap of a map");
    return counter;
}

bool attach_multi(const Counter& counter, const std::string& path, const std::vector<Instruction>& instructions) {
    constexpr int link_create = 28;
    const int program = load_program(counter, true);
    std::vector<uint64_t> offsets;
    for (const Instruction& instruction : instructions)
        offsets.push_back(instruction.offset);
    std::array<uint64_t, 16> attributes = {static_cast<uint64_t>(program),
                                           pair(48, 0),
                                           reinterpret_cast<uint64_t>(path.c_str()),
                                           reinterpret_cast<uint64_t>(offsets.data()),
                                           0,
                                           0,
                                           offsets.size()};
    return program >= 0 && bpf(link_create, attributes) >= 0;
}

void attach_events(const Counter& counter, const std::string& path, const std::vector<Instruction>& instructions) {
    const int program = load_program(counter, false);
    std::ifstream type("/sys/bus/event_source/devices/uprobe/type");
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    if (!(type >> attributes.type))
        fail("the type of uprobe events");
    const rlimit limit = {instructions.size() + 100, instructions.size() + 100};
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        fail("setrlimit");
    attributes.config1 = reinterpret_cast<uint64_t>(path.c_str());
    // The program also runs for disabled events, and the kernel need not put thousands of events on the processor for
    // each new one.
    attributes.disabled = 1;
    for (const Instruction& instruction : instructions) {
        attributes.config2 = instruction.offset;
        const long event = syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
        if (event < 0)
            fail("perf_event_open");
        if (ioctl(static_cast<int>(event), PERF_EVENT_IOC_SET_BPF, program) < 0)
            fail("a perf event");
    }
}

} // namespace encodings
