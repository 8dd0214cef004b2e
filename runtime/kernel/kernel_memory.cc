// The program has the type of raw tracepoints but is not attached. The session runs it with BPF_PROG_TEST_RUN for each
// read. Its context consists of three numbers: command, size and address. It stores the result and the data in a map
// whose memory the session has mapped.
//
// The program consists of a few instructions, so it is assembled here by hand. Compiling it would require LLVM at run
// time.
#include "runtime/kernel/kernel_memory.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace sonde {
namespace {

constexpr size_t most = 4096, head = 8, map_bytes = 2 * most + head;

// Opcodes (Documentation/bpf/standardization/instruction-set.rst).
enum Code : uint8_t {
    load_map = BPF_LD | BPF_IMM | BPF_DW,
    load64 = BPF_LDX | BPF_MEM | BPF_DW,
    store64 = BPF_STX | BPF_MEM | BPF_DW,
    move = BPF_ALU64 | BPF_MOV | BPF_X,
    move_number = BPF_ALU64 | BPF_MOV | BPF_K,
    add_number = BPF_ALU64 | BPF_ADD | BPF_K,
    and_number = BPF_ALU64 | BPF_AND | BPF_K,
    jump_equal = BPF_JMP | BPF_JEQ | BPF_K,
    jump = BPF_JMP | BPF_JA,
    call = BPF_JMP | BPF_CALL,
    leave = BPF_JMP | BPF_EXIT,
};

} // namespace

KernelMemory::~KernelMemory() {
    if (memory_)
        munmap(memory_, map_bytes);
}

bool KernelMemory::open() {
    if (opened_)
        return memory_ != nullptr;
    opened_ = true;
    bpf_map_create_opts map_options{};
    map_options.sz = sizeof map_options;
    map_options.map_flags = BPF_F_MMAPABLE;
    map_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_memory", 4, map_bytes, 1, &map_options));
    if (map_.get() < 0)
        return false;
    const bpf_insn code[] = {
        {load64, 6, 1, 0, 0},                               // r6 = the command
        {load64, 2, 1, 8, 0},                               // r2 = the size
        {load64, 3, 1, 16, 0},                              // r3 = the address
        {load_map, 7, BPF_PSEUDO_MAP_VALUE, 0, map_.get()}, // r7 = the map's memory
        {0, 0, 0, 0, 0},                                    // second half of the previous instruction: the offset
        {and_number, 2, 0, 0, 2 * most - 1},                // bounds the size, for the verifier
        {move, 1, 7, 0, 0},                                 // r1 = the position after the result
        {add_number, 1, 0, 0, head},                        //
        {jump_equal, 6, 0, 4, ReadString},                  //
        {jump_equal, 6, 0, 5, CurrentTask},                 //
        {call, 0, 0, 0, BPF_FUNC_probe_read_kernel},        //
        {store64, 7, 0, 0, 0},                              //
        {jump, 0, 0, 4, 0},                                 //
        {call, 0, 0, 0, BPF_FUNC_probe_read_kernel_str},    //
        {jump, 0, 0, 1, 0},                                 //
        {call, 0, 0, 0, BPF_FUNC_get_current_task},         //
        {store64, 7, 0, 0, 0},                              // the result
        {move_number, 0, 0, 0, 0},                          //
        {leave, 0, 0, 0, 0},
    };
    program_ = Fd(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "sonde_memory", "GPL", code, std::size(code), nullptr));
    if (program_.get() < 0)
        return false;
    void* memory = mmap(nullptr, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_.get(), 0);
    if (memory != MAP_FAILED)
        memory_ = static_cast<char*>(memory);
    return memory_ != nullptr;
}

int64_t KernelMemory::ask(Command command, uint64_t size, uint64_t address) {
    uint64_t context[3] = {command, size, address};
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.ctx_in = context;
    options.ctx_size_in = sizeof context;
    if (!open() || bpf_prog_test_run_opts(program_.get(), &options) != 0)
        return -1;
    int64_t result = 0;
    std::memcpy(&result, memory_, sizeof result);
    return result;
}

bool KernelMemory::read(char* dst, size_t size, uint64_t address) {
    for (size_t done = 0; done < size; done += most) {
        size_t part = std::min(size - done, most);
        if (ask(Read, part, address + done) < 0)
            return false;
        std::memcpy(dst + done, memory_ + head, part);
    }
    return true;
}

bool KernelMemory::read_string(char* dst, size_t size, uint64_t address) {
    for (size_t done = 0; done + 1 < size;) {
        size_t part = std::min(size - done, most);
        int64_t got = ask(ReadString, part, address + done);
        if (got <= 0)
            return false;
        std::memcpy(dst + done, memory_ + head, static_cast<size_t>(got));
        if (static_cast<size_t>(got) < part)
            return true;
        done += part - 1; // overwrite the NUL with the rest
    }
    return true;
}

int64_t KernelMemory::current_task() {
    int64_t task = ask(CurrentTask, 0, 0);
    return task == -1 ? 0 : task;
}

} // namespace sonde
