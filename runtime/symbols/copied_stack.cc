// The routines that unwind the stacks of threads which run no handler (runtime/plan/thread_walk.h) unwind the copy,
// too. They find each function's registers, and not only its address.
//
// A called function may change some registers without saving them. Their values in a caller are lost, so the caller's
// frame does not have them.
#include "runtime/symbols/copied_stack.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "arch/architecture.h"
#include "runtime/plan/copied_memory.h"
#include "runtime/symbols/symbols.h"
#include "runtime/symbols/walk_tables.h"

namespace sonde {
namespace {

uint64_t index_of(int number) { return host_architecture().registers().offset(number) / 8; }
uint64_t bit_of(uint64_t number) { return uint64_t{1} << index_of(static_cast<int>(number)); }

// The registers whose values survive the calls of other functions, as bits of StackFrame::known.
uint64_t preserved_registers() {
    const Architecture& architecture = host_architecture();
    const RegisterFile& registers = architecture.registers();
    uint64_t out = bit_of(static_cast<uint64_t>(registers.stack_pointer)) |
                   bit_of(static_cast<uint64_t>(registers.frame_pointer)) |
                   bit_of(static_cast<uint64_t>(registers.instruction_pointer));
    for (const auto& saved : {architecture.unwind_traits().saved, architecture.unwind_traits().saved_beyond})
        for (const uint64_t number : saved)
            out |= bit_of(number);
    return out;
}

// The environment of sonde_walk_thread().
struct Walk {
    Symbols& symbols;
    plan::StackCopy& copy;
    uint64_t process = 0;
    sonde_thread_walk walk{};
    sonde_walk_caches caches{};
    WalkTables tables{symbols};

    Walk(Symbols& all, plan::StackCopy& of, uint64_t of_process, const sonde_thread& thread, uint64_t most)
        : symbols(all), copy(of), process(of_process) {
        walk.thread = &thread;
        walk.most = std::min<uint64_t>(most, SONDE_STACK_MOST);
        walk.context = this;
        walk.caches = &caches;
        walk.read = [](void* self, void* to, unsigned size, unsigned long long address) {
            return static_cast<Walk*>(self)->copy.read(address, static_cast<char*>(to), size) == size ? 0 : 1;
        };
        walk.find_mapping = [](void* self, unsigned long long address, sonde_found* found) {
            return int{static_cast<Walk*>(self)->find_mapping(address, *found)};
        };
        walk.find_table = [](void* self, unsigned long long inode) {
            return static_cast<Walk*>(self)->tables.find(inode);
        };
        // The copy has no frames of interpreters.
        walk.find_interpreter = [](void*, unsigned, unsigned) -> const void* { return nullptr; };
        walk.find_name = [](void*, unsigned) -> sonde_interpreted_name* { return nullptr; };
    }

    bool find_mapping(uint64_t address, sonde_found& found) const {
        const sonde_mapping* mapping = symbols.find_mapping(process, address);
        if (!mapping)
            return false;
        found.at = *mapping;
        found.code = 1; // handlers report only these
        return true;
    }
};

void add_memory(plan::StackCopy& to, uint64_t address, const void* bytes, uint64_t size) {
    to.memory.push_back({address, std::string(static_cast<const char*>(bytes), size)});
}

} // namespace

CallerValues caller_values(Symbolizer& symbols, uint64_t process, const std::vector<uint64_t>& addresses) {
    auto* const source = dynamic_cast<CallerValuesSource*>(&symbols);
    return source ? source->caller_values(process, addresses) : CallerValues{.none = "the stack was not copied"};
}

Result<CopiedStack> read_copied_stack(const KernelObject& kernel, Symbols& symbols, uint64_t process, uint64_t most) {
    const auto from = std::make_unique<sonde_stack_copy>();
    const uint32_t none = 0;
    if (bpf_map_lookup_elem(kernel.map_fd(plan::stack_copy_map), &none, from.get()) != 0 ||
        from->state != SONDE_COPY_DONE || from->thread.process != process)
        return Error("another hit was copied");
    CopiedStack out;
    out.left_out = from->left_out;
    out.copy.thread_pointer = from->thread.thread_pointer;
    constexpr uint64_t chunk_words = SONDE_COPY_CHUNK / 8, block_words = SONDE_COPY_BLOCK / 8;
    for (uint64_t i = 0; i < SONDE_COPY_CHUNKS; i++)
        if (from->chunks >> i & 1)
            add_memory(out.copy, from->stack_at + i * SONDE_COPY_CHUNK, &from->stack[i * chunk_words],
                       SONDE_COPY_CHUNK);
    for (uint64_t i = 0; i < std::min<uint64_t>(from->blocks, SONDE_COPY_BLOCKS); i++)
        add_memory(out.copy, from->block_at[i], &from->block[i * block_words], SONDE_COPY_BLOCK);
    std::ranges::sort(out.copy.memory, {}, &plan::StackCopy::Memory::address);
    // The thread is not in a system call.
    from->thread.registers[host_architecture().registers().offset(syscall_number_register) / 8] = ~0ull;

    const auto walk = std::make_unique<Walk>(symbols, out.copy, process, from->thread, most);
    sonde_walk_thread(&walk->walk);
    const sonde_stack& stack = walk->walk.stacks.user;
    for (uint64_t i = 0; i < std::min<uint64_t>(stack.depth, SONDE_STACK_MOST); i++) {
        const sonde_walked_function& function = walk->walk.functions[i];
        out.addresses.push_back(stack.address[i]);
        plan::StackFrame& frame = out.copy.frames.emplace_back();
        frame.is_innermost = i == 0;
        frame.known = i == 0 ? ~uint64_t{0} : function.known & preserved_registers();
        std::ranges::copy(function.registers, frame.registers.begin());
        frame.registers[index_of(host_architecture().registers().instruction_pointer)] = stack.address[i] - (i > 0);
    }
    return out;
}

} // namespace sonde
