// A location is a program for a stack machine (machine/location.h). Readers know expressions, so formula() runs the
// program on texts instead of numbers: "rsp 24 +" becomes "(rsp + 24)". Operations that only move values on the stack
// have no form as an expression; then the text says "at a computed address".
#include "frontend/probes/why_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace sonde {
namespace {

std::string register_text(int64_t number, const RegisterFile& registers) {
    const std::string_view name = registers.name(number);
    return name.empty() ? fmt::format("register {}", number) : std::string(name);
}

const char* operator_text(LocationOp::Code code) {
    switch (code) {
    case LocationOp::Add:
        return "+";
    case LocationOp::Sub:
        return "-";
    case LocationOp::Mul:
        return "*";
    case LocationOp::Div:
        return "/";
    case LocationOp::Mod:
        return "%";
    case LocationOp::And:
        return "&";
    case LocationOp::Or:
        return "|";
    case LocationOp::Xor:
        return "^";
    case LocationOp::Shl:
        return "<<";
    case LocationOp::Shr:
        return ">>>";
    case LocationOp::Sar:
        return ">>";
    case LocationOp::Eq:
        return "==";
    case LocationOp::Ne:
        return "!=";
    case LocationOp::Lt:
        return "<";
    case LocationOp::Le:
        return "<=";
    case LocationOp::Gt:
        return ">";
    case LocationOp::Ge:
        return ">=";
    default:
        return nullptr;
    }
}

std::string join_operands(const std::string& left, LocationOp::Code code, const std::string& right) {
    if (code == LocationOp::Add && right.starts_with("-"))
        return fmt::format("({} - {})", left, right.substr(1));
    return fmt::format("({} {} {})", left, operator_text(code), right);
}

// Returns the operations as an expression, or "" if they cannot be written as one.
std::string formula(const std::vector<LocationOp>& ops, const RegisterFile& registers) {
    std::vector<std::string> stack;
    for (const LocationOp& op : ops) {
        if (op.code == LocationOp::Register) {
            stack.push_back(register_text(op.operand, registers));
        } else if (op.code == LocationOp::Constant) {
            stack.push_back(fmt::to_string(op.operand));
        } else if (op.code == LocationOp::ThreadBase) {
            stack.push_back("fs");
        } else if (op.code == LocationOp::Deref && !stack.empty()) {
            stack.back() = fmt::format("*{}", stack.back());
        } else if (op.code == LocationOp::Neg && !stack.empty()) {
            stack.back() = fmt::format("-{}", stack.back());
        } else if (op.code == LocationOp::Not && !stack.empty()) {
            stack.back() = fmt::format("~{}", stack.back());
        } else if (operator_text(op.code) && stack.size() >= 2) {
            std::string joined = join_operands(stack[stack.size() - 2], op.code, stack.back());
            stack.pop_back();
            stack.back() = std::move(joined);
        } else {
            return "";
        }
        constexpr size_t too_long = 200;
        if (stack.back().size() > too_long)
            return "";
    }
    if (stack.size() != 1)
        return "";
    const std::string& text = stack[0];
    return text.starts_with("(") ? text.substr(1, text.size() - 2) : text;
}

bool is_on_stack(const std::vector<LocationOp>& ops, const RegisterFile& registers) {
    bool simple =
        ops.size() == 1 || (ops.size() == 3 && ops[1].code == LocationOp::Constant && ops[2].code == LocationOp::Add);
    return simple && ops[0].code == LocationOp::Register &&
           (ops[0].operand == registers.stack_pointer || ops[0].operand == registers.frame_pointer);
}

std::string memory_text(const std::vector<LocationOp>& ops, const RegisterFile& registers) {
    std::string at = formula(ops, registers);
    if (is_on_stack(ops, registers))
        return fmt::format("in memory, on the stack ({})", at);
    if (ops.size() == 1 && ops[0].code == LocationOp::Constant)
        return fmt::format("in memory, at the fixed address {:#x}", static_cast<uint64_t>(ops[0].operand));
    return at.empty() ? "in memory, at a computed address" : fmt::format("in memory, at {}", at);
}

std::string pieces_text(const Location& location, const RegisterFile& registers) {
    std::string out = "in pieces: ";
    uint64_t offset = 0;
    for (const Location::Piece& piece : location.pieces) {
        if (piece.byte_size == 0)
            continue;
        if (offset != 0)
            out += "; ";
        out += piece.byte_size == 1 ? fmt::format("byte {} {}", offset, location_text(piece.place, registers))
                                    : fmt::format("bytes {} to {} {}", offset, offset + piece.byte_size - 1,
                                                  location_text(piece.place, registers));
        offset += piece.byte_size;
    }
    return out;
}

} // namespace

bool is_there(const Location& location) { return location.kind != Location::Unavailable; }

std::string location_text(const Location& location, const RegisterFile& registers) {
    switch (location.kind) {
    case Location::Unavailable: {
        // The part after the semicolon names other places, which are in the table anyway.
        std::string why = location.why.substr(0, location.why.find(';'));
        if (why.empty() || why.starts_with("was optimized out"))
            return "nowhere: optimized out";
        return fmt::format("not readable: it {}", why);
    }
    case Location::Memory:
        return memory_text(location.ops, registers);
    case Location::Register:
        return fmt::format("in the register {}", register_text(location.reg, registers));
    case Location::Value: {
        if (location.ops.size() == 1 && location.ops[0].code == LocationOp::Constant)
            return fmt::format("a constant, {}", location.ops[0].operand);
        std::string value = formula(location.ops, registers);
        return value.empty() ? "not kept, but can be computed" : fmt::format("not kept, but known: {}", value);
    }
    case Location::Bytes:
        return fmt::format("a constant of {} bytes", location.bytes.size());
    case Location::Pieces:
        return pieces_text(location, registers);
    }
    return "";
}

} // namespace sonde
