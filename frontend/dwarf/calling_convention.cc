#include "frontend/dwarf/calling_convention.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <dwarf.h>

#include "base/debug/die.h"
#include "frontend/dwarf/go_results.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/variables.h"

namespace sonde {
namespace {

// Classes of the two eightbytes of a small value (section 3.2.3).
struct Classes {
    bool integer[2] = {false, false};
    bool sse[2] = {false, false};
    bool memory = false;
};

void classify(const Type* type, uint64_t offset, Classes& classes, int depth) {
    type = strip(type);
    if (!type || depth > 16 || offset >= 16) {
        classes.memory = true;
        return;
    }
    size_t eightbyte = offset / 8;
    switch (type->kind) {
    case Type::Integer:
    case Type::Boolean:
    case Type::Character:
    case Type::Enum:
    case Type::Pointer:
    case Type::Reference:
        if (type->size == 0 || offset % std::min<uint64_t>(type->size, 8) != 0)
            classes.memory = true; // packed: an unaligned member
        classes.integer[eightbyte] = true;
        if (type->size > 8)
            classes.integer[1] = true;
        break;
    case Type::Float:
        if (type->size > 8)
            classes.memory = true; // long double inside a record
        classes.sse[eightbyte] = true;
        break;
    case Type::Array: {
        uint64_t size = type->target ? type->target->size : 0;
        for (uint64_t i = 0; size != 0 && i < type->count.value_or(0) && !classes.memory; i++)
            classify(type->target, offset + i * size, classes, depth + 1);
        break;
    }
    case Type::Struct:
    case Type::Union:
        complete(type);
        for (const TypeMember& member : type->members) {
            if (member.bit_size != 0) // bitfields never make a record unaligned
                classes.integer[std::min<uint64_t>((offset + member.byte_offset + member.bit_offset / 8) / 8, 1)] =
                    true;
            else
                classify(member.type, offset + member.byte_offset, classes, depth + 1);
        }
        break;
    default:
        classes.memory = true;
        break;
    }
}

Location in_register(int reg) {
    Location location;
    location.kind = Location::Register;
    location.reg = reg;
    return location;
}

Classes classes_of(const Type* type, bool by_reference) {
    Classes classes;
    if (type->size > 16 || type->size == 0 || by_reference)
        classes.memory = true;
    else
        classify(type, 0, classes, 0);
    return classes;
}

// The scalars that a value consists of, by their offsets: all forms of a tagged union together.
using Leaves = std::map<uint64_t, const Type*>;

bool add_leaves(const Type* type, uint64_t offset, Leaves& leaves, int depth) {
    constexpr size_t max_leaves = 16;
    type = strip(type);
    if (!type || depth > 16 || leaves.size() > max_leaves)
        return false;
    if (is_scalar(type) || type->kind == Type::Float) {
        const Type*& known = leaves[offset];
        bool same = !known || known->size == type->size;
        known = type;
        return same;
    }
    if (type->kind != Type::Struct)
        return false;
    complete(type);
    if (type->tag && !add_leaves(type->tag->type, offset + type->tag->byte_offset, leaves, depth + 1))
        return false;
    return std::all_of(type->members.begin(), type->members.end(), [&](const TypeMember& member) {
        return add_leaves(member.type, offset + member.byte_offset, leaves, depth + 1);
    });
}

const char* float_result = "is returned in a floating point register, which a probe cannot read";
const char* float_argument = "is passed in a floating point register, which a probe cannot read";

// Rust's own convention, which it does not promise: a value of one or two scalars is returned in registers, one for
// each; what is longer than two registers, by a hidden pointer, which optimised code does not give back. After the
// prologue it is still where it was.
Location rust_result(const Type* type) {
    constexpr int registers[] = {0, 1}; // rax, rdx
    constexpr int first_argument = 5;   // rdi
    Location location;
    if (type->size > 16) {
        location.kind = Location::Memory;
        location.ops.push_back({LocationOp::Register, first_argument});
        location.of_entry = true;
        return location;
    }
    Leaves leaves;
    bool scalars = add_leaves(type, 0, leaves, 0) && !leaves.empty() && leaves.size() <= std::size(registers);
    if (!scalars && type->size <= 8)
        return in_register(registers[0]);
    if (!scalars || leaves.begin()->first != 0)
        return unavailable("is returned in a way that Rust's compilers do not agree on");
    location.kind = Location::Pieces;
    size_t next = 0;
    for (auto leaf = leaves.begin(); leaf != leaves.end(); ++leaf) {
        uint64_t end = std::next(leaf) == leaves.end() ? type->size : std::next(leaf)->first;
        bool is_float = leaf->second->kind == Type::Float;
        location.pieces.push_back({static_cast<uint32_t>(end - leaf->first),
                                   is_float ? unavailable(float_result) : in_register(registers[next++])});
    }
    return location;
}

// i386's: integers in eax, of 8 bytes in edx too, and for what is a record the address where the caller has room for
// it.
Location narrow_result(const Type* type) {
    constexpr int eax = 0, edx = 1; // as x86-64 has their numbers
    Location location;
    if (type->kind == Type::Float)
        return unavailable(float_result);
    if (is_scalar(type) && type->size <= 4)
        return in_register(eax);
    if (is_scalar(type) && type->size == 8) {
        location.kind = Location::Pieces;
        location.pieces = {{4, in_register(eax)}, {4, in_register(edx)}};
        return location;
    }
    location.kind = Location::Memory;
    location.ops.push_back({LocationOp::Register, eax});
    return location;
}

} // namespace

bool CallingConvention::by_reference(const Type* type) {
    Dwarf_Die die;
    if (!types_.die_of(type, &die))
        return false;
    if (std::optional<uint64_t> convention = number_attribute(die, DW_AT_calling_convention))
        return *convention == DW_CC_pass_by_reference;
    bool destructor = false;
    for_each_child(die, [&](Dwarf_Die& child) {
        const char* name = dwarf_tag(&child) == DW_TAG_subprogram ? dwarf_diename(&child) : nullptr;
        destructor = destructor || (name && name[0] == '~' && !flag_attribute(child, DW_AT_artificial));
        return true;
    });
    return destructor;
}

Location CallingConvention::result_location(const FunctionInstance& function) {
    constexpr int rax = 0, rdx = 1; // DWARF numbers
    const Type* type = strip(variables_.result_type(function));
    if (!function.has_debug_info)
        return unavailable("the function has no debug information, so its result's type is unknown");
    if (!type)
        return unavailable("the function returns nothing");
    if (function.is_go)
        return go_result_location(units_, variables_, function, variables_.results(function)[0]);
    FunctionRef found = units_.find_function(function.die);
    bool is_rust = found && found.unit->language == DW_LANG_Rust;
    if (file_.is_32_bit() && is_rust && !is_scalar(type))
        return unavailable("is returned in a way that is not known of Rust in 32-bit programs");
    if (file_.is_32_bit())
        return narrow_result(type);
    if (type->kind == Type::Float)
        return unavailable(float_result);
    if (is_scalar(type) && type->size <= 8)
        return in_register(rax);
    if (is_rust)
        return rust_result(type);
    Classes classes = classes_of(type, by_reference(type));
    if (classes.memory) {
        // The caller passed the address of room for it; the function returns that address.
        Location location;
        location.kind = Location::Memory;
        location.ops.push_back({LocationOp::Register, rax});
        return location;
    }
    size_t count = type->size > 8 ? 2 : 1;
    Location location;
    location.kind = Location::Pieces;
    int next = rax; // INTEGER eightbytes take rax, then rdx
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t bytes = static_cast<uint32_t>(std::min<uint64_t>(type->size - i * 8, 8));
        if (classes.integer[i]) {
            location.pieces.push_back({bytes, in_register(next)});
            next = rdx;
            any = true;
        } else {
            location.pieces.push_back({bytes, unavailable(float_result)});
        }
    }
    if (!any)
        return unavailable(float_result);
    return count == 1 ? location.pieces[0].place : location;
}

