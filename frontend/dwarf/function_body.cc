// Finds the end of a prologue. For example, in
//
//     10: push %rbp               line 3   <- entry; the parameter is still in edi
//     11: mov  %rsp,%rbp          line 3
//     14: mov  %edi,-0x14(%rbp)   line 3
//     17: mov  -0x14(%rbp),%eax   line 4   <- body; -0x14(%rbp) has the parameter
//
// the second row of the line table begins at 17. Optimized code has no such moment: parameters get their places one
// after the other (see prologue.h). There, the body is the entry.
#include "frontend/dwarf/function_body.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include <dwarf.h>

#include "arch/architecture.h"
#include "base/debug/die.h"
#include "frontend/dwarf/program_file.h"

namespace sonde {
namespace {

// Returns the register that the operation names or is relative to; -1 for other operations.
int base_register(const Dwarf_Op& op) {
    if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31)
        return op.atom - DW_OP_reg0;
    if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
        return op.atom - DW_OP_breg0;
    return -1;
}

// Whether the parameter is a pointer, or an integer that fits into a register.
bool takes_a_register(Dwarf_Die parameter) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (!dwarf_attr_integrate(&parameter, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &type) ||
        dwarf_peel_type(&type, &type) != 0)
        return false;
    switch (dwarf_tag(&type)) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_enumeration_type:
        return true;
    case DW_TAG_base_type: {
        std::optional<uint64_t> encoding = number_attribute(type, DW_AT_encoding);
        return number_attribute(type, DW_AT_byte_size).value_or(16) <= 8 && encoding != DW_ATE_float &&
               encoding != DW_ATE_complex_float && encoding != DW_ATE_decimal_float;
    }
    default:
        return false;
    }
}

// Whether functions nested in this one use its variables. Then the prologue copies the parameters to a structure for
// these functions.
bool shares_variables(Dwarf_Die& die) {
    bool any = false;
    for_each_child_of_function(die, [&](Dwarf_Die& child) {
        any = dwarf_tag(&child) == DW_TAG_subprogram && dwarf_hasattr(&child, DW_AT_static_link);
        return !any;
    });
    return any;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

} // namespace

bool keeps_parameters_in_frame(const RegisterFile& registers, Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Op* base = nullptr;
    size_t base_length = 0;
    bool cfa_base = false;
    if (dwarf_attr_integrate(&die, DW_AT_frame_base, &attribute) &&
        dwarf_getlocation(&attribute, &base, &base_length) == 0 && base_length == 1)
        cfa_base = base[0].atom == DW_OP_call_frame_cfa;
    bool parameters = false, in_frame = false;
    for_each_child_of_function(die, [&](Dwarf_Die& child) {
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            return true;
        bool is_first = !parameters;
        parameters = true;
        Dwarf_Op* ops = nullptr;
        size_t length = 0;
        // A location list is exact. Only a single location ignores the prologue.
        if (!dwarf_attr_integrate(&child, DW_AT_location, &attribute) ||
            dwarf_getlocation(&attribute, &ops, &length) != 0 || length == 0)
            return true;
        if (ops[0].atom == DW_OP_fbreg) {
            // Locations above the CFA are arguments that the caller has put on the stack; these are valid from the
            // beginning. But the first argument is passed in a register; in the Windows convention (ms_abi), the caller
            // reserves stack space for it.
            in_frame = !cfa_base || static_cast<int64_t>(ops[0].number) < 0 || (is_first && takes_a_register(child));
        } else {
            // A location relative to a register is valid from the beginning only if the caller passes an argument in
            // that register. The prologue sets all other registers: the frame pointer, or another one if the frame is
            // aligned and has a variable size (clang).
            const std::span<const int> arguments = registers.arguments;
            in_frame = ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 &&
                       std::ranges::find(arguments, base_register(ops[0])) == arguments.end();
        }
        return !in_frame;
    });
    if (parameters)
        return in_frame;
    // Without parameters, only locals depend on the prologue. gcc stores its options in DW_AT_producer. clang uses the
    // frame pointer as the frame base only in unoptimized code.
    Dwarf_Die unit;
    const char* producer =
        dwarf_diecu(&die, &unit, nullptr, nullptr) ? string_attribute(unit, DW_AT_producer) : nullptr;
    if (producer && strncmp(producer, "GNU C", 5) == 0) {
        const char* level = strstr(producer, " -O");
        return !level || level[3] == '0';
    }
    return base && base_length == 1 && base_register(base[0]) == registers.frame_pointer && producer &&
           strstr(producer, "clang");
}

bool has_parameters(Dwarf_Die& die) {
    bool any = false;
    for_each_child_of_function(die, [&](Dwarf_Die& child) {
        any = dwarf_tag(&child) == DW_TAG_formal_parameter;
        return !any;
    });
    return any;
}

Address find_body(const RegisterFile& registers, LineTables& lines, Unit& unit, Dwarf_Die& die, Address entry,
                  Address high) {
    if (!keeps_parameters_in_frame(registers, die))
        return entry;
    const std::vector<LineRow>& all = lines.rows(unit);
    auto first = lines.first_from(unit, entry);
    // The end of the previous function, if each function has its own section.
    while (first != all.end() && first->address == entry && first->end_sequence)
        ++first;
    auto in_function = [&](auto row) { return row != all.end() && row->address < high && !row->end_sequence; };
    // The compiler's own mark is the best source; clang writes it, gcc does not.
    for (auto row = first; in_function(row); ++row)
        if (row->prologue_end)
            return row->address;
    // If the first row is of another file, it belongs to an inlined function, and the prologue has no row of its own.
    bool other_file = in_function(first) && first->file && *declaration_file(die) &&
                      file_name(first->file) != file_name(declaration_file(die));
    auto second = first;
    if (in_function(first) && !other_file && in_function(first + 1))
        ++second;
    // Two rows with equal addresses usually mean that the prologue is empty. But if parameters are in the frame, a
    // prologue has stored them.
    bool parameters = has_parameters(die);
    while (parameters && in_function(second) && second->address == entry)
        ++second;
    // gcc gives that copying a row of its own, at the declaration's place like the first row.
    auto is_copying = [&](auto row) { return row->line == first->line && row->column == first->column; };
    if (parameters && shares_variables(die))
        while (in_function(second) && is_copying(second) && in_function(second + 1))
            ++second;
    return in_function(second) ? second->address : entry;
}

bool runs_once(const ProgramFile& file, Address entry, Address body, Address high) {
    const std::string bytes = file.code(entry, high);
    for (size_t at = 0; at < bytes.size();) {
        const std::optional<Instruction> one = file.architecture().decode(std::string_view(bytes).substr(at));
        // Looks at all jumps and returns of the function, in the order of the code.
        if (!one)
            return true; // nothing shows that it does not
        bool before = entry + at < body;
        at += one->length;
        const Address target = one->target(entry + at);
        // Before the body, a return or a jump past the body means that a call can miss it. After the body, a jump back
        // to it means that a call can hit it twice.
        if (before && one->is_return())
            return false;
        if (one->is_direct_jump() && (before ? target > body || target < entry : target > entry && target <= body))
            return false;
    }
    return true;
}

} // namespace sonde
