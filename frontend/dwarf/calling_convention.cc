// Places of arguments and results. For example:
//
//     struct pair { long a; double b; };
//     struct pair f(int x, struct pair p, struct big b);
//
// On x86-64, x is passed in edi. `p.a` is passed in rsi, and `p.b` in xmm0, which a probe cannot read. `b` is larger
// than 16 bytes, so it is on the stack. The result is in rax (a) and xmm0 (b). On arm64, `b` is a copy whose address is
// in x3. Architecture::passed() has these rules for one value; this file assigns registers to all of them.
//
// Debug information of unoptimized code describes where the prologue has stored the arguments, not where the caller has
// put them. The two can only be compared indirectly; see described() and ParameterLocations.
#include "frontend/dwarf/calling_convention.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <dwarf.h>

#include "arch/architecture.h"
#include "base/debug/die.h"
#include "frontend/dwarf/class_passing.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/dropped_results.h"
#include "frontend/dwarf/go_results.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/location_expression.h"
#include "frontend/dwarf/locations.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/value_shape.h"
#include "frontend/dwarf/variables.h"

namespace sonde {
namespace {

Location in_register(int reg) {
    Location location;
    location.kind = Location::Register;
    location.reg = reg;
    return location;
}

// The scalars in a value, by their offsets. For a tagged union this includes those of all variants.
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
const char* no_data = "is an object without data, which is not passed";

bool is_class(const Type* type) { return type->kind == Type::Struct || type->kind == Type::Union; }

Location memory_at(int reg) {
    Location location;
    location.kind = Location::Memory;
    location.ops.push_back({LocationOp::Register, reg});
    return location;
}

// A result in memory whose address the caller passes. Some conventions also return that address. With the others it is
// known at the entry only.
Location result_in_memory(const RegisterFile& registers, bool returns_address) {
    Location location = memory_at(returns_address ? registers.result() : registers.memory_result.address);
    location.of_entry = !returns_address;
    return location;
}

// The convention of Rust, which Rust does not guarantee. A value that consists of one or two scalars is returned in one
// register for each. A value of more than 16 bytes is returned in memory whose address the caller passes. If C returns
// that address, unoptimized code does, too. Optimized code may not, but there the entry is probed, where the register
// still has it.
Location rust_result(const RegisterFile& file, const Type* type, bool is_optimized) {
    const std::span<const int> registers = file.results;
    if (type->size > 16)
        return result_in_memory(file, file.memory_result.is_returned && !is_optimized);
    Location location;
    Leaves leaves;
    bool scalars = add_leaves(type, 0, leaves, 0) && !leaves.empty() && leaves.size() <= registers.size();
    if (!scalars && type->size <= 8)
        return in_register(registers[0]);
    if (!scalars || leaves.begin()->first != 0)
        return unavailable("is returned in different ways by different Rust compilers");
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

// Whether Rust's own convention passes a value of this type by address. It passes one or two scalars, and other values
// of up to 8 bytes, in registers or in stack slots of their own.
bool may_be_passed_by_address_in_rust(const Type* type) {
    constexpr uint64_t one_register = 8, two_registers = 16;
    constexpr size_t most_scalars = 2;
    Leaves leaves;
    return type->size > two_registers ||
           (type->size > one_register && !(add_leaves(type, 0, leaves, 0) && leaves.size() <= most_scalars));
}

// Whether a function of Rust follows the ABI of C (`extern "C"`), in which an object on the stack is there as a whole.
// The debug information does not name the convention. But the places of the arguments show it:
//
//     fn f(..., g: Large, h: u32)
//     g at 208, h at 216    only the address of `g` fits between them
//     g at 208, h at 232    `g` itself is there
//
// Without such arguments, the name decides. Functions without a mangled name are almost always made for C.
// Stack arguments begin at `arguments_at`.
bool follows_c_abi(Locations& locations, std::span<const int> registers, Dwarf_Die function,
                   const std::vector<Variable>& arguments, const RegisterOffset& arguments_at, Address address) {
    auto on_stack = [&](const Variable& argument) -> std::optional<int64_t> {
        const Location place = locations.locate(argument, address);
        const RegisterOffset at =
            place.kind == Location::Memory ? register_offset(place).value_or(RegisterOffset()) : RegisterOffset();
        return at.reg == arguments_at.reg && at.bytes >= arguments_at.bytes ? std::optional(at.bytes) : std::nullopt;
    };
    Dwarf_Addr low = 0;
    const bool has_entry = dwarf_lowpc(&function, &low) == 0;
    auto is_in_register = [&](const Variable& argument) {
        const Location passed = has_entry ? locations.locate(argument, low) : Location();
        return passed.kind == Location::Register && std::ranges::find(registers, passed.reg) != registers.end();
    };
    // Arguments are on the stack in their order, so only those in registers can be between the two.
    for (auto one = arguments.begin(); one != arguments.end(); ++one) {
        const Type* type = strip(one->type);
        const std::optional<int64_t> begin = on_stack(*one);
        if (!begin || !type || !is_class(type) || !may_be_passed_by_address_in_rust(type))
            continue;
        const auto next = std::find_if_not(one + 1, arguments.end(), is_in_register);
        if (const std::optional<int64_t> at = next == arguments.end() ? std::nullopt : on_stack(*next))
            return *at >= *begin + static_cast<int64_t>(type->size);
    }
    const char* name = string_attribute(function, DW_AT_linkage_name);
    const std::string_view linkage = name ? name : "";
    return !linkage.starts_with("_R") && !linkage.starts_with("_ZN");
}

// The convention of 32-bit programs: integers are returned in the first register, or in two for 8 bytes. For a record,
// the first one has the address of the caller's memory.
Location narrow_result(std::span<const int> registers, const Type* type) {
    const int first = registers[0], second = registers[1];
    Location location;
    if (type->kind == Type::Float)
        return unavailable(float_result);
    if (is_scalar(type) && type->size <= 4)
        return in_register(first);
    if (is_scalar(type) && type->size == 8) {
        location.kind = Location::Pieces;
        location.pieces = {{4, in_register(first)}, {4, in_register(second)}};
        return location;
    }
    return memory_at(first);
}

// Returns the location of a value in registers, the next of which is `next`.
Location in_registers(std::span<const int> registers, size_t next, const PassedValue& passed, const char* no_float) {
    Location location;
    location.kind = Location::Pieces;
    for (const PassedPart& part : passed.parts)
        location.pieces.push_back({part.size, part.place == PassedPart::General   ? in_register(registers[next++])
                                              : part.place == PassedPart::Nowhere ? unavailable(no_data)
                                                                                  : unavailable(no_float)});
    return location.pieces.size() == 1 ? Location(location.pieces[0].place) : location;
}

} // namespace

Location CallingConvention::result_location(const FunctionInstance& function) {
    Location location = full_result_location(function);
    // A record is always stored in the caller's memory, whether anybody reads its address or not.
    size_t registers = location.kind == Location::Register;
    if (location.kind == Location::Pieces)
        registers = static_cast<size_t>(std::ranges::count(location.pieces, Location::Register,
                                                           [](const auto& piece) { return piece.place.kind; }));
    std::string why = registers == 0 || function.is_go ? "" : dropped_.why_unknown(function, registers);
    return why.empty() ? location : unavailable(std::move(why));
}

// Results of C and C++ follow the architecture's rules for values. Go, Rust and 32-bit programs have others.
Location CallingConvention::full_result_location(const FunctionInstance& function) {
    const std::span<const int> registers = file_.architecture().registers().results;
    const Type* type = strip(variables_.result_type(function));
    if (!function.has_debug_info)
        return unavailable("has no known type: the function has no debug information");
    if (!type)
        return unavailable("does not exist: the function returns nothing");
    if (function.is_go)
        return go_result_location(file_.architecture(), units_, variables_, function, variables_.results(function)[0]);
    FunctionRef found = units_.find_function(function.die);
    bool is_rust = found && found.unit->language == DW_LANG_Rust;
    if (file_.is_32_bit() && is_rust && !is_scalar(type))
        return unavailable("is a record of Rust in a 32-bit program, which returns it in an unknown way");
    if (file_.is_32_bit())
        return narrow_result(registers, type);
    if (type->kind == Type::Float)
        return unavailable(float_result);
    if (is_scalar(type) && type->size <= 8)
        return in_register(registers[0]);
    if (is_rust)
        return rust_result(file_.architecture().registers(), type, debug_.is_optimized(function));
    const bool by_address = is_passed_by_address(types_, type);
    const PassedValue passed = by_address ? PassedValue() : passed_as(type);
    if (passed.doubt)
        return unavailable(passed.doubt);
    if (passed.unreadable_result)
        return unavailable(float_result);
    const RegisterFile& file = file_.architecture().registers();
    if (passed.parts.empty())
        return result_in_memory(file, file.memory_result.is_returned);
    Location location = in_registers(registers, 0, passed, float_result);
    // One reason is enough if no part can be read.
    const bool is_readable = location.kind != Location::Pieces || passed.registers(PassedPart::General) != 0;
    return is_readable ? location : Location(location.pieces[0].place);
}

PassedValue CallingConvention::passed_as(const Type* type) {
    return file_.architecture().passed(value_shape(types_, type));
}

Location CallingConvention::result_location(const FunctionInstance& function, const Variable& result) {
    return function.is_go ? go_result_location(file_.architecture(), units_, variables_, function, result)
                          : result_location(function);
}

// Reads the location of a parameter in unoptimized code, which has one location. If the caller passed the parameter on
// the stack and gcc leaves it there, the location is above the canonical frame address. For a class that is passed by
// address, the location has an additional dereference.
CallingConvention::Described CallingConvention::described(const FunctionInstance& function, const Variable& argument) {
    Described out;
    Dwarf_Die die, frame;
    Dwarf_Attribute attribute;
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    if (!debug_.unpack(argument.die, &die) || !debug_.unpack(function.die, &frame) ||
        !dwarf_attr(&die, DW_AT_location, &attribute) || dwarf_getlocation(&attribute, &ops, &length) != 0 ||
        length == 0 || ops[0].atom != DW_OP_fbreg)
        return out;
    auto offset = static_cast<int64_t>(ops[0].number);
    if (length > 1 && ops[1].atom != DW_OP_deref)
        return out;
    // The parameter is in a coroutine's frame on the heap. The function that is called is another one, with other
    // arguments (clang's `.resume`).
    out.in_other_object = length > 2;
    if (out.in_other_object)
        return out;
    out.by_address = length == 2;
    if (offset >= 0 && dwarf_attr_integrate(&frame, DW_AT_frame_base, &attribute) &&
        dwarf_getlocation(&attribute, &ops, &length) == 0 && length == 1 && ops[0].atom == DW_OP_call_frame_cfa)
        out.above_frame = static_cast<uint64_t>(offset);
    return out;
}

// Assigns registers and stack slots to the arguments in order, as the caller does. Every argument before the requested
// one must be known: one mistake moves all that follow. Therefore each argument is compared with its own location in
// the debug information, and the first contradiction ends the computation with a reason.
Location CallingConvention::argument_location(const FunctionInstance& function, const Variable& argument) {
    const RegisterFile& file = file_.architecture().registers();
    const std::span<const int> general_registers = file.arguments;
    const auto vector_registers = static_cast<size_t>(file.vector_arguments);
    if (function.is_go)
        return go_argument_location(file_.architecture(), units_, variables_, function, argument);
    size_t general = 0, vector = 0; // registers that are already used
    uint64_t stack = 0;             // bytes above the return address
    const Type* result = strip(variables_.result_type(function));
    if (general_registers[0] == file.memory_result.address && result && !is_scalar(result) &&
        result->kind != Type::Float && (passed_as(result).parts.empty() || is_passed_by_address(types_, result)))
        general = 1; // the address for the result
    for (const Variable& one : variables_.arguments(function)) {
        const Type* type = strip(one.type);
        if (!type)
            return unavailable("comes after an argument whose type is not known");
        Location here;
        Described said = described(function, one);
        constexpr uint64_t word = 8;
        PassedValue passed = passed_as(type);
        const bool indirect =
            passed.by_address || (is_class(type) && said.by_address.value_or(is_passed_by_address(types_, type)));
        if (indirect) {
            passed = PassedValue();
            passed.parts = {{PassedPart::General, word}};
        }
        const size_t generals = passed.registers(PassedPart::General), vectors = passed.registers(PassedPart::Vector);
        if (passed.begins_even && !passed.parts.empty())
            general = std::min((general + 1) / 2 * 2, general_registers.size());
        const bool fits = general + generals <= general_registers.size() && vector + vectors <= vector_registers;
        const bool on_stack = passed.parts.empty() || !fits;
        if (!passed.doubt && on_stack)
            passed.doubt = passed.doubt_on_stack;
        if (said.in_other_object)
            return unavailable("is in the frame of a coroutine");
        // In the Windows convention, the caller reserves stack space even for arguments in registers. No attribute
        // indicates this convention.
        if (said.above_frame && !on_stack && !passed.doubt)
            return unavailable("is passed by an unusual calling convention");
        if (one.die == argument.die && said.above_frame)
            return above_return_address(file, *said.above_frame, indirect);
        if (passed.doubt)
            return unavailable(passed.doubt);
        // An argument that does not fit into the remaining registers is passed on the stack as a whole.
        if (on_stack) {
            stack = (stack + passed.alignment - 1) / passed.alignment * passed.alignment;
            here = above_return_address(file, stack, indirect);
            stack += indirect ? word : (type->size + word - 1) / word * word;
            if (!file.later_arguments_fit && generals != 0)
                general = general_registers.size();
            if (!file.later_arguments_fit && vectors != 0)
                vector = vector_registers;
        } else {
            here = indirect ? memory_at(general_registers[general])
                            : in_registers(general_registers, general, passed, float_argument);
            general += generals;
            vector += vectors;
        }
        if (one.die == argument.die)
            return here;
    }
    return unavailable("is not a parameter");
}

// Go describes a string, slice or structure by the parts that the function uses. If the function uses only one part,
// the described place of the whole is that of the part: `s` is at 16 if only the length of a string at 8 is
// used. But the caller has put the whole argument on the stack.
Location CallingConvention::whole_in_go(const Variable& parameter, Address address, Location place) {
    const std::optional<RegisterOffset> entry = register_offset(locations_.entry_stack_pointer(address));
    const std::optional<RegisterOffset> there = register_offset(place);
    Dwarf_Die outer;
    if (place.kind != Location::Memory || !entry || !there || there->reg != entry->reg ||
        there->bytes < entry->bytes + file_.architecture().go().stack_arguments ||
        !die_of(enclosing_subprogram(units_.function_at(address)), &outer))
        return place;
    FunctionInstance instance;
    instance.die = debug_.pack(outer);
    const char* name = dwarf_diename(&outer);
    instance.name = name ? name : "";
    const Location passed = go_argument_location(file_.architecture(), units_, variables_, instance, parameter);
    const std::optional<RegisterOffset> from_entry =
        passed.kind == Location::Memory ? register_offset(passed) : std::nullopt;
    if (!from_entry)
        return place;
    place = Location();
    place.kind = Location::Memory;
    place.ops = {{LocationOp::Register, entry->reg},
                 {LocationOp::Constant, entry->bytes + from_entry->bytes},
                 {LocationOp::Add}};
    return place;
}

// Adds the missing dereference to the location of an object that is passed by address. It is missing if the location is
// in the caller's part of the stack: an object that is passed by address would not be there.
Location CallingConvention::corrected(const Variable& parameter, Address address, Location place) {
    const Type* type = strip(parameter.type);
    if (!parameter.is_parameter || !type || !is_class(type) || file_.is_32_bit())
        return place;
    const FunctionRef function = units_.function_at(address);
    const int language = function ? function.unit->language : 0;
    if (language == DW_LANG_Go)
        return whole_in_go(parameter, address, std::move(place));
    if (place.kind != Location::Memory)
        return place;
    // Stack arguments are above the stack pointer before the call. An object that is passed by address is never there.
    std::optional<RegisterOffset> there = register_offset(place);
    std::optional<RegisterOffset> arguments_at =
        there ? register_offset(locations_.entry_stack_pointer(address)) : std::nullopt;
    if (!arguments_at || arguments_at->reg != there->reg)
        return place;
    arguments_at->bytes += file_.architecture().registers().call.pushed;
    if (there->bytes < arguments_at->bytes)
        return place;
    bool by_address = false;
    if (is_c_language(language) || is_cxx_language(language)) {
        by_address = passed_as(type).by_address || (is_cxx_language(language) && is_passed_by_address(types_, type));
    } else if (language == DW_LANG_Rust && may_be_passed_by_address_in_rust(type)) {
        Dwarf_Die outer;
        FunctionInstance instance;
        instance.die = die_of(enclosing_subprogram(function), &outer) ? debug_.pack(outer) : 0;
        const std::vector<Variable> arguments = variables_.arguments(instance);
        const bool is_own = std::ranges::find(arguments, parameter.die, &Variable::die) != arguments.end();
        // A convention of C that also passes such values by address makes no difference.
        by_address = !is_own || passed_as(type).by_address ||
                     !follows_c_abi(locations_, file_.architecture().registers().arguments, outer, arguments,
                                    *arguments_at, address);
    }
    if (by_address)
        place.ops.push_back({LocationOp::Deref, 8});
    return place;
}

bool CallingConvention::keeps_to_abi(const FunctionInstance& function) {
    FunctionRef found = units_.find_function(function.die);
    Dwarf_Die die;
    if (!found || file_.is_32_bit() || !debug_.unpack(function.die, &die))
        return false;
    // clang stores the convention of a function if it differs from the program's default (ms_abi, vectorcall).
    if (number_attribute(die, DW_AT_calling_convention).value_or(DW_CC_normal) != DW_CC_normal)
        return false;
    return is_c_language(found.unit->language) || is_cxx_language(found.unit->language);
}

} // namespace sonde
