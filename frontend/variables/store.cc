// `$x->y = value`: from a target expression to a write of user memory.
//
// What can be written is what lies in memory: the kernel gives handlers no way to change a register, and a value that
// was put together from several places has no place of its own.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/variables/binding.h"

namespace sonde {
namespace {

// System V ABI, figure 3.36.
const char* register_name(int number) {
    static constexpr const char* names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                            "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
    return number >= 0 && number <= 16 ? names[number] : "a register";
}

} // namespace

hir::Expr* bind_store(const ast::TargetExpr& expr, const Assignment& assignment, const ResolvedPoint& point,
                      Binder& binder) {
    return TargetBinder(expr, point, binder).store(assignment);
}

// Why a value that is not in memory cannot be written.
std::nullptr_t TargetBinder::refuse_store(const Place& place) {
    std::string why = "its value is not kept in memory here";
    if (auto part = part_at(place, place.offset); part != place.parts.end() && part->kind == PlacePart::Value) {
        if (part->expr->kind == hir::ExprKind::Register)
            why =
                fmt::format("it is in the register {} here", register_name(hir::as<hir::Register>(*part->expr).number));
        else if (part->expr->kind == hir::ExprKind::ConstLong)
            why = "the compiler has made it a constant here";
    }
    return fail(DiagId::NotAssignable, expr_.range,
                fmt::format("cannot write `{}`: {}, and a probe writes memory only", text(), why),
                fmt::format("probe a place where it is in memory: `sonde --why '{}' POINT` tells where", text(0)));
}

// The address that is written; null after a report.
hir::Expr* TargetBinder::address_to_write(const Place& place, uint64_t size) {
    if (place.kernel)
        return fail(
            DiagId::Unsupported, expr_.range,
            fmt::format("cannot write `{}`: it is the kernel's memory, which a BPF program cannot change", text()),
            "programs' own memory can be written, at points in programs and with -g");
    if (place.at_entry)
        return fail(DiagId::NotAssignable, expr_.range,
                    fmt::format("cannot write `{}`: in a .return probe it is what it was when the function was entered",
                                text()),
                    "write it in a probe of the function's entry, or of a statement");
    if (place.address)
        return place.address;
    auto part = part_at(place, place.offset);
    if (part == place.parts.end() || part->kind != PlacePart::Memory)
        return refuse_store(place);
    uint64_t inside = place.offset - part->offset;
    if (part->size - inside < size)
        return refuse_store(place);
    return plus(part->expr, static_cast<int64_t>(inside));
}

// Which of the expression's forms is no value of its own.
bool TargetBinder::is_assignable() {
    if (target_type(expr_) == hir::ValueType::String) {
        fail(DiagId::NotAssignable, expr_.range,
             fmt::format("cannot write `{}`, which is text made of variables", ast::to_source(expr_)));
        return false;
    }
    if (expr_.base == ast::TargetExpr::Variable && expr_.name.starts_with("$return") && expr_.components.empty() &&
        point_.is_return && !point_.is_go) {
        fail(DiagId::NotAssignable, expr_.range,
             fmt::format("cannot write `{}`: a result is in a register, and a probe writes memory only", text()),
             "what a result points at can be written: `$return->MEMBER`");
        return false;
    }
    if (binder_.inside_entry) {
        fail(DiagId::NotAssignable, expr_.range, "`@entry` evaluates, and cannot write");
        return false;
    }
    if (!point_.in_kernel) {
        fail(DiagId::WrongContext, expr_.range,
             fmt::format("cannot write `{}`: this handler runs in sonde's own process", text()),
             "write in a probe that the program hits");
        return false;
    }
    if (plan::traits(point_.kind).in_interrupt) {
        fail(DiagId::WrongContext, expr_.range,
             fmt::format("cannot write `{}`: in an interrupt user memory cannot be written", text()));
        return false;
    }
    return true;
}

hir::Expr* TargetBinder::store(const Assignment& assignment) {
    if (!is_assignable())
        return nullptr;
    std::optional<Place> place = referenced_place();
    if (!place)
        return nullptr;
    const Type* type = strip(place->type);
    uint64_t size = size_of(type);
    bool scalar = type && (type->kind == Type::Integer || type->kind == Type::Boolean ||
                           type->kind == Type::Character || type->kind == Type::Enum || type->kind == Type::Pointer);
    if (!scalar || (size != 1 && size != 2 && size != 4 && size != 8))
        return fail(DiagId::TypeMismatch, expr_.range,
                    fmt::format("cannot write `{}`: it is `{}`, and a probe writes numbers and pointers", text(),
                                type_name(place->type)),
                    type && type->kind == Type::Array && is_char(type->target)
                        ? fmt::format("`set_user_string_n({}, {}, TEXT)` writes a text", text(), size)
                        : "");
    hir::Expr* address = address_to_write(*place, size);
    if (!address)
        return nullptr;
    // Reading and writing are at one address, which is evaluated once.
    hir::Expr* first = nullptr;
    bool reads = assignment.op || place->bit_size;
    if (hir::Local* local = reads && binder_.hold ? binder_.hold(address) : nullptr) {
        auto* held = make<hir::Assign>(expr_.range, make<hir::LocalRef>(expr_.range, local), address);
        // `held || 1` is true, and evaluates the address first.
        first = make<hir::Logical>(expr_.range, false, held, number(1));
        address = make<hir::LocalRef>(expr_.range, local);
    }
    Place memory = *place;
    memory.parts.clear();
    memory.address = address;
    hir::Expr* value = assignment.value;
    if (assignment.op)
        value = make<hir::Binary>(assignment.range, *assignment.op, load(memory, expr_.range), value);
    hir::Expr* written = store_at(memory, address, value);
    if (assignment.gives_old)
        written = binary(assignment.op == hir::BinaryOp::Add ? hir::BinaryOp::Sub : hir::BinaryOp::Add, written,
                         assignment.value);
    return first ? make<hir::Ternary>(expr_.range, first, written, number(0)) : written;
}

// Gives the value; a bitfield is put into the unit around it.
hir::Expr* TargetBinder::store_at(const Place& place, hir::Expr* address, hir::Expr* value) {
    auto size = static_cast<uint32_t>(size_of(place.type));
    if (!place.bit_size)
        return make<hir::Store>(expr_.range, address, value, size, text());
    uint64_t ones = place.bit_size >= 64 ? ~uint64_t{0} : (uint64_t{1} << place.bit_size) - 1;
    uint64_t mask = ones << place.bit_offset;
    hir::Expr* unit = read(place, expr_.range, address, size, false);
    hir::Expr* bits = binary(hir::BinaryOp::Shl, value, number(place.bit_offset));
    hir::Expr* whole = binary(hir::BinaryOp::Or, binary(hir::BinaryOp::And, unit, number(static_cast<int64_t>(~mask))),
                              binary(hir::BinaryOp::And, bits, number(static_cast<int64_t>(mask))));
    hir::Expr* field = make<hir::Store>(expr_.range, address, whole, size, text());
    field = binary(hir::BinaryOp::ShrLogical, field, number(place.bit_offset));
    return binary(hir::BinaryOp::And, field, number(static_cast<int64_t>(ones)));
}

} // namespace sonde