Location CallingConvention::result_location(const FunctionInstance& function, const Variable& result) {
    return function.is_go ? go_result_location(units_, variables_, function, result) : result_location(function);
}

Location CallingConvention::argument_location(const FunctionInstance& function, const Variable& argument) {
    constexpr int integer_registers[] = {5, 4, 1, 2, 8, 9}; // rdi rsi rdx rcx r8 r9
    constexpr int rsp = 7;
    constexpr size_t sse_registers = 8;
    size_t integers = 0, sses = 0;
    uint64_t stack = 8; // above the return address
    const Type* result = strip(variables_.result_type(function));
    if (result && !is_scalar(result) && result->kind != Type::Float && classes_of(result, by_reference(result)).memory)
        integers = 1; // the room for the result
    for (const Variable& one : variables_.parameters(function)) {
        const Type* type = strip(one.type);
        if (!type)
            return unavailable("the type of an argument before it is unknown");
        Location here;
        bool indirect = !is_scalar(type) && type->kind != Type::Float && by_reference(type);
        Classes classes = classes_of(type, false);
        if (indirect) {
            classes = {};
            classes.integer[0] = true;
        }
        auto needed = [&](const bool(&of)[2]) { return static_cast<size_t>(of[0]) + of[1]; };
        if (classes.memory || integers + needed(classes.integer) > std::size(integer_registers) ||
            sses + needed(classes.sse) > sse_registers) {
            uint64_t alignment = type->size >= 16 && (is_scalar(type) || type->kind == Type::Float) ? 16 : 8;
            stack = (stack - 8 + alignment - 1) / alignment * alignment + 8;
            here.kind = Location::Memory;
            here.ops = {
                {LocationOp::Register, rsp}, {LocationOp::Constant, static_cast<int64_t>(stack)}, {LocationOp::Add}};
            if (indirect)
                here.ops.push_back({LocationOp::Deref, 8});
            stack += indirect ? 8 : (type->size + 7) / 8 * 8;
        } else if (indirect) {
            here.kind = Location::Memory;
            here.ops = {{LocationOp::Register, integer_registers[integers++]}};
        } else {
            here.kind = Location::Pieces;
            for (size_t i = 0; i < (type->size > 8 ? 2 : 1); i++) {
                auto bytes = static_cast<uint32_t>(std::min<uint64_t>(type->size - i * 8, 8));
                // What is of both classes goes into an integer register.
                if (classes.integer[i])
                    here.pieces.push_back({bytes, in_register(integer_registers[integers++])});
                else
                    here.pieces.push_back({bytes, unavailable(float_argument)}), sses++;
            }
            if (here.pieces.size() == 1)
                here = Location(here.pieces[0].place);
        }
        if (one.die == argument.die)
            return here;
    }
    return unavailable("it is no parameter");
}

bool CallingConvention::keeps_to_abi(const FunctionInstance& function) {
    FunctionRef found = units_.find_function(function.die);
    if (!found || file_.is_32_bit())
        return false;
    return is_c_language(found.unit->language) || is_cxx_language(found.unit->language);
}

} // namespace sonde
