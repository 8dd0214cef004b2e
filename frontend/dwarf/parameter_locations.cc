// Finds parameters at the entry. Three examples, all at the function's first instruction:
//
// 1. Unoptimized code of `f(int x)`: the debug information says -0x14(%rbp), which is not filled yet. The convention
//    says edi. edi is right, because other callers rely on the convention.
// 2. Optimized code with a location list: the debug information says edi, the convention says edi. They agree.
// 3. f.constprop.0, from which the compiler has removed the first of two parameters: the debug information says edi for
//    the second parameter, the convention says esi. The convention does not hold for this copy, so the debug
//    information is right.
//
// A case that does not fit is a doubt, and the script gets an error. It is better to refuse a value than to print a
// wrong one.
#include "frontend/dwarf/parameter_locations.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include <dwarf.h>

#include "arch/architecture.h"
#include "base/debug/die.h"
#include "frontend/dwarf/calling_convention.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/location_expression.h"
#include "frontend/dwarf/locations.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/prologue.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/variables.h"

namespace sonde {
namespace {

// Whether all bytes of a value of this size are known. Pieces can end before the value does.
bool is_known(const Location& location, uint64_t size) {
    if (location.kind != Location::Pieces)
        return location.kind != Location::Unavailable;
    uint64_t known = 0;
    for (const Location::Piece& piece : location.pieces) {
        if (!is_known(piece.place, piece.byte_size))
            return false;
        known += piece.byte_size;
    }
    return known >= size;
}

bool is_passing_register(int64_t reg, const Architecture& architecture) {
    return std::ranges::find(architecture.registers().arguments, reg) != architecture.registers().arguments.end();
}

// Whether a caller can have put an argument at this location: at the entry, nothing else is filled in yet.
bool is_filled_by_caller(const Location& location, const Architecture& architecture) {
    const RegisterFile& registers = architecture.registers();
    switch (location.kind) {
    case Location::Unavailable:
    case Location::Bytes:
        return true;
    case Location::Register:
        return is_passing_register(location.reg, architecture);
    case Location::Pieces:
        return std::ranges::all_of(location.pieces,
                                   [&](const auto& piece) { return is_filled_by_caller(piece.place, architecture); });
    case Location::Memory:
    case Location::Value:
        break;
    }
    for (size_t i = 0; i < location.ops.size(); i++) {
        const LocationOp& op = location.ops[i];
        if (op.code != LocationOp::Register || op.operand == registers.instruction_pointer ||
            is_passing_register(op.operand, architecture))
            continue;
        // A return address may be on top of the stack; arguments are above it.
        const int64_t return_address = registers.call.pushed;
        size_t next = i + 1;
        const bool above =
            op.operand == registers.stack_pointer && constants_added(location.ops, next) >= return_address;
        if (!above)
            return false;
    }
    return true;
}

bool depends_on_registers(const Location& location) {
    if (location.kind == Location::Pieces)
        return std::ranges::any_of(location.pieces,
                                   [](const auto& piece) { return depends_on_registers(piece.place); });
    return location.kind == Location::Register ||
           std::ranges::any_of(location.ops, [](const LocationOp& op) { return op.code == LocationOp::Register; });
}

// Returns the register from which a value is computed; -1 if there are several or none.
int source_register(const Location& location) {
    int64_t found = -1;
    for (const LocationOp& op : location.ops) {
        if (op.code == LocationOp::Deref || (op.code == LocationOp::Register && found >= 0))
            return -1;
        if (op.code == LocationOp::Register)
            found = op.operand;
    }
    return static_cast<int>(found);
}

// Whether the two locations have the same value, in the parts that both have. A narrow value may be described together
// with its extension.
bool is_same(const Location& a, const Location& b) {
    if (a.kind == Location::Unavailable || b.kind == Location::Unavailable)
        return true;
    if (a.kind == b.kind && a.kind != Location::Pieces)
        return a.kind == Location::Register ? a.reg == b.reg : a.ops == b.ops && a.bytes == b.bytes;
    if (a.kind == Location::Value || b.kind == Location::Value) {
        const Location& value = a.kind == Location::Value ? a : b;
        const Location& other = a.kind == Location::Value ? b : a;
        return other.kind == Location::Register && source_register(value) == other.reg;
    }
    return false;
}

struct Part {
    const Location* place = nullptr;
    uint64_t size = 0;
};
using Parts = std::map<uint64_t, Part>; // by their offsets

// Collects the parts of the location of a value of this size.
void add_parts(const Location& location, uint64_t offset, uint64_t size, Parts& parts) {
    if (location.kind != Location::Pieces) {
        parts[offset] = {&location, size};
        return;
    }
    for (const Location::Piece& piece : location.pieces) {
        add_parts(piece.place, offset, piece.byte_size, parts);
        offset += piece.byte_size;
    }
}

// A part of a register, beginning with byte number `from`.
struct Source {
    int reg = -1;
    uint64_t from = 0;
    bool operator==(const Source&) const = default;
};

// Returns the register byte that contains the byte at `offset` of a value. Returns nullopt if that byte is not in a
// register, or not in its original form.
std::optional<Source> source_of(const Parts& parts, uint64_t offset) {
    auto after = parts.upper_bound(offset);
    if (after == parts.begin())
        return std::nullopt;
    auto [begin, found] = *std::prev(after);
    const Location* part = found.place;
    if (offset - begin >= found.size) // behind the last part
        return std::nullopt;
    if (part->kind == Location::Register)
        return Source{part->reg, offset - begin};
    // clang writes the upper half as `rdi >> 32`, possibly with a mask.
    if (part->kind == Location::Value && source_register(*part) >= 0) {
        uint64_t from = offset - begin;
        const std::vector<LocationOp>& ops = part->ops;
        const bool has_mask = ops.size() == 5 && ops[3].code == LocationOp::Constant && ops[4].code == LocationOp::And;
        if ((ops.size() == 3 || has_mask) && ops[1].code == LocationOp::Constant && ops[1].operand % 8 == 0 &&
            (ops[2].code == LocationOp::Shr || ops[2].code == LocationOp::Sar))
            from += static_cast<uint64_t>(ops[1].operand / 8);
        return Source{source_register(*part), from};
    }
    return std::nullopt;
}

// Whether both locations have the same value: compares each byte's register, as far as both know it. `size` is the size
// of the value.
bool agree(const Location& described, const Location& passed, uint64_t size) {
    if (!depends_on_registers(described)) // the compiler knows the value, so it may not be passed at all
        return passed.kind == Location::Unavailable;
    if (described.kind != Location::Pieces && passed.kind != Location::Pieces)
        return is_same(described, passed);
    Parts first, second;
    add_parts(described, 0, size, first);
    add_parts(passed, 0, size, second);
    for (uint64_t offset = 0; offset < size; offset++) {
        std::optional<Source> a = source_of(first, offset), b = source_of(second, offset);
        if (a && b && *a != *b)
            return false;
    }
    // One location is in memory, the other in registers.
    auto in_memory = [](const auto& part) { return part.second.place->kind == Location::Memory; };
    return std::ranges::any_of(first, in_memory) == std::ranges::any_of(second, in_memory);
}

// If the location is memory that a pointer leads to, returns the location of the pointer.
Location without_dereference(Location place) {
    if (place.kind == Location::Memory && !place.ops.empty() && place.ops.back().code == LocationOp::Deref)
        place.ops.pop_back();
    return place;
}

// Adds the ranges [begin, end) of an object's bytes that have a value, by their begin. If the parts are not known, adds
// the whole object.
void add_used_bytes(const Type* type, int64_t offset, std::map<int64_t, int64_t>& used, int depth) {
    type = strip(type);
    constexpr int most = 8;
    if (!type)
        return;
    complete(type);
    const bool is_record = type->kind == Type::Struct || type->kind == Type::Union;
    if (is_record && !type->members.empty() && depth < most) {
        for (const TypeMember& member : type->members)
            add_used_bytes(member.type, offset + static_cast<int64_t>(member.byte_offset), used, depth + 1);
        return;
    }
    if (type->size != 0) {
        int64_t& end = used[offset];
        end = std::max(end, offset + static_cast<int64_t>(type->size));
    }
}

constexpr const char* too_early = "has a place only after the function's first instructions";
constexpr const char* doubt =
    "has different places at the entry by the debug information and by the calling convention";

} // namespace

// Whether the function is a copy that the compiler has changed: `f.constprop.0`, `f.isra.0`, `f.part.0`. Its parameters
// differ from those in the source.
bool ParameterLocations::is_clone(const FunctionInstance& function) {
    for (auto at = symbols_.first_from(function.entry); at != symbols_.all().end() && at->address == function.entry;
         ++at) {
        // Names that mean the same function: versions of symbols, and names that link-time optimization makes unique.
        std::string_view name = at->name.substr(0, at->name.find('@'));
        for (std::string_view harmless : {".llvm.", ".lto_priv.", ".localalias"})
            name = name.substr(0, name.find(harmless));
        if (name.find('.') != std::string_view::npos)
            return true;
    }
    return false;
}

// Whether code outside of this file may call the function, so that it must follow the calling convention.
bool ParameterLocations::is_convention_certain(const FunctionInstance& function) {
    bool global = false;
    for (auto at = symbols_.first_from(function.entry); at != symbols_.all().end() && at->address == function.entry;
         ++at)
        global = global || at->global;
    return global;
}

// With -fno-var-tracking, gcc gives each variable one location for the whole function, even for addresses where it is
// not valid.
bool ParameterLocations::lacks_variable_tracking(const FunctionInstance& function) {
    Dwarf_Die die, unit;
    const char* producer = debug_.unpack(function.die, &die) && dwarf_diecu(&die, &unit, nullptr, nullptr)
                               ? string_attribute(unit, DW_AT_producer)
                               : nullptr;
    return producer && strstr(producer, "-fno-var-tracking") != nullptr;
}

bool ParameterLocations::has_single_place(const Variable& parameter) {
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    return debug_.unpack(parameter.die, &die) && location_attribute(die, DW_AT_location, &attribute) &&
           dwarf_getlocation(&attribute, &ops, &length) == 0;
}

bool ParameterLocations::is_optimized(const FunctionInstance& function) { return debug_.is_optimized(function); }

ParameterLocations::Compared ParameterLocations::compare(const FunctionInstance& function, const Variable& parameter,
                                                         Address address) {
    Compared out;
    out.described = described_at_entry(function, parameter, address);
    out.passed = calling_.argument_location(function, parameter);
    const Type* type = strip(parameter.type);
    // In the Windows convention, callers reserve stack space for arguments in registers. So if the ABI gives no
    // location, a stack location in the debug information is trusted only for types that not all compilers pass alike.
    const bool is_odd =
        type && (type->kind == Type::Float || type->kind == Type::Array || (type->size == 16 && is_scalar(type)));
    const std::optional<RegisterOffset> stack = register_offset(without_dereference(out.described));
    if (out.described.kind == Location::Unavailable)
        out.agreement = Agreement::Missing;
    else if (out.passed.kind == Location::Unavailable && stack &&
             stack->reg == file_.architecture().registers().stack_pointer && !is_odd)
        out.agreement = Agreement::TooEarly;
    else if (!is_filled_by_caller(out.described, file_.architecture()))
        out.agreement = Agreement::TooEarly;
    else if (agree(out.described, out.passed, type ? type->size : 0))
        out.agreement = Agreement::Same;
    else
        out.agreement = Agreement::Different;
    return out;
}

// Whether the calling convention is known to hold for the function, judging by the parameters up to this one.
bool ParameterLocations::may_decide(const FunctionInstance& function, const Variable& parameter, Address address) {
    if (is_clone(function))
        return false;
    const bool certain = is_convention_certain(function);
    for (const Variable& one : variables_.arguments(function)) {
        if (one.die == parameter.die)
            return true;
        const Compared other = compare(function, one, address);
        const bool removed = other.agreement == Agreement::Missing || !depends_on_registers(other.described);
        if (other.agreement == Agreement::Different && !lacks_variable_tracking(function))
            return false;
        if (removed && !certain && is_optimized(function))
            return false;
    }
    return false;
}

Location ParameterLocations::at_entry(const FunctionInstance& function, const Variable& parameter, Address address) {
    if (!calling_.keeps_to_abi(function)) {
        Location described = described_at_entry(function, parameter, address);
        return is_filled_by_caller(described, file_.architecture()) ? described : unavailable(too_early);
    }
    const Compared both = compare(function, parameter, address);
    const bool is_passed = both.passed.kind != Location::Unavailable;
    switch (both.agreement) {
    // Callers that know that the parameter, or a part of it, is unused pass anything (LLVM). Nothing describes it then.
    case Agreement::Same: {
        const Type* type = strip(parameter.type);
        const uint64_t size = type ? type->size : 0;
        return is_passed && is_known(both.passed, size) && is_known(both.described, size) ? both.passed
                                                                                          : both.described;
    }
    case Agreement::Missing:
        return both.described;
    // The parameter will be stored in its own location later; until then only the caller's location is right.
    case Agreement::TooEarly:
        if (!is_passed)
            return both.passed;
        return may_decide(function, parameter, address) ? both.passed : unavailable(doubt);
    case Agreement::Different:
        if (!depends_on_registers(both.described)) // a constant: all callers pass it
            return both.described;
        if (is_clone(function)) // its arguments may differ from the source
            return lacks_variable_tracking(function) ? unavailable(doubt) : both.described;
        return lacks_variable_tracking(function) && is_passed && may_decide(function, parameter, address)
                   ? both.passed
                   : unavailable(doubt);
    }
    return both.described;
}

std::vector<PrologueState> ParameterLocations::first_block(const FunctionInstance& function) {
    return follow_prologue(file_.architecture(), file_.code(function.entry, function.high), function.entry);
}

std::vector<LocationOp> ParameterLocations::value_of_entry(const FunctionInstance& function, int reg, Address address) {
    const std::string code = file_.code(function.entry, address);
    return code.size() == address - function.entry ? sonde::value_of_entry(file_.architecture(), code, reg)
                                                   : std::vector<LocationOp>();
}

namespace {

// Returns the state after the prologue, where the stack pointer is lowest.
const PrologueState& lowered(const std::vector<PrologueState>& block) {
    return *std::ranges::min_element(block, {},
                                     [](const PrologueState& state) { return state.stack_pointer.value_or(0); });
}

} // namespace

// LLVM often describes places in the frame relative to the stack pointer as it is after the prologue. At the entry,
// such an offset would point to the caller's frame.
bool ParameterLocations::counts_from_lowered_stack(const Variable& parameter, const std::vector<PrologueState>& block) {
    if (!has_single_place(parameter) || lowered(block).stack_pointer == block.front().stack_pointer)
        return false;
    std::optional<RegisterOffset> first = register_offset(
                                      without_dereference(locations_.locate(parameter, block.front().address))),
                                  last = register_offset(
                                      without_dereference(locations_.locate(parameter, lowered(block).address)));
    const int stack_pointer = file_.architecture().registers().stack_pointer;
    return first && last && first->reg == stack_pointer && last->reg == stack_pointer && first->bytes == last->bytes;
}

// Returns the parameter's own location, as it would be at the entry.
Location ParameterLocations::described_at_entry(const FunctionInstance& function, const Variable& parameter,
                                                Address address) {
    Location place = calling_.corrected(parameter, address, locations_.at_entry(parameter, function.entry, address));
    const int stack_pointer = file_.architecture().registers().stack_pointer;
    if (file_.is_32_bit() || place.kind != Location::Memory || place.ops.empty() ||
        place.ops[0].code != LocationOp::Register || place.ops[0].operand != stack_pointer)
        return place;
    const std::vector<PrologueState> block = first_block(function);
    if (!counts_from_lowered_stack(parameter, block))
        return place;
    const int64_t return_address = file_.architecture().registers().call.pushed;
    const bool has_distance = place.ops.size() > 2 && place.ops[1].code == LocationOp::Constant;
    const int64_t distance =
        (has_distance ? place.ops[1].operand : 0) + lowered(block).stack_pointer.value_or(INT32_MIN);
    std::vector<LocationOp> ops = {
        {LocationOp::Register, stack_pointer}, {LocationOp::Constant, distance + return_address}, {LocationOp::Add}};
    ops.insert(ops.end(), place.ops.begin() + (has_distance ? 3 : 1), place.ops.end());
    place.ops = std::move(ops);
    return place;
}

namespace {

// Whether the location of one part was already filled by the prologue or by the caller.
bool is_filled(const RegisterFile& registers, const PrologueState& state, const Location& place, const Type* type) {
    const int instruction_pointer = registers.instruction_pointer;
    switch (place.kind) {
    case Location::Register:
        return place.reg >= 0 && place.reg < instruction_pointer && state.passed[place.reg];
    case Location::Memory:
        break;
    case Location::Pieces:
        return std::ranges::all_of(place.pieces, [&](const auto& piece) {
            return piece.place.kind != Location::Memory && is_filled(registers, state, piece.place, type);
        });
    default:
        return std::ranges::all_of(place.ops, [&](const LocationOp& op) {
            return op.code != LocationOp::Register || op.operand == instruction_pointer ||
                   op.operand == registers.stack_pointer ||
                   (op.operand >= 0 && op.operand < instruction_pointer && state.passed[op.operand]);
        });
    }
    const std::optional<RegisterOffset> offset = register_offset(without_dereference(place));
    if (!offset || offset->reg < 0 || offset->reg > instruction_pointer)
        return false;
    const std::optional<int64_t> base = offset->reg == registers.stack_pointer   ? state.stack_pointer
                                        : offset->reg == registers.frame_pointer ? state.frame_pointer
                                                                                 : std::nullopt;
    if (!base) // a pointer that the caller passed
        return offset->reg < instruction_pointer && state.passed[offset->reg];
    const int64_t begin = *base + offset->bytes;
    if (begin >= 0) // above the frame
        // The parameter is in the frame. All bytes that have a value must have been stored.
        return true;
    std::map<int64_t, int64_t> used;
    constexpr int64_t pointer = 8;
    if (place.ops.back().code == LocationOp::Deref)
        used[0] = pointer;
    else
        add_used_bytes(type, 0, used, 0);
    return std::ranges::all_of(
        used, [&](const auto& part) { return state.is_filled(begin + part.first, begin + part.second); });
}

} // namespace

std::optional<Address> ParameterLocations::holds_from(const FunctionInstance& function, const Variable& parameter) {
    if (file_.is_32_bit())
        return std::nullopt;
    const bool listed = !has_single_place(parameter);
    const std::vector<PrologueState> block = first_block(function);
    const bool by_lowered_stack = !listed && counts_from_lowered_stack(parameter, block);
    for (const PrologueState& state : block) {
        Location place = locations_.locate(parameter, state.address);
        if (place.kind == Location::Unavailable ||
            (by_lowered_stack && state.stack_pointer != lowered(block).stack_pointer))
            continue;
        // A location list is exact, except in LLVM, whose lists can begin too early: at the entry, or before the
        // parameter is stored.
        const bool has_begun = listed && place.kind != Location::Memory &&
                               (state.address != function.entry || is_filled_by_caller(place, file_.architecture()));
        if (has_begun || is_filled(file_.architecture().registers(), state, place, parameter.type))
            return state.address;
    }
    return std::nullopt;
}

bool ParameterLocations::has_changed(const FunctionInstance& function, const Variable& parameter, Address address) {
    if (function.inlined || function.is_go || file_.is_32_bit() || address <= function.entry ||
        address >= function.high || !is_optimized(function))
        return false;
    const Location place = locations_.locate(parameter, address);
    if (place.kind != Location::Register || place.reg < 0 ||
        place.reg >= file_.architecture().registers().instruction_pointer)
        return false;
    const std::vector<PrologueState> block = first_block(function);
    const auto state = std::ranges::find(block, address, &PrologueState::address);
    return state != block.end() && !state->passed[place.reg];
}

// Only a function that calls nothing may keep variables below its stack pointer.
bool ParameterLocations::makes_calls(Address address) {
    auto symbol = symbols_.first_after(address);
    if (symbol == symbols_.all().begin())
        return false;
    --symbol;
    const std::string bytes = file_.code(symbol->address, symbol->address + symbol->size);
    for (std::string_view code = bytes; !code.empty();) {
        const std::optional<Instruction> one = file_.architecture().decode(code);
        if (!one || one->is_call())
            return one.has_value();
        code.remove_prefix(std::min(one->length, code.size()));
    }
    return false;
}

// A location in the frame ignores that the copy's first instructions store the parameter there. gcc may even omit the
// store, if the value is overwritten before it is read. A parameter that gcc has removed can also have a location below
// the stack pointer.
Location ParameterLocations::at_copy_entry(const Variable& parameter, Address entry) {
    constexpr Address most_bytes = 512;
    Location place = calling_.corrected(parameter, entry, locations_.at_entry(parameter, entry, entry));
    const Type* type = strip(parameter.type);
    const std::optional<RegisterOffset> at = register_offset(place);
    if (file_.is_32_bit() || place.kind != Location::Memory || !at || !type)
        return place;
    if (at->reg == file_.architecture().registers().stack_pointer && at->bytes < 0 && makes_calls(entry))
        return unavailable("has a place that the function's calls overwrite");
    const bool is_stored_later =
        may_write_first(file_.architecture(), file_.code(entry, entry + most_bytes), static_cast<int>(at->reg),
                        at->bytes, at->bytes + static_cast<int64_t>(type->size));
    return is_stored_later ? unavailable("has a place only after the copy's first instructions") : place;
}

Location ParameterLocations::inside(const FunctionInstance& function, const Variable& parameter, Address address) {
    Location place = calling_.corrected(parameter, address, locations_.locate(parameter, address));
    const bool is_certain = !parameter.is_parameter || function.inlined || function.is_go || file_.is_32_bit() ||
                            place.kind == Location::Unavailable || address < function.entry ||
                            address >= function.high || !has_single_place(parameter) || !is_optimized(function);
    if (is_certain || address > first_block(function).back().address)
        return place;
    const std::optional<Address> from = holds_from(function, parameter);
    return from && *from <= address ? place : unavailable(too_early);
}

} // namespace sonde
