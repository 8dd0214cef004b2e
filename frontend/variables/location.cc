// Debug information describes where a variable is by a small program for a stack machine (DWARF 5, 2.5). It is executed
// symbolically here: the values on its stack are HIR expressions. The result is an expression that the handler
// evaluates at each hit.
//
// Example: the variable at `DW_OP_breg6 -16, DW_OP_deref` is where a pointer on the function's stack points to:
//     operation         stack after it
//     Register 6        rbp
//     Constant -16      rbp, -16
//     Add               rbp - 16
//     Deref 8           *(rbp - 16)
//
// The machine computes with unsigned numbers in some operations, and the script's language has signed ones only.
// below() and unsigned_mod() express unsigned operations by signed ones.
#include "frontend/variables/location.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "frontend/variables/layout.h"

namespace sonde {

using hir::BinaryOp;

namespace {

// The number of stack elements that an operation uses.
size_t operands_of(LocationOp::Code code) {
    switch (code) {
    case LocationOp::Register:
    case LocationOp::Constant:
    case LocationOp::ThreadBase:
        return 0;
    case LocationOp::Deref:
    case LocationOp::Neg:
    case LocationOp::Not:
    case LocationOp::Abs:
    case LocationOp::Dup:
    case LocationOp::Drop:
        return 1;
    case LocationOp::Rot:
    case LocationOp::Choose:
        return 3;
    default:
        return 2;
    }
}

// The HIR operator for an operation, if it has one.
std::optional<BinaryOp> binary_op(LocationOp::Code code) {
    switch (code) {
    case LocationOp::Sub:
        return BinaryOp::Sub;
    case LocationOp::Mul:
        return BinaryOp::Mul;
    case LocationOp::Div:
        return BinaryOp::Div;
    case LocationOp::And:
        return BinaryOp::And;
    case LocationOp::Or:
        return BinaryOp::Or;
    case LocationOp::Xor:
        return BinaryOp::Xor;
    case LocationOp::Shl:
        return BinaryOp::Shl;
    case LocationOp::Shr:
        return BinaryOp::ShrLogical;
    case LocationOp::Sar:
        return BinaryOp::Shr;
    case LocationOp::Eq:
        return BinaryOp::Eq;
    case LocationOp::Ne:
        return BinaryOp::Ne;
    case LocationOp::Lt:
        return BinaryOp::Lt;
    case LocationOp::Le:
        return BinaryOp::Le;
    case LocationOp::Gt:
        return BinaryOp::Gt;
    case LocationOp::Ge:
        return BinaryOp::Ge;
    default:
        return std::nullopt;
    }
}

// Unsigned left < right.
hir::Expr* below(Binding& b, hir::Expr* left, hir::Expr* right) {
    return b.binary(BinaryOp::Lt, b.binary(BinaryOp::Xor, left, b.number(INT64_MIN)),
                    b.binary(BinaryOp::Xor, right, b.number(INT64_MIN)));
}

hir::Expr* unsigned_mod(Binding& b, hir::Expr* dividend, hir::Expr* divisor) {
    // If the highest bit of the divisor is set, at most one subtraction remains. Otherwise, half of the dividend is
    // divided as a signed number. The quotient is then at most 1 too small.
    hir::Expr* half = b.binary(BinaryOp::Div, b.binary(BinaryOp::ShrLogical, dividend, b.number(1)), divisor);
    hir::Expr* rest =
        b.binary(BinaryOp::Sub, dividend, b.binary(BinaryOp::Mul, b.binary(BinaryOp::Shl, half, b.number(1)), divisor));
    auto reduced = [&](hir::Expr* value) {
        return b.ternary(below(b, value, divisor), value, b.binary(BinaryOp::Sub, value, divisor));
    };
    return b.ternary(b.binary(BinaryOp::Lt, divisor, b.number(0)), reduced(dividend), reduced(rest));
}

// Applies one operation to a stack with enough operands. Returns false if the operation is invalid.
bool apply(Binding& b, const LocationOp& op, std::vector<hir::Expr*>& stack) {
    auto pop = [&] {
        hir::Expr* top = stack.back();
        stack.pop_back();
        return top;
    };
    if (std::optional<BinaryOp> code = binary_op(op.code)) {
        hir::Expr* right = pop();
        stack.back() = b.binary(*code, stack.back(), right);
        return true;
    }
    switch (op.code) {
    case LocationOp::Register:
        stack.push_back(b.make<hir::Register>(b.expr.range, static_cast<int>(op.operand)));
        break;
    case LocationOp::ThreadBase:
        stack.push_back(b.make<hir::Register>(b.expr.range, hir::Register::thread_pointer));
        break;
    case LocationOp::Constant:
        stack.push_back(b.number(op.operand));
        break;
    case LocationOp::Deref: {
        auto* load = b.make<hir::Load>(b.expr.range, stack.back(), static_cast<uint32_t>(op.operand), false);
        load->user = !b.point.kernel;
        stack.back() = load;
        break;
    }
    case LocationOp::Add: {
        hir::Expr* right = pop();
        stack.back() = right->kind == hir::ExprKind::ConstLong
                           ? b.plus(stack.back(), hir::as<hir::ConstLong>(*right).value)
                           : b.binary(BinaryOp::Add, stack.back(), right);
        break;
    }
    case LocationOp::Mod: {
        hir::Expr* right = pop();
        stack.back() = unsigned_mod(b, stack.back(), right);
        break;
    }
    case LocationOp::Neg:
        stack.back() = b.make<hir::Unary>(b.expr.range, hir::UnaryOp::Minus, stack.back());
        break;
    case LocationOp::Not:
        stack.back() = b.make<hir::Unary>(b.expr.range, hir::UnaryOp::BitNot, stack.back());
        break;
    case LocationOp::Abs:
        stack.back() = b.ternary(b.binary(BinaryOp::Lt, stack.back(), b.number(0)),
                                 b.make<hir::Unary>(b.expr.range, hir::UnaryOp::Minus, stack.back()), stack.back());
        break;
    case LocationOp::Dup:
        stack.push_back(stack.back());
        break;
    case LocationOp::Drop:
        stack.pop_back();
        break;
    case LocationOp::Swap:
        std::swap(stack[stack.size() - 1], stack[stack.size() - 2]);
        break;
    case LocationOp::Over:
        stack.push_back(stack[stack.size() - 2]);
        break;
    case LocationOp::Rot: // the top element becomes the third
        std::rotate(stack.end() - 3, stack.end() - 1, stack.end());
        break;
    case LocationOp::Choose: {
        hir::Expr* otherwise = pop();
        hir::Expr* chosen = pop();
        stack.back() = b.ternary(stack.back(), chosen, otherwise);
        break;
    }
    case LocationOp::Pick:
        if (op.operand < 0 || static_cast<size_t>(op.operand) >= stack.size())
            return false;
        stack.push_back(stack[stack.size() - 1 - static_cast<size_t>(op.operand)]);
        break;
    default: // handled by binary_op()
        break;
    }
    return true;
}

} // namespace

hir::Expr* evaluate(Binding& b, const std::vector<LocationOp>& ops) {
    std::vector<hir::Expr*> stack;
    for (const LocationOp& op : ops)
        if (stack.size() < operands_of(op.code) || !apply(b, op, stack))
            return nullptr;
    return stack.empty() ? nullptr : stack.back();
}
namespace {

// Adds the parts of a value that has `size` bytes at `offset` of the whole value. For a structure of 12 bytes whose
// first 8 are in rdi and whose last 4 were optimized out (DW_OP_reg5, DW_OP_piece 8, DW_OP_piece 4), this adds a part
// with the register and a missing part. Expressions have 64 bits, so one part with a value has at most 8 bytes.
void add_parts(Binding& b, const Location& location, uint64_t offset, uint64_t size, std::vector<PlacePart>& parts) {
    PlacePart part{offset, size, PlacePart::Missing, nullptr, location.why};
    const int readable = b.point.architecture().registers().count(); // floating-point registers follow
    switch (location.kind) {
    case Location::Unavailable:
        break;
    case Location::Memory:
        part.expr = evaluate(b, location.ops);
        part.kind = PlacePart::Memory;
        break;
    case Location::Register:
        if (location.reg < 0 || location.reg >= readable) {
            part.why = "is in a register that a probe cannot read";
            break;
        }
        part.expr = b.make<hir::Register>(b.expr.range, location.reg);
        part.kind = PlacePart::Value;
        part.size = std::min<uint64_t>(size, 8);
        break;
    case Location::Value:
        part.expr = evaluate(b, location.ops);
        part.kind = PlacePart::Value;
        part.size = std::min<uint64_t>(size, 8);
        break;
    case Location::Bytes:
        for (size_t begin = 0; begin < location.bytes.size(); begin += 8) {
            uint64_t value = 0;
            size_t count = std::min<size_t>(8, location.bytes.size() - begin);
            for (size_t i = 0; i < count; i++)
                value |= static_cast<uint64_t>(location.bytes[begin + i]) << (8 * i);
            parts.push_back({offset + begin, count, PlacePart::Value, b.number(static_cast<int64_t>(value)), ""});
        }
        return;
    case Location::Pieces:
        for (const Location::Piece& piece : location.pieces) {
            add_parts(b, piece.place, offset, piece.byte_size, parts);
            offset += piece.byte_size;
        }
        return;
    }
    if (part.kind != PlacePart::Missing && !part.expr) {
        part.kind = PlacePart::Missing;
        part.why = "has a location that cannot be computed";
    }
    parts.push_back(std::move(part));
}

} // namespace

std::string unavailable_text(const std::string& name, const std::string& why) {
    return fmt::format("`{}` is not available here: it {}", name, why);
}

namespace {

// The number of bytes whose place the location describes; 0 if it does not say.
uint64_t described_bytes(const Location& location) {
    uint64_t bytes = location.bytes.size();
    for (const Location::Piece& piece : location.pieces)
        bytes += piece.byte_size;
    return bytes;
}

// See place_at(). `size`: of the whole value, in bytes.
std::optional<Place> place_of(Binding& b, const Location& location, const Type* type, uint64_t size, std::string& why) {
    if (location.kind == Location::Unavailable) {
        why = location.why;
        return std::nullopt;
    }
    Place place;
    place.type = type;
    place.kernel = b.point.kernel != nullptr;
    add_parts(b, location, 0, size, place.parts);
    if (place.parts.size() == 1 && place.parts[0].kind == PlacePart::Memory && location.kind == Location::Memory) {
        place.address = place.parts[0].expr;
        place.parts.clear();
    }
    if (std::none_of(place.parts.begin(), place.parts.end(),
                     [](const PlacePart& part) { return part.kind != PlacePart::Missing; }) &&
        !place.address) {
        why = place.parts.empty() ? "has no location" : place.parts[0].why;
        return std::nullopt;
    }
    return place;
}

} // namespace

std::optional<Place> place_at(Binding& b, const Location& location, const Type* type, std::string& why) {
    return place_of(b, location, type, std::max<uint64_t>(size_of(type), 8), why);
}

std::optional<Place> implicit_pointer(Binding& b, const Location& location, const Type* type) {
    const Type* pointer = strip(type);
    if (!location.pointee || !pointer || (pointer->kind != Type::Pointer && pointer->kind != Type::Reference))
        return std::nullopt;
    std::string why;
    // The object can be an array, and the pointer's type does not say how many elements it has.
    const uint64_t size = std::max(size_of(pointer->target), described_bytes(*location.pointee));
    std::optional<Place> object = place_of(b, *location.pointee, pointer->target, size, why);
    if (!object)
        object = implicit_pointer(b, *location.pointee, pointer->target);
    const int64_t offset = location.pointee_offset;
    if (!object || (!object->address && offset < 0))
        return std::nullopt;
    if (object->address)
        object->address = b.plus(object->address, offset);
    else
        object->offset += static_cast<uint64_t>(offset);
    Place out;
    out.type = type;
    out.parts.push_back({0, size_of(type), PlacePart::Missing, nullptr, location.why});
    out.pointee = std::make_shared<const Place>(*std::move(object));
    return out;
}

} // namespace sonde
