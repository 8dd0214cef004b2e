// Computes where Go passes arguments and results. For example, in func f(s string, n int) (int, error), a string
// consists of a pointer and a length. So `s` is in rax and rbx, `n` is in rcx. The results begin again with the first
// registers: rax has the int, and rbx and rcx have the two words of the error.
#include "frontend/dwarf/go_results.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include <dwarf.h>

#include "arch/architecture.h"
#include "base/debug/die.h"
#include "frontend/dwarf/location_expression.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/variables.h"

namespace sonde {
namespace {

// Assigns registers and stack slots to values, in the order of their declaration.
class GoAssignment {
  public:
    GoAssignment(const Architecture& architecture, size_t integers)
        : registers_(architecture.registers()), convention_(architecture.go()), integers_(integers) {}

    // Results use the registers from the first one on again. On the stack, they follow the arguments.
    void begin_results() {
        integers_ = floats_ = 0;
        stack_ = align(stack_, 8);
    }

    // `unreadable` is the reason to report for a value in a floating-point register.
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
        const int64_t first = convention_.stack_arguments - registers_.call.pushed;
        Location location = above_return_address(registers_, static_cast<uint64_t>(first) + stack_);
        stack_ += size_of(type);
        return location;
    }

  private:
    const RegisterFile& registers_;
    const GoConvention& convention_;

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

    // A value is passed in registers only if there are enough for all of its parts.
    // Assigns registers to a value, part by part, as the ABI's recursive algorithm does. Returns false if the value
    // must be passed on the stack; place() then restores the counters.
    bool in_registers(const Type* type, std::vector<Location::Piece>& pieces, const char* unreadable, int depth) {
        type = strip(type);
        if (!type || depth > 16)
            return false;
        switch (type->kind) {
        case Type::Float: // a complex number consists of two
            for (uint64_t part = type->size > 8 ? type->size / 2 : type->size, at = 0; at < type->size; at += part) {
                if (floats_++ == convention_.floats)
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
                    pieces.push_back({static_cast<uint32_t>(gap), unavailable("is between members")});
                if (!in_registers(member.type, pieces, unreadable, depth + 1))
                    return false;
            }
            if (uint64_t gap = begin + type->size - bytes(); gap != 0 && gap < 8 && depth > 0)
                pieces.push_back({static_cast<uint32_t>(gap), unavailable("is after the members")});
            return true;
        }
        default:
            if (!is_scalar(type) || type->size > 8 || integers_ == convention_.integers.size())
                return false;
            Location location;
            location.kind = Location::Register;
            location.reg = convention_.integers[integers_++];
            pieces.push_back({static_cast<uint32_t>(type->size), std::move(location)});
            return true;
        }
    }

    size_t integers_, floats_ = 0;
    uint64_t stack_ = 0; // bytes above the first argument on the stack
};

// A part of a value that Go keeps in one register.
struct Part {
    uint64_t offset = 0, size = 0;
    bool operator==(const Part&) const = default;
};

// Returns false if the parts are not known.
bool add_parts(const Type* type, uint64_t offset, std::vector<Part>& parts, int depth) {
    constexpr size_t most_parts = 256;
    type = strip(type);
    if (!type || depth > 16 || parts.size() > most_parts)
        return false;
    if (type->kind == Type::Array && type->count == 1)
        return add_parts(type->target, offset, parts, depth + 1);
    if (type->kind == Type::Struct)
        return std::ranges::all_of(complete(type)->members, [&](const TypeMember& member) {
            return add_parts(member.type, offset + member.byte_offset, parts, depth + 1);
        });
    if (type->kind == Type::Float && type->size > 8) { // a complex number
        parts.push_back({offset, type->size / 2});
        offset += type->size / 2;
        parts.push_back({offset, type->size / 2});
    } else if (type->size != 0) {
        parts.push_back({offset, type->size});
    }
    return true;
}

// Code for several types has a hidden argument with information about the types.
bool takes_dictionary(std::string_view name) {
    if (name.find("[go.shape.") == std::string_view::npos)
        return false;
    // A closure inside gets it from the enclosing function.
    size_t dot = name.rfind(".func");
    return dot == std::string_view::npos || name.find(']', dot) != std::string_view::npos;
}

