// The search decodes the code of all parts of the function, and classifies each instruction that can leave the
// function:
//
//   ret                  an exit, unless the return address is not on top of the stack
//   jmp f, jcc f         inside of the function, or a tail call
//   jmp *%rax            a switch, a computed goto, or a tail call through a pointer
//
// The encoding does not show what a jump means, but the stack does: before a tail call, the compiler must have removed
// the frame. The unwinding table (.eh_frame) describes the stack at each address, so it is asked at the jump and at the
// target. StackAt::AsCalled means that the stack is as after a call, InFrame that it is not, and Unknown that no table
// says.
//
// Example: `jmp g.cold` leads to an address outside of the function's symbol, but with a frame on the stack. It is a
// moved part of the function, whose own exits are then searched too. `jmp h` with the frame removed is a tail call.
//
// Both mistakes would be silent at run time: a missed exit loses returns, and an inner jump taken for an exit reports a
// return too early. So every doubt ends the search with an error, and the probe uses a uretprobe instead.
#include "frontend/dwarf/function_exits.h"

#include <algorithm>
#include <memory>

#include <unistd.h>

#include <fmt/format.h>

#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/probe_safety.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"

namespace sonde {

struct FunctionExits::Part {
    Address low = 0, high = 0;
    std::unique_ptr<const std::string> bytes; // on the heap, because the map points into it when the part is moved
    CodeMap map;
};

struct FunctionExits::Walk {
    const std::string& name;
    bool whole, is_go;
    Parts todo;                   // parts of the function; a jump to a further one adds it
    std::vector<Part> parts = {}; // the parts whose bytes are already read
    std::vector<FunctionExit> exits = {};
    bool stays = false;                         // an indirect jump stays in the function, and its targets are not known
    std::optional<Address> data = std::nullopt; // the last address whose bytes are not an instruction

