// `$x->y = value`: turns a target expression into a write to user memory.
//
// Values in memory can be written. Newer kernels ("bpf: Allow uprobe program to change context registers"; 7.2, but not
// 6.18) also allow writing a register of a program, if the whole register belongs to the variable. A value that is
// composed of several places cannot be written.
//
// A write is an expression with a value, as `y = $x++` needs it. The old value is not kept: `$x++` writes and then
// subtracts 1 from what it has written. A bitfield is read, changed and written as a whole unit, and so is the operand
// of `+=`. The address is then needed twice, but must be evaluated once, because it can contain a call with an effect.
// It is held in a local.
#include <optional>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "frontend/variables/bind.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/reading.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

std::string_view register_name(const ResolvedPoint& point, int number) {
    const std::string_view name = point.architecture().registers().name(number);
    return name.empty() ? "a register" : name;
}

bool can_write_registers(Binding& b) {
    return plan::is_uprobe(b.point.kind) && b.binder.env.kernel_facts->register_writes();
}

// The register that contains the whole variable and nothing else, if the kernel allows writing it.
std::optional<int> register_to_write(Binding& b, const Place& place) {
    if (place.address || place.at_entry || place.bit_size || place.parts.size() != 1 || !can_write_registers(b))
        return std::nullopt;
    const PlacePart& part = place.parts[0];
    if (part.kind != PlacePart::Value || part.offset != 0 || place.offset != 0 || !b.expr.components.empty() ||
        part.expr->kind != hir::ExprKind::Register)
        return std::nullopt;
    const int number = hir::as<hir::Register>(*part.expr).number;
    return number >= 0 && number < b.point.architecture().registers().instruction_pointer ? std::optional(number)
                                                                                          : std::nullopt;
}

// Reports why a value that is not in memory cannot be written.
std::nullptr_t refuse_store(Binding& b, const Place& place) {
    std::string why = "its value is not in memory here";
    if (const PlacePart* part = part_at(place, place.offset); part && part->kind == PlacePart::Value) {
        if (part->expr->kind == hir::ExprKind::Register && can_write_registers(b))
            return b.fail(DiagId::NotAssignable, b.expr.range,
                          fmt::format("cannot write `{}`: it is only a part of the register {} here", b.as_written(),
                                      register_name(b.point, hir::as<hir::Register>(*part->expr).number)));
        if (part->expr->kind == hir::ExprKind::Register)
            why = fmt::format("it is in the register {} here",
                              register_name(b.point, hir::as<hir::Register>(*part->expr).number));
        else if (part->expr->kind == hir::ExprKind::ConstLong)
            why = "the compiler has made it a constant here";
    }
    return b.fail(
        DiagId::NotAssignable, b.expr.range,
        fmt::format("cannot write `{}`: {}, and a probe can write only memory", b.as_written(), why),
        fmt::format("probe a place where it is in memory; `sonde --why '{}' POINT` lists the places", b.as_written(0)));
}

// The address to write; null after a report.
hir::Expr* address_to_write(Binding& b, const Place& place, uint64_t size) {
    if (place.kernel)
        return b.fail(DiagId::Unsupported, b.expr.range,
                      fmt::format("cannot write `{}`: a BPF program cannot change the kernel's memory", b.as_written()),
                      "with -g, a probe point in a program can write the program's memory");
    if (place.at_entry)
        return b.fail(DiagId::NotAssignable, b.expr.range,
                      fmt::format("cannot write `{}`: in a .return probe it is the value from the function's entry",
                                  b.as_written()),
                      "write the variable in a probe of the function's entry or of a statement");
    if (strip(place.type)->is_swapped)
        return b.fail(DiagId::Unsupported, b.expr.range,
                      fmt::format("cannot write `{}`: it has its highest byte first", b.as_written()));
    if (place.address)
        return place.address;
    const PlacePart* part = part_at(place, place.offset);
    if (!part || part->kind != PlacePart::Memory)
        return refuse_store(b, place);
    uint64_t inside = place.offset - part->offset;
    if (part->size - inside < size)
        return refuse_store(b, place);
    return b.plus(part->expr, static_cast<int64_t>(inside));
}

// Whether this expression can be written by this handler. False after a report.
bool is_assignable(Binding& b) {
    if (target_type(b.expr) == hir::ValueType::String) {
        b.fail(DiagId::NotAssignable, b.expr.range,
               fmt::format("cannot write `{}`, which is a text of variables", ast::to_source(b.expr)));
        return false;
    }
    if (b.expr.base == ast::TargetExpr::Variable && b.expr.name.starts_with("$return") && b.expr.components.empty() &&
        b.point.is_return && !b.point.is_go && !can_write_registers(b)) {
        const bool in_program = plan::is_uprobe(b.point.kind);
        const bool is_call = plan::is_about(b.point.kind, plan::Subject::Tracepoint) && b.point.syscall;
        b.fail(DiagId::NotAssignable, b.expr.range,
               fmt::format("cannot write `{}`: a result is in a register, and {} can write only memory", b.as_written(),
                           in_program ? "on this kernel a probe" : "a probe"),
               in_program ? "newer kernels (as 7.2) can write registers; this kernel can write a result's members: "
                            "`$return->MEMBER`"
               : is_call  ? fmt::format(
                               "`kernel.function(\"{}NAME\").return` can set a call's result if the kernel permits it",
                               b.binder.env.architecture->system_calls().function_prefix)
                         : "a probe can write a result's members: `$return->MEMBER`");
        return false;
    }
    if (b.binder.inside_entry) {
        b.fail(DiagId::NotAssignable, b.expr.range, "`@entry` can only read");
        return false;
    }
    if (!b.point.in_kernel) {
        b.fail(DiagId::WrongContext, b.expr.range,
               fmt::format("cannot write `{}`: this handler runs in sonde's own process", b.as_written()),
               "write the variable in a probe of the program");
        return false;
    }
    if (plan::traits(b.point.kind).in_interrupt) {
        b.fail(DiagId::WrongContext, b.expr.range,
               fmt::format("cannot write `{}`: a handler in an interrupt cannot write user memory", b.as_written()));
        return false;
    }
    return true;
}

