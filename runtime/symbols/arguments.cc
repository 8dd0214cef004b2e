// The value of an argument is where the debug information says, at the address where the function waits:
//
//     DW_OP_fbreg(-20), the frame base is DW_OP_call_frame_cfa     in the function's frame: the unwinder knows the CFA
//     DW_OP_breg7(16)                                              the same by the stack pointer
//     DW_OP_reg3                                                   in a register that called functions preserve
//     DW_OP_reg5                                                   in another register: called functions have changed
//     it DW_OP_entry_value(DW_OP_reg5)                                lost, unless the caller still has the value
//
// The last two are `?`: a wrong value would be worse than none.
#include "runtime/symbols/arguments.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/architecture.h"
#include "runtime/symbols/function_scopes.h"

namespace sonde {
namespace {

constexpr size_t most_arguments = 16, most_characters = 32;

// An argument: in memory at `number`, or the value itself.
struct Place {
    bool is_value = false;
    uint64_t number = 0;
};

// The state in which expressions are evaluated.
struct State {
    uint64_t address, moved;
    const sonde_walked_function& function;
    const ReadProcess& read;
    Dwarf_Die* subprogram;
    bool is_before_body; // the function has not yet stored its arguments in its frame

    // A register by its DWARF number, if its value has survived the calls of other functions.
    std::optional<uint64_t> saved(uint64_t dwarf_number) const {
        const Architecture& architecture = host_architecture();
        const uint64_t number = architecture.register_of(dwarf_number);
        const RegisterFile& registers = architecture.registers();
        const UnwindTraits& traits = architecture.unwind_traits();
        const bool survives = number == static_cast<uint64_t>(registers.stack_pointer) ||
                              number == static_cast<uint64_t>(registers.frame_pointer) ||
                              std::ranges::find(traits.saved, number) != traits.saved.end() ||
                              std::ranges::find(traits.saved_beyond, number) != traits.saved_beyond.end();
        if (!survives)
            return std::nullopt;
        const uint64_t index = registers.offset(static_cast<int>(number)) / 8;
        return index < SONDE_REGISTERS && function.known >> index & 1 ? std::optional(function.registers[index])
                                                                      : std::nullopt;
    }
    std::optional<uint64_t> word_at(uint64_t at, size_t size) const {
        uint64_t value = 0;
        return size <= sizeof value && read(at, &value, size) ? std::optional(value) : std::nullopt;
    }
};

std::optional<Place> evaluate(const State& state, const Dwarf_Op* ops, size_t count, bool is_frame_base);

std::optional<Place> evaluate(const State& state, Dwarf_Die& die, unsigned name, bool is_frame_base) {
    Dwarf_Attribute attribute;
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (!dwarf_attr_integrate(&die, name, &attribute) ||
        dwarf_getlocation_addr(&attribute, state.address, &ops, &count, 1) != 1)
        return std::nullopt;
    return evaluate(state, ops, count, is_frame_base);
}

std::optional<Place> evaluate(const State& state, const Dwarf_Op* ops, size_t count, bool is_frame_base) {
    std::vector<uint64_t> words;
    const auto push = [&](std::optional<uint64_t> word, uint64_t more = 0) {
        if (word)
            words.push_back(*word + more);
        return word.has_value();
    };
    for (const Dwarf_Op& op : std::span(ops, count)) {
        const uint8_t atom = op.atom;
        bool good = true;
        if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
            const std::optional<uint64_t> value = state.saved(atom - DW_OP_reg0);
            // A register as the frame base stands for its value.
            return value && count == 1 ? std::optional(Place{!is_frame_base, *value}) : std::nullopt;
        }
        if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
            good = push(state.saved(atom - DW_OP_breg0), op.number);
        else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
            good = push(atom - DW_OP_lit0);
        else if (atom == DW_OP_bregx)
            good = push(state.saved(op.number), op.number2);
        else if (atom == DW_OP_addr)
            good = push(op.number + state.moved);
        else if (atom == DW_OP_call_frame_cfa)
            good = state.function.cfa && push(state.function.cfa);
        else if (atom == DW_OP_fbreg) {
            const std::optional<Place> base = is_frame_base || state.is_before_body
                                                  ? std::nullopt
                                                  : evaluate(state, *state.subprogram, DW_AT_frame_base, true);
            good = base && push(base->number, op.number);
        } else if (atom == DW_OP_plus_uconst && !words.empty())
            words.back() += op.number;
        else if (atom == DW_OP_deref && !words.empty()) {
            const std::optional<uint64_t> value = state.word_at(words.back(), 8);
            words.pop_back();
            good = push(value);
        } else if (atom == DW_OP_const1u || atom == DW_OP_const1s || atom == DW_OP_const2u || atom == DW_OP_const2s ||
                   atom == DW_OP_const4u || atom == DW_OP_const4s || atom == DW_OP_const8u || atom == DW_OP_const8s ||
                   atom == DW_OP_constu || atom == DW_OP_consts)
            good = push(op.number);
        else if ((atom == DW_OP_plus || atom == DW_OP_minus) && words.size() >= 2) {
            const uint64_t second = words.back();
            words.pop_back();
            words.back() = atom == DW_OP_plus ? words.back() + second : words.back() - second;
        } else if (atom == DW_OP_stack_value && !words.empty() && &op == ops + count - 1)
            return Place{true, words.back()};
        else
            return std::nullopt;
        if (!good)
            return std::nullopt;
    }
    return words.empty() ? std::nullopt : std::optional(Place{false, words.back()});
}

std::optional<Dwarf_Die> type_of(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type, peeled;
    if (!dwarf_attr_integrate(&die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &type) ||
        dwarf_peel_type(&type, &peeled) != 0)
        return std::nullopt;
    return peeled;
}

bool is_character(Dwarf_Die& type) {
    const uint64_t encoding = number_attribute(type, DW_AT_encoding).value_or(0);
    return dwarf_tag(&type) == DW_TAG_base_type && number_attribute(type, DW_AT_byte_size) == 1 &&
           (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char || encoding == DW_ATE_UTF);
}

// `"tea"`, cut after some characters.
std::string quoted_text(const State& state, uint64_t address) {
    std::string out = "\"";
    for (size_t i = 0; i < most_characters; i++) {
        char c = 0;
        if (!state.read(address + i, &c, 1))
            return i ? out + "\"..." : "";
        if (c == 0)
            return out + "\"";
        if (c == '"' || c == '\\')
            out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? fmt::format("\\{:03o}", static_cast<unsigned>(c))
                                                                 : std::string(1, c);
    }
    return out + "\"...";
}

std::string number_text(uint64_t value, uint64_t size, uint64_t encoding) {
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
    const auto as_signed = static_cast<int64_t>(value << unused) >> unused;
    const uint64_t as_unsigned = value << unused >> unused;
    switch (encoding) {
    case DW_ATE_boolean:
        return as_unsigned ? "true" : "false";
    case DW_ATE_float: {
        float single = 0;
        double full = 0;
        std::memcpy(&single, &value, sizeof single);
        std::memcpy(&full, &value, sizeof full);
        return size == sizeof single ? fmt::format("{}", single) : size == sizeof full ? fmt::format("{}", full) : "?";
    }
    case DW_ATE_signed_char:
    case DW_ATE_unsigned_char:
        return as_unsigned >= 0x20 && as_unsigned < 0x7f ? fmt::format("'{}'", static_cast<char>(as_unsigned))
                                                         : fmt::format("{}", as_signed);
    case DW_ATE_signed:
    case DW_ATE_signed_fixed:
        return fmt::format("{}", as_signed);
    default:
        return fmt::format("{}", as_unsigned);
    }
}

std::string enumerator(Dwarf_Die& type, uint64_t value, uint64_t size) {
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
    std::string out = fmt::format("{}", static_cast<int64_t>(value << unused) >> unused);
    for_each_child(type, [&](Dwarf_Die& child) {
        const std::optional<uint64_t> number = number_attribute(child, DW_AT_const_value);
        const char* name = dwarf_tag(&child) == DW_TAG_enumerator ? dwarf_diename(&child) : nullptr;
        if (name && number && (*number << unused) == value << unused)
            out = name;
        return true;
    });
    return out;
}

std::string value_text(const State& state, Dwarf_Die& parameter) {
    std::optional<Dwarf_Die> type = type_of(parameter);
    std::optional<Place> place = evaluate(state, parameter, DW_AT_location, false);
    if (const std::optional<uint64_t> constant = number_attribute(parameter, DW_AT_const_value); constant && !place)
        place = Place{true, *constant};
    if (!type || !place)
        return "?";
    const int tag = dwarf_tag(&*type);
    const bool is_pointer = tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
                            tag == DW_TAG_rvalue_reference_type || tag == DW_TAG_subroutine_type;
    if (!is_pointer && tag != DW_TAG_base_type && tag != DW_TAG_enumeration_type)
        return "{...}";
    const uint64_t size = number_attribute(*type, DW_AT_byte_size).value_or(is_pointer ? 8 : 0);
    const std::optional<uint64_t> value = size == 0 || size > 8 ? std::nullopt
                                          : place->is_value     ? std::optional(place->number)
                                                                : state.word_at(place->number, size);
    if (!value)
        return "?";
    if (tag == DW_TAG_enumeration_type)
        return enumerator(*type, *value, size);
    if (!is_pointer)
        return number_text(*value, size, number_attribute(*type, DW_AT_encoding).value_or(0));
    std::string out = fmt::format("{:#x}", *value);
    if (std::optional<Dwarf_Die> to = type_of(*type); to && *value && is_character(*to))
        if (const std::string text = quoted_text(state, *value); !text.empty())
            out += " " + text;
    return out;
}

} // namespace

