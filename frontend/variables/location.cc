// Locations to HIR: the stack machine is run symbolically, and values are read from memory, registers and pieces.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/variables/binding.h"

namespace sonde {

using hir::BinaryOp;

hir::Expr* TargetBinder::number(int64_t value) { return make<hir::ConstLong>(expr_.range, value); }

hir::Expr* TargetBinder::binary(BinaryOp op, hir::Expr* left, hir::Expr* right) {
    return make<hir::Binary>(expr_.range, op, left, right);
}

hir::Expr* TargetBinder::plus(hir::Expr* expr, int64_t offset) {
    auto sum = [](int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    };
    if (expr->kind == hir::ExprKind::ConstLong)
        return number(sum(hir::as<hir::ConstLong>(*expr).value, offset));
    if (expr->kind == hir::ExprKind::Binary) {
        const auto& inner = hir::as<hir::Binary>(*expr);
        if (inner.op == BinaryOp::Add && inner.right->kind == hir::ExprKind::ConstLong)
            return plus(inner.left, sum(hir::as<hir::ConstLong>(*inner.right).value, offset));
    }
    return offset == 0 ? expr : binary(BinaryOp::Add, expr, number(offset));
}

hir::Expr* TargetBinder::saved(hir::Expr* expr, bool at_entry) {
    if (!at_entry || !expr || expr->kind == hir::ExprKind::ConstLong)
        return expr;
    return binder_.at_entry(expr);
}

// Null if the operations are not well formed, which only a broken location can be.
hir::Expr* TargetBinder::evaluate(const std::vector<LocationOp>& ops) {
    std::vector<hir::Expr*> stack;
    auto pop = [&] {
        hir::Expr* top = stack.back();
        stack.pop_back();
        return top;
    };
    auto needs = [](LocationOp::Code code) -> size_t {
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
            return 3;
        default:
            return 2;
        }
    };
    // a < b without signs
    auto below = [&](hir::Expr* a, hir::Expr* b) {
        return binary(BinaryOp::Lt, binary(BinaryOp::Xor, a, number(INT64_MIN)),
                      binary(BinaryOp::Xor, b, number(INT64_MIN)));
    };
    auto unsigned_mod = [&](hir::Expr* a, hir::Expr* b) -> hir::Expr* {
        // For a divisor with the highest bit set, at most one subtraction is left to do. For others, half the dividend
        // is divided as a signed number; the quotient is then at most one too small.
        hir::Expr* half = binary(BinaryOp::Div, binary(BinaryOp::ShrLogical, a, number(1)), b);
        hir::Expr* rest = binary(BinaryOp::Sub, a, binary(BinaryOp::Mul, binary(BinaryOp::Shl, half, number(1)), b));
        auto reduced = [&](hir::Expr* x) {
            return make<hir::Ternary>(expr_.range, below(x, b), x, binary(BinaryOp::Sub, x, b));
        };
        return make<hir::Ternary>(expr_.range, binary(BinaryOp::Lt, b, number(0)), reduced(a), reduced(rest));
    };
    for (const LocationOp& op : ops) {
        if (stack.size() < needs(op.code))
            return nullptr;
        auto two = [&](BinaryOp code) {
            hir::Expr* right = pop();
            hir::Expr* left = pop();
            stack.push_back(binary(code, left, right));
        };
        switch (op.code) {
        case LocationOp::Register:
            stack.push_back(make<hir::Register>(expr_.range, static_cast<int>(op.operand)));
            break;
        case LocationOp::ThreadBase:
            stack.push_back(make<hir::Register>(expr_.range, hir::Register::thread_pointer));
            break;
        case LocationOp::Constant:
            stack.push_back(number(op.operand));
            break;
        case LocationOp::Deref: {
            auto* load = make<hir::Load>(expr_.range, stack.back(), static_cast<uint32_t>(op.operand), false);
            load->user = !point_.kernel;
            stack.back() = load;
            break;
        }
        case LocationOp::Add: {
            hir::Expr* right = pop();
            if (right->kind == hir::ExprKind::ConstLong)
                stack.back() = plus(stack.back(), hir::as<hir::ConstLong>(*right).value);
            else
                stack.back() = binary(BinaryOp::Add, stack.back(), right);
            break;
        }
        case LocationOp::Sub:
            two(BinaryOp::Sub);
            break;
        case LocationOp::Mul:
            two(BinaryOp::Mul);
            break;
        case LocationOp::Div:
            two(BinaryOp::Div);
            break;
        case LocationOp::Mod: {
            hir::Expr* right = pop();
            stack.back() = unsigned_mod(stack.back(), right);
            break;
        }
        case LocationOp::And:
            two(BinaryOp::And);
            break;
        case LocationOp::Or:
            two(BinaryOp::Or);
            break;
        case LocationOp::Xor:
            two(BinaryOp::Xor);
            break;
        case LocationOp::Shl:
            two(BinaryOp::Shl);
            break;
        case LocationOp::Shr:
            two(BinaryOp::ShrLogical);
            break;
        case LocationOp::Sar:
            two(BinaryOp::Shr);
            break;
        case LocationOp::Neg:
            stack.back() = make<hir::Unary>(expr_.range, hir::UnaryOp::Minus, stack.back());
            break;
        case LocationOp::Not:
            stack.back() = make<hir::Unary>(expr_.range, hir::UnaryOp::BitNot, stack.back());
            break;
        case LocationOp::Abs:
            stack.back() =
                make<hir::Ternary>(expr_.range, binary(BinaryOp::Lt, stack.back(), number(0)),
                                   make<hir::Unary>(expr_.range, hir::UnaryOp::Minus, stack.back()), stack.back());
            break;
        case LocationOp::Eq:
            two(BinaryOp::Eq);
            break;
        case LocationOp::Ne:
            two(BinaryOp::Ne);
            break;
        case LocationOp::Lt:
            two(BinaryOp::Lt);
            break;
        case LocationOp::Le:
            two(BinaryOp::Le);
            break;
        case LocationOp::Gt:
            two(BinaryOp::Gt);
            break;
        case LocationOp::Ge:
            two(BinaryOp::Ge);
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
        case LocationOp::Rot: // the top becomes the third
            std::rotate(stack.end() - 3, stack.end() - 1, stack.end());
            break;
        case LocationOp::Pick:
            if (op.operand < 0 || static_cast<size_t>(op.operand) >= stack.size())
                return nullptr;
            stack.push_back(stack[stack.size() - 1 - static_cast<size_t>(op.operand)]);
            break;
        }
    }
    return stack.empty() ? nullptr : stack.back();
}

