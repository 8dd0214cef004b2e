// Functions that Go's compiler made: their names, where they begin and return, and where their values are.
//
// What differs from C: a function begins with a check of its stack, and goes back to its first instruction when the
// stack had to grow or another goroutine is to run. So a probe sits at the check's jump, and counts only if that is not
// taken: the kernel emulates a jump, where it would single-step the instruction behind. Its stack may move while it
// runs, so a return address must not be replaced: a return probe is at the return instructions. Where arguments are
// at the jump, debug information says; where results are at the return, it does not, but Go's calling convention
// does ("Go internal ABI specification", src/cmd/compile/abi-internal.md, since Go 1.17).
#include <algorithm>
#include <cstring>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/dwarf/reader.h"
#include "frontend/types/go_table.h"
#include "frontend/types/x86_code.h"

namespace sonde {
namespace {

// DWARF numbers of RAX, RBX, RCX, RDI, RSI, R8 to R11.
constexpr int integer_registers[] = {0, 3, 2, 5, 4, 8, 9, 10, 11};
constexpr size_t float_registers = 15;
constexpr int rsp = 7;

// Hands out registers and stack to values, in the order of their declaration.
class GoAssignment {
  public:
    explicit GoAssignment(size_t integers) : integers_(integers) {}

    // Results begin with the first registers again, and lie on the stack behind the arguments.
    void begin_results() {
        integers_ = floats_ = 0;
        stack_ = align(stack_, 8);
    }

    // `unreadable` says what a value in a floating point register is not.
    Location place(const Type* type, const char* unreadable) {
        size_t integers = integers_, floats = floats_;
        std::vector<Location::Piece> pieces;
        if (in_registers(type, pieces, unreadable, 0)) {
            if (pieces.size() == 1)
                return pieces[0].place;
            Location location;
            location.kind = Location::Pieces;
            location.pieces = std::move(pieces);
            return location;
        }
        integers_ = integers;
        floats_ = floats;
        stack_ = align(stack_, alignment(type, 0));
        constexpr uint64_t return_address = 8;
        Location location;
        location.kind = Location::Memory;
        location.ops = {{LocationOp::Register, rsp},
                        {LocationOp::Constant, static_cast<int64_t>(return_address + stack_)},
                        {LocationOp::Add}};
        stack_ += size_of(type);
        return location;
    }

