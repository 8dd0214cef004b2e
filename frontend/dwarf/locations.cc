// A variable has one location for its whole scope, or a list of locations, each with a range of addresses. Optimized
// code has lists with gaps: at those addresses the variable has no value. A constant (DW_AT_const_value) has no
// location at all.
//
//   [0x1000, 0x1008)  rdi                    the parameter is still where the caller passed it
//   [0x1008, 0x1020)  rbx                    saved for a later use
//                                            gap: `$p` is "optimized out at this address"
//
// locate() answers for one address. A gap is an error, and its message names the lines at which the variable is
// available, so that the user can move the probe to one of them. ranges() answers for a whole function (for --why).
//
// A wrong location is worse than none: it reads another variable's register. So every form that is not understood
// becomes unavailable, with a reason.
#include "frontend/dwarf/locations.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/go_results.h"
#include "frontend/dwarf/scopes.h"
#include "frontend/dwarf/statements.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {
namespace {

constexpr size_t max_ranges = 4096;

// Adds the addresses in [low, high) at which the location changes.
void add_borders(Dwarf_Attribute& attribute, Address low, Address high, std::vector<Address>& borders) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    ptrdiff_t offset = 0;
    while (borders.size() < max_ranges &&
           (offset = dwarf_getlocations(&attribute, offset, &base, &begin, &end, &ops, &length)) > 0)
        for (Address border : {begin, end})
            if (border > low && border < high)
                borders.push_back(border);
}

// DW_AT_const_value: the variable never changes and has no address.
Location constant_location(Dwarf_Attribute& attribute) {
    Location location;
    Dwarf_Sword number = 0;
    Dwarf_Block block;
    switch (dwarf_whatform(&attribute)) {
    case DW_FORM_string:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        if (const char* text = dwarf_formstring(&attribute)) {
            location.kind = Location::Bytes;
            location.bytes.assign(text, text + strlen(text) + 1);
            return location;
        }
        break;
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc:
    case DW_FORM_data16:
        if (dwarf_formblock(&attribute, &block) == 0 && block.length <= (1 << 20)) {
            location.kind = Location::Bytes;
            location.bytes.assign(block.data, block.data + block.length);
            return location;
        }
        break;
    default:
        // Forms dataN have no sign. Extending by sign is right for both cases, because the value is later truncated to
        // the type's size.
        if (dwarf_formsdata(&attribute, &number) == 0) {
            location.kind = Location::Value;
            location.ops.push_back({LocationOp::Constant, number});
            return location;
        }
        break;
    }
    return unavailable("has a corrupt constant value");
}

bool has_several_scalars(const Type* type) {
    type = strip(type);
    if (type && type->kind == Type::Array)
        return type->count != 1 || has_several_scalars(type->target);
    if (!type || type->kind != Type::Struct)
        return false;
    complete(type);
    if (type->members.empty())
        return false;
    return type->members.size() > 1 || has_several_scalars(type->members[0].type);
}

Location fitted(Location location, const Variable& variable, FunctionRef function) {
    return function && function.unit->language == DW_LANG_Go ? with_go_padding(std::move(location), variable.type)
                                                             : location;
}

// Extends a constant of 8 bytes to a number of 16 bytes.
Location extended(const Location& constant, const Type& type) {
    if (constant.kind != Location::Value || !is_scalar(&type))
        return constant;
    const int64_t number = constant.ops[0].operand;
    Location out;
    out.kind = Location::Bytes;
    for (uint64_t i = 0; i < type.size; i++)
        out.bytes.push_back(static_cast<uint8_t>(i < sizeof number ? number >> (8 * i) : number < 0 ? -1 : 0));
    return out;
}

} // namespace

Location Locations::locate(const Variable& variable, Address address) {
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    if (!debug_.unpack(variable.die, &die))
        return unavailable("has no debug information");
    // A variable that the compiler has replaced by a constant.
    if (dwarf_attr_integrate(&die, DW_AT_const_value, &attribute)) {
        // gcc encodes a narrow unsigned constant as data1: 200 must not become -56.
        Location location = constant_location(attribute);
        // clang also describes a structure so if only one of its members is known, and does not say which one.
        if (location.kind == Location::Value && has_several_scalars(variable.type))
            return unavailable("was optimized out, except for one of its members");
        const Type* type = strip(variable.type);
        unsigned form = dwarf_whatform(&attribute);
        Dwarf_Word bits = 0;
        bool plain = form == DW_FORM_data1 || form == DW_FORM_data2 || form == DW_FORM_data4;
        if (location.kind == Location::Value && plain && type &&
            (type->size > (form == DW_FORM_data1   ? 1u
                           : form == DW_FORM_data2 ? 2u
                                                   : 4u) ||
             !type->is_signed) &&
            dwarf_formudata(&attribute, &bits) == 0)
            location.ops[0].operand = static_cast<int64_t>(bits);
        return type && type->size > sizeof(int64_t) ? extended(location, *type) : location;
    }
    // A DIE without a location describes a variable that was optimized away, or is only a declaration.
    if (!location_attribute(die, DW_AT_location, &attribute)) {
        if (flag_attribute(die, DW_AT_declaration))
            return unavailable("is declared here and defined elsewhere");
        return undescribed(variable, die, address);
    }
    FunctionRef function = units_.function_at(address);
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    int found = dwarf_getlocation_addr(&attribute, address, &ops, &length, 1);
    if (found < 0)
        return unavailable("has a corrupt location");
    if (found == 0 || length == 0) {
        // The address is in a gap of the location list. Tell where the variable is available.
        std::vector<std::pair<Address, Address>> available;
        Dwarf_Addr base = 0, low = 0, high = 0;
        ptrdiff_t offset = 0;
        while ((offset = dwarf_getlocations(&attribute, offset, &base, &low, &high, &ops, &length)) > 0 &&
               available.size() < 1000)
            if (length > 0 && low < high)
                available.push_back({low, high});
        std::string lines = function ? statements_.describe_lines(owner_of(die, function), available) : "";
        if (lines.empty())
            return unavailable("was optimized out at this address");
        bool one = lines.find_first_of("-,") == std::string::npos;
        return unavailable(
            fmt::format("was optimized out at this address; it is available at {} {}", one ? "line" : "lines", lines));
    }
    return fitted(translate_expression(context_, address, enclosing_subprogram(function), &attribute, ops, length),
                  variable, function);
}

