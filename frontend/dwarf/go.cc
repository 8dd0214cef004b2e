// Go functions begin with a check of the stack's size, for example:
//
//     cmp  0x10(%r14),%rsp       <- r14 is the goroutine, 0x10 is the offset of stackguard0
//     jbe  grow                  <- the probe is here: if the jump is not taken, the function really begins
//     ...
//     grow: call runtime.morestack; jmp to the first instruction
//
// On arm64, the limit is loaded before the comparison:
//
//     ldr  x16,[x28,#0x10]
//     cmp  sp,x16
//     b.ls grow
#include "frontend/dwarf/go.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/elf_file.h"
#include "base/glob.h"
#include "base/go_table.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/type_reader.h"

namespace sonde {
namespace {

// Replaces the outermost type arguments, such as "[go.shape.int]". The arguments may contain brackets themselves.
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

} // namespace

// Whether the pattern matches the name. A `*` after a parenthesis, and brackets, are part of Go's names, not wildcards.
// Names have type arguments in the compiler's form, or "[...]" in the table of functions; a pattern may omit them.
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
        // "f" is the main package's function main.f.
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

namespace {

// Finds the stack check. It compares the stack pointer (for large frames, another register, below it) with the limit in
// the goroutine's `g`. It then jumps to the call of morestack at the end of the function.
std::optional<Address> stack_check(const ProgramFile& file, Address entry, Address high) {
    constexpr size_t max_instructions = 8, max_bytes = 64;
    const GoConvention& go = file.architecture().go();
    std::string bytes = file.code(entry, std::min(high, entry + max_bytes));
    std::string_view rest = bytes;
    bool compared = false;
    int limit = -1; // the register with the limit
    for (size_t i = 0; i < max_instructions; i++) {
        const std::optional<Instruction> one = file.architecture().decode(rest);
        if (!one)
            break;
        if (one->flow == Flow::ConditionalJump && one->condition == go.stack_is_used_up && compared)
            return entry + (bytes.size() - rest.size());
        rest.remove_prefix(one->length);
        const MemoryOperand& memory = one->memory;
        const bool is_limit = (memory.base == go.goroutine || memory.base == go.goroutine_in_assembly) &&
                              (memory.displacement == 0x10 || memory.displacement == 0x18); // stackguard0, stackguard1
        const bool has_limit = limit >= 0 && (one->from == limit || one->to == limit);
        if (one->operation == Operation::Compare && (is_limit || has_limit))
            compared = true;
        else if (one->operation == Operation::Load && is_limit && limit < 0)
            limit = one->to;
        else if (compared || one->is_return())
            break;
    }
    return std::nullopt;
}

} // namespace

void find_stack_check(const ProgramFile& file, FunctionInstance& function, Address high) {
    std::optional<Address> check = stack_check(file, function.entry, high);
    function.checks_stack = check.has_value();
    function.body = check.value_or(function.entry);
}

} // namespace sonde