// Returns the value. For a bitfield, reads and writes the unit around it.
hir::Expr* store_at(Binding& b, const Place& place, hir::Expr* address, hir::Expr* value) {
    auto size = static_cast<uint32_t>(size_of(place.type));
    if (!place.bit_size)
        return b.make<hir::Store>(b.expr.range, address, value, size, b.as_written());
    uint64_t ones = place.bit_size >= 64 ? ~uint64_t{0} : (uint64_t{1} << place.bit_size) - 1;
    uint64_t mask = ones << place.bit_offset;
    hir::Expr* unit = read(b, place, b.expr.range, address, size, false);
    hir::Expr* bits = b.binary(hir::BinaryOp::Shl, value, b.number(place.bit_offset));
    hir::Expr* whole =
        b.binary(hir::BinaryOp::Or, b.binary(hir::BinaryOp::And, unit, b.number(static_cast<int64_t>(~mask))),
                 b.binary(hir::BinaryOp::And, bits, b.number(static_cast<int64_t>(mask))));
    hir::Expr* field = b.make<hir::Store>(b.expr.range, address, whole, size, b.as_written());
    field = b.binary(hir::BinaryOp::ShrLogical, field, b.number(place.bit_offset));
    return b.binary(hir::BinaryOp::And, field, b.number(static_cast<int64_t>(ones)));
}

hir::Expr* write(Binding& b, const TargetAssignment& assignment) {
    if (!is_assignable(b))
        return nullptr;
    std::optional<Place> place = referenced_place(b);
    if (!place)
        return nullptr;
    const Type* type = strip(place->type);
    uint64_t size = size_of(type);
    bool scalar = type && (type->kind == Type::Integer || type->kind == Type::Boolean ||
                           type->kind == Type::Character || type->kind == Type::Enum || type->kind == Type::Pointer);
    if (!scalar || (size != 1 && size != 2 && size != 4 && size != 8))
        return b.fail(DiagId::TypeMismatch, b.expr.range,
                      fmt::format("cannot write `{}`: it is `{}`, and a probe can write only numbers and pointers",
                                  b.as_written(), type_name(place->type)),
                      type && type->kind == Type::Array && is_char(type->target)
                          ? fmt::format("`set_user_string_n({}, {}, TEXT)` writes a string", b.as_written(), size)
                          : "");
    if (std::optional<int> number = register_to_write(b, *place)) {
        hir::Expr* value = assignment.value;
        if (assignment.op)
            value = b.make<hir::Binary>(assignment.range, *assignment.op, load(b, *place, b.expr.range), value);
        value = b.make<hir::Retype>(b.expr.range, value, static_cast<uint32_t>(size), type->is_signed);
        hir::Expr* written = b.binder.call("__set_register", {b.number(*number), value});
        if (assignment.gives_old)
            written = b.binary(assignment.op == hir::BinaryOp::Add ? hir::BinaryOp::Sub : hir::BinaryOp::Add, written,
                               assignment.value);
        return written;
    }
    hir::Expr* address = address_to_write(b, *place, size);
    if (!address)
        return nullptr;
    // Reading and writing use the same address, which is evaluated once.
    hir::Expr* first = nullptr;
    bool reads = assignment.op || place->bit_size;
    if (hir::Local* local = reads && b.binder.hold ? b.binder.hold(address) : nullptr) {
        auto* held = b.make<hir::Assign>(b.expr.range, b.get(local), address);
        // `held || 1` is always true, and evaluates the address first.
        first = b.make<hir::Logical>(b.expr.range, false, held, b.number(1));
        address = b.get(local);
    }
    Place memory = *place;
    memory.parts.clear();
    memory.address = address;
    hir::Expr* value = assignment.value;
    if (assignment.op)
        value = b.make<hir::Binary>(assignment.range, *assignment.op, load(b, memory, b.expr.range), value);
    hir::Expr* written = store_at(b, memory, address, value);
    if (assignment.gives_old)
        written = b.binary(assignment.op == hir::BinaryOp::Add ? hir::BinaryOp::Sub : hir::BinaryOp::Add, written,
                           assignment.value);
    return first ? b.ternary(first, written, b.number(0)) : written;
}

} // namespace

Bound bind_store(const ast::TargetExpr& expr, const TargetAssignment& assignment, const ResolvedPoint& point,
                 Binder& binder) {
    Binding b(expr, point, binder);
    hir::Expr* written = write(b, assignment);
    return {written, b.needs_same_types};
}

} // namespace sonde