  private:
    static uint64_t align(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

    static uint64_t size_of(const Type* type) {
        type = strip(type);
        return type ? complete(type)->size : 0;
    }

    static uint64_t alignment(const Type* type, int depth) {
        type = strip(type);
        if (!type || depth > 16)
            return 1;
        if (type->kind == Type::Array)
            return alignment(type->target, depth + 1);
        if (type->kind != Type::Struct)
            return std::clamp<uint64_t>(type->size, 1, 8);
        uint64_t most = 1;
        for (const TypeMember& member : complete(type)->members)
            most = std::max(most, alignment(member.type, depth + 1));
        return most;
    }

    // One value takes registers for all of its parts, or none.
    bool in_registers(const Type* type, std::vector<Location::Piece>& pieces, const char* unreadable, int depth) {
        type = strip(type);
        if (!type || depth > 16)
            return false;
        switch (type->kind) {
        case Type::Float: // a complex number is two
            for (uint64_t part = type->size > 8 ? type->size / 2 : type->size, at = 0; at < type->size; at += part) {
                if (floats_++ == float_registers)
                    return false;
                pieces.push_back({static_cast<uint32_t>(part), unavailable(unreadable)});
            }
            return true;
        case Type::Array:
            if (type->count.value_or(0) > 1)
                return false;
            return type->count.value_or(0) == 0 || in_registers(type->target, pieces, unreadable, depth + 1);
        case Type::Struct: {
            complete(type);
            auto bytes = [&] {
                uint64_t sum = 0;
                for (const Location::Piece& piece : pieces)
                    sum += piece.byte_size;
                return sum;
            };
            uint64_t begin = bytes();
            for (const TypeMember& member : type->members) {
                if (uint64_t gap = begin + member.byte_offset - bytes(); gap != 0 && gap < 8)
                    pieces.push_back({static_cast<uint32_t>(gap), unavailable("between members")});
                if (!in_registers(member.type, pieces, unreadable, depth + 1))
                    return false;
            }
            if (uint64_t gap = begin + type->size - bytes(); gap != 0 && gap < 8 && depth > 0)
                pieces.push_back({static_cast<uint32_t>(gap), unavailable("behind the members")});
            return true;
        }
        default:
            if (!is_scalar(type) || type->size > 8 || integers_ == std::size(integer_registers))
                return false;
            Location location;
            location.kind = Location::Register;
            location.reg = integer_registers[integers_++];
            pieces.push_back({static_cast<uint32_t>(type->size), std::move(location)});
            return true;
        }
    }

    size_t integers_, floats_ = 0;
    uint64_t stack_ = 0; // above the return address
};

// "[go.shape.int]" and the like; in the order of the text. Arguments may have brackets themselves.
std::string replace_type_arguments(std::string_view name, std::string_view with) {
    std::string out;
    int depth = 0;
    for (char c : name) {
        if (c == '[' && depth++ == 0)
            out += with;
        if (depth == 0)
            out += c;
        if (c == ']' && depth > 0)
            depth--;
    }
    return out;
}

// Code for several types takes a hidden argument with what it needs to know of them.
bool takes_dictionary(std::string_view name) {
    if (name.find("[go.shape.") == std::string_view::npos)
        return false;
    // A closure inside has it from the function around.
    size_t dot = name.rfind(".func");
    return dot == std::string_view::npos || name.find(']', dot) != std::string_view::npos;
}

} // namespace

// A `*` behind a parenthesis and brackets are part of Go's names, not wildcards. Names have type arguments as the
// compiler calls them, or "[...]" in the table of functions; a pattern may leave them out.
bool go_name_matches(std::string_view pattern, std::string_view name) {
    std::string plain;
    for (size_t i = 0; i < pattern.size(); i++) {
        bool receiver = pattern[i] == '*' && i > 0 && pattern[i - 1] == '(' && i + 1 < pattern.size() &&
                        pattern[i + 1] != '*' && pattern[i + 1] != ')';
        if (receiver || pattern[i] == '[' || pattern[i] == ']')
            plain += '\\';
        plain += pattern[i];
    }
    auto matches = [&](std::string_view text) {
        if (glob_match(plain, text))
            return true;
        // "f" is the program's own main.f.
        constexpr std::string_view own = "main.";
        return pattern.find('.') == std::string_view::npos && text.starts_with(own) &&
               glob_match(plain, text.substr(own.size()));
    };
    if (matches(name))
        return true;
    return name.find('[') != std::string_view::npos &&
           (matches(replace_type_arguments(name, "")) || matches(replace_type_arguments(name, "[...]")));
}

const Type* go_runtime_type(const ElfFile& file, std::string_view name, TypeReader& types) {
    std::optional<int> version =
        name == "runtime.g" ? read_go_version(file.section_data(".go.buildinfo")) : std::nullopt;
    std::optional<GoLayout> layout = version ? go_layout(*version) : std::nullopt;
    if (!layout)
        return nullptr;
    auto make = [&](Type::Kind kind, std::string called, uint64_t size) -> Type& {
        Type& type = types.add();
        type.kind = kind;
        type.name = std::move(called);
        type.size = size;
        return type;
    };
    auto pointer_to = [&](const Type& target) {
        Type& pointer = make(Type::Pointer, "", 8);
        pointer.target = &target;
        return &pointer;
    };
    Type &g = make(Type::Struct, "runtime.g", 0), &m = make(Type::Struct, "runtime.m", 0);
    g.members = {{.name = "m", .type = pointer_to(m), .byte_offset = layout->m},
                 {.name = "goid", .type = &make(Type::Integer, "uint64", 8), .byte_offset = layout->goid}};
    m.members = {{.name = "curg", .type = pointer_to(g), .byte_offset = layout->curg}};
    return &g;
}

// The check compares the stack pointer, or for large frames R12 below it, with the limit in the goroutine's `g`, which
// is in R14, or in assembly in RCX, and jumps to the call of morestack at the function's end.
std::optional<Address> stack_check(const ProgramFile& file, Address entry, Address high) {
    constexpr size_t max_instructions = 8, max_bytes = 64;
    constexpr int r14 = 14, rcx = 1;
    constexpr uint8_t compare = 0x3b, below_or_equal = 6;
    std::string bytes = file.code(entry, std::min(high, entry + max_bytes));
    std::string_view rest = bytes;
    bool compared = false;
    for (size_t i = 0; i < max_instructions; i++) {
        std::optional<X86Instruction> one = decode_x86(rest);
        if (!one)
            break;
        if (one->is_jump_if(below_or_equal) && compared)
            return entry + (bytes.size() - rest.size());
        rest.remove_prefix(one->length);
        if (one->map == 0 && one->opcode == compare && (one->base == r14 || one->base == rcx) &&
            (one->displacement == 0x10 || one->displacement == 0x18)) // stackguard0, stackguard1
            compared = true;
        else if (compared || one->is_return())
            break;
    }
    return std::nullopt;
}

void find_stack_check(const ProgramFile& file, FunctionInstance& function, Address high) {
    std::optional<Address> check = stack_check(file, function.entry, high);
    function.checks_stack = check.has_value();
    function.body = check.value_or(function.entry);
}

Location DwarfReader::result_location(const FunctionInstance& function, const Variable& result) {
    return function.is_go ? go_result_location(function, result) : result_location(function);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

bool DwarfReader::passes_in_registers(const FunctionInstance& function) {
    FunctionRef found = units_.find_function(function.die);
    const char* producer = found ? string_attribute(found.unit->unit_die, DW_AT_producer) : nullptr;
    return producer && strstr(producer, "regabi");
}

Location DwarfReader::go_result_location(const FunctionInstance& function, const Variable& result) {
    if (!passes_in_registers(function))
        return unavailable("Go before 1.17 returns results in another way, which is not supported");
    const char* unreadable = "is returned in a floating point register, which a probe cannot read";
    GoAssignment assignment(takes_dictionary(function.name) ? 1 : 0);
    for (const Variable& one : variables_.parameters(function))
        assignment.place(one.type, unreadable);
    assignment.begin_results();
    for (const Variable& one : variables_.results(function)) {
        Location here = assignment.place(one.type, unreadable);
        if (one.die == result.die)
            return here;
    }
    return unavailable("it is no result");
}

} // namespace sonde