void TargetBinder::add_parts(const Location& location, uint64_t offset, uint64_t size, std::vector<PlacePart>& parts) {
    PlacePart part{offset, size, PlacePart::Missing, nullptr, location.why};
    constexpr int last_readable = 16; // rip; floating point registers come behind
    switch (location.kind) {
    case Location::Unavailable:
        break;
    case Location::Memory:
        part.expr = evaluate(location.ops);
        part.kind = PlacePart::Memory;
        break;
    case Location::Register:
        if (location.reg < 0 || location.reg > last_readable) {
            part.why = "in a register that a probe cannot read";
            break;
        }
        part.expr = make<hir::Register>(expr_.range, location.reg);
        part.kind = PlacePart::Value;
        part.size = std::min<uint64_t>(size, 8);
        break;
    case Location::Value:
        part.expr = evaluate(location.ops);
        part.kind = PlacePart::Value;
        part.size = std::min<uint64_t>(size, 8);
        break;
    case Location::Bytes:
        for (size_t begin = 0; begin < location.bytes.size(); begin += 8) {
            uint64_t value = 0;
            size_t count = std::min<size_t>(8, location.bytes.size() - begin);
            for (size_t i = 0; i < count; i++)
                value |= static_cast<uint64_t>(location.bytes[begin + i]) << (8 * i);
            parts.push_back({offset + begin, count, PlacePart::Value, number(static_cast<int64_t>(value)), ""});
        }
        return;
    case Location::Pieces:
        for (const Location::Piece& piece : location.pieces) {
            add_parts(piece.place, offset, piece.byte_size, parts);
            offset += piece.byte_size;
        }
        return;
    }
    if (part.kind != PlacePart::Missing && !part.expr) {
        part.kind = PlacePart::Missing;
        part.why = "its location cannot be computed";
    }
    parts.push_back(std::move(part));
}

std::optional<Place> TargetBinder::place_at(const Location& location, const Type* type, std::string& why) {
    if (location.kind == Location::Unavailable) {
        why = location.why;
        return std::nullopt;
    }
    Place place;
    place.type = type;
    place.kernel = point_.kernel != nullptr;
    add_parts(location, 0, std::max<uint64_t>(size_of(type), 8), place.parts);
    if (place.parts.size() == 1 && place.parts[0].kind == PlacePart::Memory && location.kind == Location::Memory) {
        place.address = place.parts[0].expr;
        place.parts.clear();
    }
    if (std::none_of(place.parts.begin(), place.parts.end(),
                     [](const PlacePart& part) { return part.kind != PlacePart::Missing; }) &&
        !place.address) {
        why = place.parts.empty() ? "it has no location" : place.parts[0].why;
        return std::nullopt;
    }
    return place;
}