// Go records in DW_AT_producer that the program uses the register-based ABI. Older programs pass everything on the
// stack.
bool passes_in_registers(UnitIndex& units, const FunctionInstance& function) {
    FunctionRef found = units.find_function(function.die);
    const char* producer = found ? string_attribute(found.unit->unit_die, DW_AT_producer) : nullptr;
    return producer && strstr(producer, "regabi");
}

} // namespace

// Three forms of pieces are known, for struct { a int8; b int64; c int16 }:
//
//     rax 1, - 7, rbx 8, rcx 2, - 6            correct
//     rax 1, rbx 8, rcx 2                      without padding: one piece for each part; parts can be unknown
//     rax 1, - 7, rbx 8, - 8, - 1, rcx 2       with too much padding: all parts are known
Location with_go_padding(Location location, const Type* type) {
    std::vector<Part> parts;
    type = strip(type);
    if (location.kind != Location::Pieces || !type || !add_parts(type, 0, parts, 0))
        return location;
    std::vector<Part> all, known; // of the pieces, and those that have a place
    std::vector<Location::Piece> places, known_places;
    uint64_t offset = 0;
    for (Location::Piece& piece : location.pieces) {
        all.push_back({offset, piece.byte_size});
        offset += piece.byte_size;
        places.push_back(std::move(piece));
        if (places.back().place.kind == Location::Unavailable)
            continue;
        known.push_back(all.back());
        known_places.push_back(places.back());
    }
    const auto is_part = [&](const Part& one) { return std::ranges::find(parts, one) != parts.end(); };
    const auto fit = [&](const std::vector<Part>& pieces) {
        return std::ranges::equal(pieces, parts, {}, &Part::size, &Part::size);
    };
    const bool has_no_padding = fit(all);
    // A part that the function does not use can be missing. Then the pieces end too early.
    const uint64_t end_of_parts = parts.empty() ? 0 : parts.back().offset + parts.back().size;
    if (!has_no_padding && offset >= end_of_parts && offset <= type->size && std::ranges::all_of(known, is_part)) {
        location.pieces = std::move(places);
        return location;
    }
    if (!has_no_padding && !fit(known))
        return unavailable(
            "has a location that does not fit its type, by a mistake of Go's compiler; probe a later line");
    location.pieces.clear();
    uint64_t end = 0;
    for (size_t i = 0; i < parts.size(); i++) {
        if (parts[i].offset > end)
            location.pieces.push_back(
                {static_cast<uint32_t>(parts[i].offset - end), unavailable("is between members")});
        location.pieces.push_back(std::move((has_no_padding ? places : known_places)[i]));
        end = parts[i].offset + parts[i].size;
    }
    return location;
}

Location go_argument_location(const Architecture& architecture, UnitIndex& units, Variables& variables,
                              const FunctionInstance& function, const Variable& argument) {
    const bool in_registers = passes_in_registers(units, function);
    GoAssignment assignment(architecture, in_registers ? (takes_dictionary(function.name) ? 1 : 0)
                                                       : architecture.go().integers.size());
    for (const Variable& one : variables.parameters(function)) {
        Location here = assignment.place(one.type, "is passed in a floating point register, which a probe cannot read");
        if (one.die == argument.die)
            return here;
    }
    return unavailable("is not a parameter");
}

// The arguments must be assigned first, because stack slots of results follow those of the arguments.
Location go_result_location(const Architecture& architecture, UnitIndex& units, Variables& variables,
                            const FunctionInstance& function, const Variable& result) {
    if (!passes_in_registers(units, function))
        return unavailable("is returned as Go before 1.17 did, which is not supported");
    const char* unreadable = "is returned in a floating point register, which a probe cannot read";
    GoAssignment assignment(architecture, takes_dictionary(function.name) ? 1 : 0);
    for (const Variable& one : variables.parameters(function))
        assignment.place(one.type, unreadable);
    assignment.begin_results();
    for (const Variable& one : variables.results(function)) {
        Location here = assignment.place(one.type, unreadable);
        if (one.die == result.die)
            return here;
    }
    return unavailable("is not a result");
}

} // namespace sonde