struct ArgumentFinder::Debug : FunctionScopes {};

ArgumentFinder::ArgumentFinder(const ElfFile& file, std::vector<std::string>& problems)
    : debug_(std::make_unique<Debug>()) {
    // The registers of a 32-bit program have other numbers.
    if (file.is_32_bit() || !debug_->open(file, problems))
        debug_.reset();
}
ArgumentFinder::~ArgumentFinder() = default;
ArgumentFinder::ArgumentFinder(ArgumentFinder&&) noexcept = default;

namespace {

// "count=3" for each parameter. A copy of a function, such as an inlined one, need not have all parameters, nor in
// order. The function that it was copied from has.
std::vector<std::string> arguments_of(const State& state, Dwarf_Die& function) {
    std::unordered_map<Dwarf_Off, Dwarf_Die> copies; // by the offset of the original parameter
    Dwarf_Attribute attribute;
    Dwarf_Die original = function;
    const bool is_copy =
        dwarf_attr(&function, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, &original);
    if (is_copy)
        for_each_child_of_function(function, [&](Dwarf_Die& child) {
            Dwarf_Die from;
            if (dwarf_attr(&child, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, &from))
                copies.emplace(dwarf_dieoffset(&from), child);
            return true;
        });
    std::vector<std::string> out;
    for_each_child_of_function(original, [&](Dwarf_Die& child) {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_unspecified_parameters)
            out.emplace_back("...");
        // Go marks results as parameters, too.
        if (tag != DW_TAG_formal_parameter || flag_attribute(child, DW_AT_variable_parameter))
            return true;
        const auto copy = copies.find(dwarf_dieoffset(&child));
        Dwarf_Die& parameter = copy == copies.end() ? child : copy->second;
        const char* name = string_attribute(child, DW_AT_name);
        out.push_back((name ? fmt::format("{}=", name) : "") + value_text(state, parameter));
        return out.size() < most_arguments;
    });
    return out;
}

bool is_before_body(Dwarf_Die& function, uint64_t address) {
    Dwarf_Addr* places = nullptr;
    const int count = dwarf_entry_breakpoints(&function, &places);
    const bool before = count > 0 && address < places[0];
    std::free(places);
    return before;
}

} // namespace

std::vector<std::string> ArgumentFinder::find(uint64_t address, uint64_t moved, bool is_innermost,
                                              const sonde_walked_function& function, const ReadProcess& read) {
    const std::optional<Dwarf_Die> unit = debug_ ? debug_->unit_at(address) : std::nullopt;
    if (!unit)
        return {};
    std::vector<std::string> out;
    std::vector<Dwarf_Die> functions = debug_->functions_at(*unit, address);
    const bool before_body = is_innermost && !functions.empty() && is_before_body(functions[0], address);
    for (Dwarf_Die& die : functions) {
        const State state{address, moved, function, read, functions.data(), before_body};
        out.push_back(fmt::format("({})", fmt::join(arguments_of(state, die), ", ")));
    }
    std::ranges::reverse(out);
    return out;
}

} // namespace sonde
