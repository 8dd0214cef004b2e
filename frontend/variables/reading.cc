// A value is read in one of two ways. If the place has an address, one load reads it. Otherwise the value is put
// together from parts: registers, constants, and pieces of memory, each shifted to its position.
//
// Example: a struct { int a, b; } that the compiler keeps in rdi has one part of 8 bytes. `$s->b` is rdi >> 32, and
// then the lower 4 bytes with their sign. If the parts are eax and edx, a 64-bit number is eax | edx << 32.
//
// The width and the sign always come from the variable's type, never from the register. The upper half of a register
// that holds an `int` is undefined by the ABI, so a value without a Retype can be wrong.
#include "frontend/variables/reading.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/variables/components.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/location.h"

namespace sonde {

using hir::BinaryOp;

hir::Load* read(Binding& b, const Place& place, Range range, hir::Expr* address, uint64_t size, bool is_signed) {
    auto* load = b.make<hir::Load>(range, address, static_cast<uint32_t>(size), is_signed);
    load->user = !place.kernel;
    return load;
}

namespace {

// `size` bytes of a value that is not in memory, zero-extended.
hir::Expr* read_parts(Binding& b, const Place& place, uint64_t size, Range range) {
    hir::Expr* whole = nullptr;
    for (uint64_t done = 0; done < size;) {
        uint64_t at = place.offset + done;
        const PlacePart* part = part_at(place, at);
        if (!part || part->kind == PlacePart::Missing)
            return b.fail(DiagId::VariableUnavailable, range,
                          unavailable_text(b.as_written(), part ? part->why : "has no location"));
        uint64_t inside = at - part->offset;
        uint64_t count = std::min(size - done, part->size - inside);
        hir::Expr* some = part->expr;
        if (part->kind == PlacePart::Memory) {
            while ((count & (count - 1)) != 0) // a load has 1, 2, 4 or 8 bytes
                count &= count - 1;
            some = read(b, place, range, b.plus(some, static_cast<int64_t>(inside)), count, false);
        } else {
            if (inside != 0)
                some = b.binary(BinaryOp::ShrLogical, some, b.number(static_cast<int64_t>(inside * 8)));
            if (count < 8)
                some = b.binary(BinaryOp::And, some, b.number((int64_t{1} << (count * 8)) - 1));
        }
        if (done != 0)
            some = b.binary(BinaryOp::Shl, some, b.number(static_cast<int64_t>(done * 8)));
        whole = whole ? b.binary(BinaryOp::Or, whole, some) : some;
        done += count;
    }
    return whole;
}

// A scalar, with its bytes as in memory.
hir::Expr* load_bytes(Binding& b, const Place& place, Range range, bool is_swapped) {
    const Type* type = strip(place.type);
    uint64_t size = size_of(type);
    bool is_signed = !is_swapped && type->is_signed &&
                     (type->kind == Type::Integer || type->kind == Type::Character || type->kind == Type::Enum);
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return b.fail(DiagId::Unsupported, range,
                      fmt::format("`{}` has the type `{}` of {} bytes, which does not fit a number", b.as_written(),
                                  type_name(place.type), size));
    if (place.address) {
        hir::Load* value = read(b, place, range, place.address, size, is_signed);
        value->bit_offset = place.bit_size ? place.bit_offset : 0;
        value->bit_size = place.bit_size;
        return b.saved(value, place.at_entry);
    }
    hir::Expr* value = nullptr;
    const PlacePart* part = part_at(place, place.offset);
    bool plain = part && part->kind == PlacePart::Value && part->offset == place.offset && part->size >= size;
    if (plain) {
        value = part->expr;
    } else {
        // A bitfield's unit may extend beyond the object.
        uint64_t wanted = place.bit_size ? (place.bit_offset + place.bit_size + 7) / 8 : size;
        value = read_parts(b, place, wanted, range);
    }
    if (!value)
        return nullptr;
    if (value->kind == hir::ExprKind::ConstLong && !place.bit_size) {
        auto bits = static_cast<uint64_t>(hir::as<hir::ConstLong>(*value).value);
        uint64_t unused = 64 - size * 8;
        bits <<= unused;
        return b.number(is_signed ? static_cast<int64_t>(bits) >> unused : static_cast<int64_t>(bits >> unused));
    }
    if (place.bit_size) {
        int64_t up = 64 - static_cast<int64_t>(place.bit_offset) - static_cast<int64_t>(place.bit_size);
        value = b.binary(BinaryOp::Shl, value, b.number(up));
        value =
            b.binary(is_signed ? BinaryOp::Shr : BinaryOp::ShrLogical, value, b.number(64 - int64_t{place.bit_size}));
    } else {
        value = b.make<hir::Retype>(range, value, static_cast<uint32_t>(size), is_signed);
    }
    return b.saved(value, place.at_entry);
}

} // namespace

hir::Expr* load(Binding& b, const Place& place, Range range) {
    const Type* type = strip(place.type);
    if (!type->is_swapped)
        return load_bytes(b, place, range, false);
    const uint64_t size = size_of(type);
    const char* swap = size == 2 ? "ntohs" : size == 4 ? "ntohl" : size == 8 ? "ntohll" : nullptr;
    if (place.bit_size || !swap || !b.binder.call)
        return b.fail(
            DiagId::Unsupported, range,
            fmt::format(
                "`{}` has its highest byte first; sonde reads only whole numbers of 2, 4 and 8 bytes in this order",
                b.as_written()));
    hir::Expr* bytes = load_bytes(b, place, range, true);
    hir::Expr* value = bytes ? b.binder.call(swap, {bytes}) : nullptr;
    return value ? b.make<hir::Retype>(range, value, static_cast<uint32_t>(size), type->is_signed) : nullptr;
}

hir::Expr* field_value(Binding& b, const Place& place, std::string_view path) {
    std::optional<Place> found = field(b, place, path);
    return found && is_scalar(found->type) ? load(b, *found, b.expr.range) : nullptr;
}

hir::Expr* address_of(Binding& b, const Place& place) { return b.saved(place.address, place.at_entry); }

hir::Expr* double_bits(Binding& b, const Place& place, Range range) {
    uint64_t size = size_of(strip(place.type));
    if (strip(place.type)->is_complex)
        return b.fail(DiagId::TypeMismatch, range,
                      fmt::format("`{}` is `{}`, which is two numbers", b.as_written(), type_name(place.type)),
                      fmt::format("write `{}$` for its text", b.as_written()));
    if (strip(place.type)->is_decimal)
        return b.fail(
            DiagId::Unsupported, range,
            fmt::format("`{}` is `{}`: decimal floating point cannot be read", b.as_written(), type_name(place.type)));
    if (size != 4 && size != 8)
        return b.fail(DiagId::Unsupported, range,
                      fmt::format("`{}` is `{}` of {} bytes: only floating point of 4 and 8 bytes can be read",
                                  b.as_written(), type_name(place.type), size));
    hir::Expr* bits = load(b, place, range);
    if (!bits || size == 8)
        return bits;
    return b.make<hir::Intrinsic>(range, "fp32_to_fp64", hir::ValueType::Long, std::vector<hir::Expr*>{bits});
}

hir::Expr* to_long(Binding& b, const Place& original, Range range) {
    std::optional<Place> place = without_references(b, original, range);
    if (!place)
        return nullptr;
    const Type* type = strip(place->type);
    std::string name = type_name(place->type);
    if (is_scalar(type))
        return load(b, *place, range);
    switch (type ? type->kind : Type::Void) {
    case Type::Array:
        if (hir::Expr* address = first_element(b, *place))
            return b.saved(address, place->at_entry);
        [[fallthrough]];
    case Type::Function:
        if (hir::Expr* address = address_of(b, *place))
            return address;
        return b.fail(DiagId::VariableUnavailable, range,
                      fmt::format("`{}` is not in memory here, so it has no address", b.as_written()));
    case Type::Struct:
    case Type::Union:
        return b.fail(DiagId::TypeMismatch, range,
                      fmt::format("`{}` is a whole `{}`, not a number", b.as_written(), name),
                      fmt::format("write `{}$` for its text, `&{}` for its address, or `{}->MEMBER`", b.as_written(),
                                  b.as_written(), b.as_written()));
    case Type::Float:
        return double_bits(b, *place, range);
    default:
        return b.fail(DiagId::TypeMismatch, range,
                      fmt::format("`{}` is `{}`, which has no value", b.as_written(), name));
    }
}

} // namespace sonde
