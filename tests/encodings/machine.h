// The memory of the child process in which instructions run, and the outcome of a run. execute.cc explains the idea.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace encodings {

// The child's memory. It is below 4 GB, so that 32-bit addresses reach it.
constexpr uint64_t before_at = 0x0f000000; // operands before the code
constexpr uint64_t code_at = 0x10000000;
constexpr uint64_t after_at = 0x18000000;   // operands after it
constexpr uint64_t landing_at = 0x20000000; // where indirect jumps lead
constexpr uint64_t stack_at = 0x21000000;
constexpr uint64_t data_at = 0x22000000;
constexpr uint64_t hole_at = 0x28000000; // not mapped
constexpr size_t page_size = 4096;
constexpr size_t red_zone = 128;
constexpr size_t slot_size = 128;
constexpr size_t in_slot = 48; // the instruction's place, with room for jumps in both directions
constexpr int state_count = 3;
constexpr int repeat_count = 2;
constexpr size_t batch_size = 1024;
constexpr uint8_t hlt = 0xf4;

struct Instruction {
    std::vector<uint8_t> bytes;
    size_t offset = 0; // in the file
    bool is_skipped = false;
    bool is_random = false; // the values of general registers differ from run to run
    bool is_system_call = false;
    bool loads_base = false;  // of fs or gs. Some virtual machines lose the new base at random, without a probe, too.
    bool stores_unit = false; // writes the x87 unit's state to memory, which is partly undefined where it is emulated
    bool is_call = false;
};

// The fields of an outcome, each a number or a hash.
constexpr std::array field_names = {
    "r8",          "r9",           "r10",           "r11",          "r12",   "r13",    "r14",
    "r15",         "rdi",          "rsi",           "rbp",          "rbx",   "rdx",    "rax",
    "rcx",         "rsp",          "rip",           "flags",        "cs/ss", "signal", "code",
    "address",     "trap",         "error",         "ds/es",        "fs/gs", "fsbase", "gsbase",
    "x87 control", "x87 pointers", "x87 registers", "mxcsr",        "xmm",   "ymm",    "mask",
    "zmm",         "zmm16-31",     "memory before", "memory after", "stack", "data"};
constexpr size_t field_count = field_names.size();
enum Field {
    field_rsp = 15,
    field_rip = 16,
    field_flags,
    field_selectors,
    field_signal,
    field_signal_code,
    field_address,
    field_trap,
    field_error,
    field_ds_es,
    field_fs_gs,
    field_fs_base,
    field_gs_base,
    field_x87,
    field_memory = 37
};

struct Outcome {
    std::array<uint64_t, field_count> values;
    uint64_t hits;
    uint64_t done;
};

// The outcomes of one instruction, which a child leaves for its parent.
struct Outcomes {
    Outcome run[state_count][repeat_count];
    uint8_t attached, first_byte_after;
};

struct State {
    std::array<uint64_t, 16> registers; // in the order of the frame's
    uint64_t flags;
    uint32_t mxcsr;
    uint64_t top_of_stack;
    uint64_t seed;
};

struct Component {
    uint32_t offset = 0, size = 0;
};

struct Shared {
    volatile uint64_t progress;
    volatile uint64_t index; // of the instruction that is being run, in the batch
    volatile uint64_t is_in_handler;
    volatile uint64_t failure; // address and signal of a fault in the handler itself
    volatile uint64_t alarms, strange_alarms;
};

constexpr size_t most_frame_bytes = 16384;
struct Region {
    uint64_t address;
    size_t size;
};
constexpr std::array<Region, 4> regions = {
    {{before_at, page_size}, {after_at, page_size}, {stack_at, page_size}, {data_at, page_size}}};

// Everything that the child needs. It is made by the parent and copied by fork().
struct Child {
    const Instruction* instructions;
    size_t first, end, at;
    int state, repeat;
    bool is_running;
    Outcomes* outcomes;
    Shared* shared;
    volatile uint64_t* hits;
    uint64_t hits_before;
    std::array<State, state_count> states;
    std::array<Component, 64> components;
    uint64_t selectors;
    int alarm_us;
    size_t frame_size;
    alignas(64) uint8_t frames[state_count][most_frame_bytes];
    alignas(64) uint8_t memory[regions.size()][page_size];
    bool is_dirty[regions.size()];
};

extern Child child;

// Fills in the states that instructions begin with.
void make_states();
// In the child: maps the part of `file` with its instructions and runs these. Does not return.
[[noreturn]] void run_child(int file);
// Prints the failed call and errno, and ends the program.
[[noreturn]] void fail(const char* what);

} // namespace encodings