    const Part* part_at(Address address) const {
        auto found =
            std::ranges::find_if(parts, [&](const Part& one) { return address >= one.low && address < one.high; });
        return found == parts.end() ? nullptr : &*found;
    }
    bool has(Address address) const {
        return std::ranges::any_of(todo,
                                   [&](const auto& part) { return address >= part.first && address < part.second; });
    }
    Error error(Address at, const std::string& what) const {
        return Error(fmt::format("not all exits of `{}` are known: {} at {:#x}", name, what, at));
    }
};

namespace {

// A `switch` compiles to: load a distance from a table, add the table's address, jump to the sum. At most this number
// of other instructions is between the addition and the jump.
constexpr int most_between = 4;

// Whether the instruction is the addition of such a switch. 32-bit code that may lie anywhere adds an element of the
// table to an address; 64-bit code adds two registers.
bool adds_distance(const Instruction& one, bool is_32_bit) {
    return one.operation == Operation::Add && (!one.memory.exists || (is_32_bit && one.memory.may_be_element));
}

// Whether the instruction replaces the register by a value that does not depend on it.
bool replaces(const Instruction& one, int reg) {
    const bool is_other_address = one.operation == Operation::Address && one.memory.base != reg;
    return one.to == reg &&
           (one.operation == Operation::Load || is_other_address || one.operation == Operation::Constant);
}

} // namespace

std::optional<Instruction> FunctionExits::instruction_at(const Part& part, Address at) const {
    return file_.architecture().decode(std::string_view(*part.bytes).substr(at - part.low));
}

Result<FunctionExits::Part> FunctionExits::read_part(const Walk& walk, Address low, Address high) {
    auto bytes = std::make_unique<const std::string>(file_.code(low, high));
    if (bytes->size() != high - low)
        return walk.error(low, fmt::format("`{}` has no bytes for the code", file_.path()));
    std::vector<Address> roots = {low};
    if (std::optional<Stretch> stretch = walk.whole ? code_.stretch_at(low) : std::nullopt)
        std::ranges::copy_if(stretch->starts, std::back_inserter(roots),
                             [&](Address start) { return start > low && start < high; });
    CodeMap map(low, *bytes, roots, walk.whole, file_.architecture());
    return Part{low, high, std::move(bytes), std::move(map)};
}

// Whether `target` is an entry of the procedure linkage table (PLT): a jump to it is a tail call of a library function.
// The unwinding table describes these entries by an expression, so it does not help here.
bool FunctionExits::is_import(Address target) {
    const std::vector<PltEntry>& all = file_.plt();
    auto found = std::ranges::lower_bound(all, target, {}, &PltEntry::address);
    if (found != all.end() && found->address == target)
        return true;
    // Entries for IRELATIVE relocations have no name. The library itself chooses the function for these at load time.
    return std::ranges::any_of(file_.elf().sections(), [&](const ElfSection& section) {
        return (section.name.starts_with(".plt") || section.name == ".iplt") && target >= section.address &&
               target < section.address + section.size;
    });
}

// Whether `target` is a part of the same function that the compiler has moved elsewhere. Such a part has a symbol of
// its own: gcc's f.cold, clang's f.__part.1.
bool FunctionExits::is_split_off(Address target) {
    std::optional<std::pair<std::string, Address>> symbol = symbols_.at(target);
    auto has = [&](std::string_view mark) { return symbol && symbol->first.find(mark) != std::string::npos; };
    return has(".cold") || has(".__part.");
}

// Without a symbol or an unwinding entry at the target, the target is in the middle of something.
bool FunctionExits::begins_function(Address target) {
    const UnwindEntry* entry = unwind_.at(target);
    auto symbol = symbols_.first_from(target);
    return is_import(target) || (entry && entry->low == target) ||
           (symbol != symbols_.all().end() && symbol->address == target);
}

Result<void> FunctionExits::add_part(Walk& walk, Address jump, Address target) {
    std::optional<Stretch> stretch = code_.stretch_at(target);
    if (!stretch || !stretch->whole)
        return walk.error(jump, "a jump leads to code without a known end,");
    walk.todo.emplace_back(stretch->low, stretch->high);
    return {};
}

Result<void> FunctionExits::add_return(Walk& walk, Address at) {
    // A `ret` can also be an indirect jump: the code pushes an address and jumps there by `ret`. This is not the end of
    // a call. With the return address in a register, compilers do not use it so. There, tables that do not describe
    // epilogues, such as those of clang before 15, do not prevent the exit.
    const bool is_on_stack = file_.architecture().registers().call.pushed != 0;
    if (is_on_stack && unwind_.stack_at(at) == StackAt::InFrame)
        return walk.error(at, "the return address is not on top of the stack at a return instruction");
    walk.exits.push_back({at, false, std::nullopt});
    return {};
}

// Decides between a jump inside of the function and a tail call. A tail call leaves the stack as the caller made it:
// the return address is on top. The unwinding table says whether this is so at the jump, and at the target.
Result<void> FunctionExits::add_direct_jump(Walk& walk, Address at, const Instruction& jump, Address target) {
    if (walk.has(target))
        return {};
    const StackAt stack = unwind_.stack_at(at);
    const bool has_frame = !is_import(target) && unwind_.at(target) && !unwind_.is_entered_by_call(target);
    if (is_split_off(target) || (has_frame && stack != StackAt::AsCalled))
        return add_part(walk, at, target);
    if (stack == StackAt::InFrame && begins_function(target))
        return walk.error(at, "a jump leads to another function with this one's frame on the stack");
    if (stack == StackAt::InFrame)
        return add_part(walk, at, target);
    if (has_frame)
        return walk.error(at, "a jump leads to code that has a frame on the stack");
    if (stack == StackAt::Unknown && !begins_function(target))
        return walk.error(at, "a jump leads into the middle of other code");
    if (jump.flow == Flow::CountingJump)
        return walk.error(at, "a counting jump (`loop`, `jrcxz`) leads to another function");
    std::optional<JumpCondition> condition;
    if (jump.flow == Flow::ConditionalJump)
        condition = jump.condition;
    walk.exits.push_back({at, true, condition});
    return {};
}

// Whether a jump through a table of addresses (`jmp *table(,%rax,8)`) leads into the function. The table is in the file
// with its final addresses only if the program is not position-independent.
bool FunctionExits::is_table_of(const Walk& walk, const Instruction& jump) {
    const std::optional<uint64_t> table = jump.memory.is_element_of_constant_table()
                                              ? file_.elf().file_offset(static_cast<Address>(jump.memory.displacement))
                                              : std::nullopt;
    Address first = 0; // 32-bit tables fill the lower half (little-endian)
    const auto size = static_cast<size_t>(file_.architecture().word_size());
    return table && pread(file_.fd(), &first, size, static_cast<off_t>(*table)) == static_cast<ssize_t>(size) &&
           walk.has(first);
}

// Decides between a `switch`, a jump to a label whose address was taken, and a tail call through a pointer. A frame on
// the stack excludes the tail call. A `switch` has an addition or a table before it.
Result<void> FunctionExits::add_indirect_jump(Walk& walk, Address at, const Instruction& jump, bool after_add,
                                              bool after_element) {
    // Go's compiler makes no tail calls, so it reads a target from an element of a table only for `switch`.
    const bool is_switch_of_go = walk.is_go && (jump.memory.may_be_element || after_element);
    const StackAt stack = unwind_.stack_at(at);
    if (stack == StackAt::InFrame || (!jump.memory.exists && after_add) || is_switch_of_go || is_table_of(walk, jump)) {
        if (!walk.whole)
            return walk.error(at, "a switch has unknown targets, in code without a known end,");
        walk.stays = true; // a switch, or a jump to a label whose address was taken
        return {};
    }
    // Without these signs, code that has no frame and that nothing else leads to may be the target of this jump. Then
    // the jump may be a `switch`. A pointer at a fixed address is a variable, which is never a `switch`.
    if (!jump.memory.is_fixed && has_unreached_code(walk))
        return walk.error(at, "an indirect jump may stay in the function or leave the function");
    walk.exits.push_back({at, true, std::nullopt});
    return {};
}

// Whether the function has code without a frame that direct jumps do not reach from the first instruction. Such code
// may be the target of an indirect jump. Exception handlers are not reached either, but they have the frame on the
// stack.
bool FunctionExits::has_unreached_code(const Walk& walk) {
    std::set<Address> seen;
    std::vector<Address> todo = {walk.parts[0].low};
    while (!todo.empty()) {
        Address at = todo.back();
        todo.pop_back();
        for (const Part* part = walk.part_at(at); part && at < part->high && seen.insert(at).second;) {
            std::optional<Instruction> one = instruction_at(*part, at);
            if (!one)
                break;
            at += one->length;
            if (one->is_direct_jump())
                todo.push_back(one->target(at));
            if (one->ends_flow())
                break;
        }
    }
    for (const Part& part : walk.parts) {
        bool before = true; // the instruction before is reached, or does not continue here
        for (Address at = part.low; at < part.high;) {
            std::optional<Instruction> one = part.map.is_code(at) ? instruction_at(part, at) : std::nullopt;
            const bool fresh = one && part.map.is_start(at) && !seen.contains(at) && !one->is_filling;
            if (fresh && before && unwind_.stack_at(at) != StackAt::InFrame)
                return true;
            before = !fresh || one->ends_flow();
            at += one ? one->length : file_.architecture().instruction_alignment();
        }
    }
    return false;
}

// Looks at each instruction of one part. The order matters only for the pairs "addition, then jump" and "call, then
// jump".
Result<void> FunctionExits::add_exits(Walk& walk, size_t index) {
    const Part& part = walk.parts[index];
    bool after_call = false;
    int since_add = most_between + 1, sum = -1; // `sum`: the register that the last addition wrote
    int element = -1;                           // the register that the last instruction loaded from a table
    for (Address at = part.low; at < part.high;) {
        std::optional<Instruction> one = part.map.is_code(at) ? instruction_at(part, at) : std::nullopt;
        if (!one) { // data, or filling, if nothing leads to it
            if (!std::string_view(*part.bytes).substr(at - part.low).starts_with(file_.architecture().padding()))
                walk.data = at;
            at += file_.architecture().instruction_alignment();
            continue;
        }
        const Address next = at + one->length, target = one->target(next);
        const bool leaves = one->is_return() || one->is_indirect_jump() || one->is_direct_jump();
        if (leaves && !part.map.is_start(at))
            return walk.error(at, "an instruction begins in the middle of another one");
        // The called function may never return. Then the bytes after the call may be data.
        if (!one->ends_flow() && !one->is_call() && next < part.high && !part.map.is_code(next))
            return walk.error(next, "unknown instruction");
        Result<void> added;
        if (one->is_return())
            added = add_return(walk, at);
        else if (one->is_indirect_jump())
            added = add_indirect_jump(walk, at, *one, since_add <= most_between && one->from == sum,
                                      element >= 0 && one->from == element);
        // In unoptimized code, clang puts a jump to the end of the function after a call that never returns (`throw`).
        // No code is at its target. This cannot be a tail call, because before a tail call the frame must be removed,
        // so it does not come directly after another call.
        else if (one->is_direct_jump() && !(after_call && target == part.high))
            added = add_direct_jump(walk, at, *one, target);
        if (!added)
            return added;
        after_call = one->is_call();
        since_add++;
        if (replaces(*one, sum))
            sum = -1;
        element = one->operation == Operation::Load && one->memory.may_be_element ? one->to : -1;
        if (adds_distance(*one, file_.is_32_bit())) {
            since_add = 0;
            sum = one->to;
        }
        at = next;
    }
    return {};
}

// Reads parts until no jump adds a new one.
Result<std::vector<FunctionExit>> FunctionExits::find(const std::string& name, Parts parts, bool whole, bool is_go) {
    constexpr size_t most_parts = 64;
    // The changes may include jumps to other functions. 32-bit libraries that are compiled without -fpic have such
    // jumps.
    if (file_.is_32_bit() && has_text_relocations(file_.elf()))
        return Error(
            fmt::format("not all exits of `{}` are known: the loader changes the code of `{}` (text relocations)", name,
                        file_.path()));
    Walk walk{name, whole, is_go, std::move(parts)};
    // Read all known parts first. add_indirect_jump must see all of them.
    for (size_t i = 0; i < walk.todo.size(); i++) {
        Result<Part> part = read_part(walk, walk.todo[i].first, walk.todo[i].second);
        if (!part)
            return std::move(part).error();
        walk.parts.push_back(*std::move(part));
    }
    for (size_t i = 0; i < walk.parts.size(); i++) {
        const size_t before = walk.todo.size();
        if (Result<void> added = add_exits(walk, i); !added)
            return std::move(added).error();
        for (size_t more = before; more < walk.todo.size(); more++) {
            if (walk.todo.size() > most_parts)
                return walk.error(walk.parts[i].low, "it has too many parts, the last one");
            Result<Part> part = read_part(walk, walk.todo[more].first, walk.todo[more].second);
            if (!part)
                return std::move(part).error();
            walk.parts.push_back(*std::move(part));
        }
    }
    if (walk.stays && walk.data)
        return walk.error(*walk.data, "a switch may lead to unknown instruction");
    std::ranges::sort(walk.exits, {}, &FunctionExit::address);
    return std::move(walk.exits);
}

} // namespace sonde