std::vector<PlacePart>::const_iterator TargetBinder::part_at(const Place& place, uint64_t offset) const {
    return std::find_if(place.parts.begin(), place.parts.end(), [&](const PlacePart& part) {
        return offset >= part.offset && offset - part.offset < part.size;
    });
}

// `size` bytes of a value that is not in memory, zero-extended.
hir::Expr* TargetBinder::read_parts(const Place& place, uint64_t size, Range range) {
    hir::Expr* whole = nullptr;
    for (uint64_t done = 0; done < size;) {
        uint64_t at = place.offset + done;
        auto part = part_at(place, at);
        if (part == place.parts.end() || part->kind == PlacePart::Missing)
            return fail(DiagId::VariableUnavailable, range,
                        fmt::format("`{}` is not available here: {}", text(),
                                    part == place.parts.end() ? "it has no location" : part->why));
        uint64_t inside = at - part->offset;
        uint64_t count = std::min(size - done, part->size - inside);
        hir::Expr* some = part->expr;
        if (part->kind == PlacePart::Memory) {
            while ((count & (count - 1)) != 0) // a load takes 1, 2, 4 or 8 bytes
                count &= count - 1;
            some = read(place, range, plus(some, static_cast<int64_t>(inside)), count, false);
        } else {
            if (inside != 0)
                some = binary(BinaryOp::ShrLogical, some, number(static_cast<int64_t>(inside * 8)));
            if (count < 8)
                some = binary(BinaryOp::And, some, number((int64_t{1} << (count * 8)) - 1));
        }
        if (done != 0)
            some = binary(BinaryOp::Shl, some, number(static_cast<int64_t>(done * 8)));
        whole = whole ? binary(BinaryOp::Or, whole, some) : some;
        done += count;
    }
    return whole;
}

hir::Load* TargetBinder::read(const Place& place, Range range, hir::Expr* address, uint64_t size, bool is_signed) {
    auto* load = make<hir::Load>(range, address, static_cast<uint32_t>(size), is_signed);
    load->user = !place.kernel;
    return load;
}

hir::Expr* TargetBinder::load(const Place& place, Range range) {
    const Type* type = strip(place.type);
    uint64_t size = size_of(type);
    bool is_signed =
        type->is_signed && (type->kind == Type::Integer || type->kind == Type::Character || type->kind == Type::Enum);
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return fail(DiagId::Unsupported, range,
                    fmt::format("`{}` has the type `{}` of {} bytes, which does not fit a number", text(),
                                type_name(place.type), size));
    if (place.address) {
        hir::Load* value = read(place, range, place.address, size, is_signed);
        value->bit_offset = place.bit_size ? place.bit_offset : 0;
        value->bit_size = place.bit_size;
        return saved(value, place.at_entry);
    }
    hir::Expr* value = nullptr;
    auto part = part_at(place, place.offset);
    bool plain = part != place.parts.end() && part->kind == PlacePart::Value && part->offset == place.offset &&
                 part->size >= size;
    if (plain) {
        value = part->expr;
    } else {
        // A bitfield's unit may reach behind the end of what there is.
        uint64_t wanted = place.bit_size ? (place.bit_offset + place.bit_size + 7) / 8 : size;
        value = read_parts(place, wanted, range);
    }
    if (!value)
        return nullptr;
    if (value->kind == hir::ExprKind::ConstLong && !place.bit_size) {
        auto bits = static_cast<uint64_t>(hir::as<hir::ConstLong>(*value).value);
        uint64_t unused = 64 - size * 8;
        bits <<= unused;
        return number(is_signed ? static_cast<int64_t>(bits) >> unused : static_cast<int64_t>(bits >> unused));
    }
    if (place.bit_size) {
        int64_t up = 64 - static_cast<int64_t>(place.bit_offset) - static_cast<int64_t>(place.bit_size);
        value = binary(BinaryOp::Shl, value, number(up));
        value = binary(is_signed ? BinaryOp::Shr : BinaryOp::ShrLogical, value, number(64 - int64_t{place.bit_size}));
    } else {
        value = make<hir::Retype>(range, value, static_cast<uint32_t>(size), is_signed);
    }
    return saved(value, place.at_entry);
}

} // namespace sonde