// The result is unavailable if the variable was optimized out.
Location Locations::undescribed(const Variable& variable, Dwarf_Die& die, Address address) {
    const ThreadSymbols::Found found = thread_symbols_.find(variable, die);
    if (!found.offset)
        return unavailable(found.why.empty() ? "was optimized out" : found.why);
    const Dwarf_Op ops[] = {{DW_OP_constu, *found.offset, 0, 0}, {DW_OP_form_tls_address, 0, 0, 0}};
    return translate_expression(context_, address, {}, nullptr, ops, std::size(ops));
}

Location Locations::at_entry(const Variable& variable, Address entry, Address address) {
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    if (!debug_.unpack(variable.die, &die) || dwarf_attr_integrate(&die, DW_AT_const_value, &attribute) ||
        !location_attribute(die, DW_AT_location, &attribute))
        return locate(variable, address);
    Dwarf_Addr base = 0, low = 0, high = 0;
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    ptrdiff_t offset = 0;
    for (size_t count = 0; count < max_ranges; count++) {
        offset = dwarf_getlocations(&attribute, offset, &base, &low, &high, &ops, &length);
        if (offset <= 0)
            break;
        // gcc's location views: an empty range precedes the next range at the same address.
        if (low == entry && low == high && length > 0)
            return fitted(translate_expression(context_, address, enclosing_subprogram(units_.function_at(entry)),
                                               &attribute, ops, length),
                          variable, units_.function_at(entry));
    }
    return locate(variable, address);
}

Location Locations::of_call(Address address, Dwarf_Attribute& attribute) {
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    if (dwarf_getlocation(&attribute, &ops, &length) != 0 || length == 0)
        return unavailable("has a corrupt location");
    Location out = translate_expression(context_, address, enclosing_subprogram(units_.function_at(address)),
                                        &attribute, ops, length);
    // The expression is one for a value, not for a place.
    if (out.kind == Location::Memory)
        out.kind = Location::Value;
    return out;
}

Location Locations::entry_stack_pointer(Address address) {
    // The CFA is the stack pointer before the call. In 32-bit programs, the return address has only 4 bytes. But
    // callers compare other places with this one, and they count from the stack pointer after the return.
    constexpr int64_t wide_call = 8;
    const int64_t pushed = context_.file.is_32_bit() ? wide_call : context_.file.architecture().registers().call.pushed;
    const Dwarf_Op ops[] = {
        {DW_OP_call_frame_cfa, 0, 0, 0}, {DW_OP_constu, static_cast<Dwarf_Word>(pushed), 0, 0}, {DW_OP_minus, 0, 0, 0}};
    return translate_expression(context_, address, {}, nullptr, ops, std::size(ops));
}

// Returns the linked address if the location is a constant address. Thread-local variables have other expressions.
std::optional<Address> Locations::global_address(const Variable& variable) {
    Dwarf_Die die;
    Dwarf_Attribute attribute, value;
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    Dwarf_Addr address = 0;
    if (!debug_.unpack(variable.die, &die) || !location_attribute(die, DW_AT_location, &attribute) ||
        dwarf_getlocation(&attribute, &ops, &length) != 0 || length == 0)
        return std::nullopt;
    if (ops[0].atom == DW_OP_addr)
        address = ops[0].number;
    else if ((ops[0].atom != DW_OP_addrx && ops[0].atom != DW_OP_GNU_addr_index) ||
             dwarf_getlocation_attr(&attribute, &ops[0], &value) != 0 || dwarf_formaddr(&value, &address) != 0)
        return std::nullopt;
    if (!context_.file.is_in_section(address))
        return std::nullopt;
    if (length == 2 && ops[1].atom == DW_OP_plus_uconst)
        return address + ops[1].number; // a part of a merged global (clang)
    return length == 1 ? std::optional<Address>(address) : std::nullopt;
}

// Returns the location list, restricted to the function's own ranges.
std::vector<LocationRange> Locations::ranges(const Variable& variable, const FunctionInstance& function) {
    std::vector<LocationRange> out;
    Dwarf_Die die, function_die;
    FunctionRef ref = units_.find_function(function.die);
    if (!ref || !debug_.unpack(variable.die, &die) || !die_of(ref, &function_die))
        return out;
    Dwarf_Attribute attribute;
    // The location is constant between two borders, so it is enough to look at each border.
    bool listed = dwarf_attr_integrate(&die, DW_AT_location, &attribute) != nullptr;
    for_each_range(function_die, [&](Address low, Address high) {
        if (low >= high)
            return true;
        std::vector<Address> borders = {low, high};
        if (listed)
            add_borders(attribute, low, high, borders);
        std::sort(borders.begin(), borders.end());
        borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
        for (size_t i = 0; i + 1 < borders.size(); i++)
            out.push_back({borders[i], borders[i + 1], locate(variable, borders[i]),
                           statements_.describe_lines(ref, {{borders[i], borders[i + 1]}})});
        return out.size() < max_ranges;
    });
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.low < b.low; });
    return out;
}

} // namespace sonde
