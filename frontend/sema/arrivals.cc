#include "frontend/sema/arrivals.h"

#include "frontend/types/code_flow.h"

namespace sonde {
namespace {

using hir::BinaryOp;

// Intel's manual, volume 1, section 3.4.3 (flags) and appendix B (conditions).
constexpr int64_t carry = 1, parity = 4, zero = 0x40, sign = 0x80, overflow = 0x800;

class NoteBuilder {
  public:
    NoteBuilder(Body& body, int64_t which, Range range) : b_(body), which_(which), range_(range) {}

    hir::Element* note() {
        constexpr int dwarf_rsp = 7;
        hir::Global*& notes = b_.notes.arrivals;
        if (!notes) {
            notes = b_.make<hir::Global>();
            notes->name = "arrivals"; // not one of the script's: it is found by no name
            notes->range = range_;
            notes->type = hir::ValueType::Long;
            notes->keys.assign(3, hir::ValueType::Long);
            notes->key_bounds.resize(3);
            notes->capacity = most_notes;
            notes->wrap = true;
        }
        hir::Expr* thread = b_.make<hir::Intrinsic>(range_, "tid", hir::ValueType::Long, std::vector<hir::Expr*>());
        return b_.make<hir::Element>(
            range_, notes, std::vector<hir::Expr*>{thread, b_.make<hir::Register>(range_, dwarf_rsp), number(which_)});
    }

    hir::Expr* number(int64_t value) { return b_.make<hir::ConstLong>(range_, value); }
    hir::Expr* binary(BinaryOp op, hir::Expr* left, hir::Expr* right) {
        return b_.make<hir::Binary>(range_, op, left, right);
    }
    hir::Expr* logical(bool is_and, hir::Expr* left, hir::Expr* right) {
        return b_.make<hir::Logical>(range_, is_and, left, right);
    }
    hir::Expr* negated(hir::Expr* value) { return b_.make<hir::Unary>(range_, hir::UnaryOp::Not, value); }

    // Whether a jump with that condition is taken.
    hir::Expr* is_taken(uint8_t condition) {
        const bool opposite = condition & 1;
        hir::Expr* taken = nullptr;
        switch (condition >> 1) {
        case 0:
            taken = is_set(overflow);
            break;
        case 1:
            taken = is_set(carry);
            break;
        case 2:
            taken = is_set(zero);
            break;
        case 3:
            taken = is_set(carry | zero);
            break;
        case 4:
            taken = is_set(sign);
            break;
        case 5:
            taken = is_set(parity);
            break;
        case 6:
            taken = is_less();
            break;
        default:
            taken = logical(false, is_set(zero), is_less());
            break;
        }
        return opposite ? negated(taken) : taken;
    }

  private:
    static constexpr uint64_t most_notes = 16384; // threads on their way at one moment

    hir::Expr* is_set(int64_t any) {
        hir::Expr* flags = b_.make<hir::Register>(range_, hir::Register::flags);
        return binary(BinaryOp::Ne, binary(BinaryOp::And, flags, number(any)), number(0));
    }
    hir::Expr* is_less() { return binary(BinaryOp::Ne, is_set(sign), is_set(overflow)); }

    Body& b_;
    int64_t which_;
    Range range_;
};

} // namespace

hir::Expr* build_first_arrival(Body& body, const ResolvedPoint& point, int64_t which, Range range) {
    if (point.repeats.empty() || point.is_return)
        return nullptr;
    NoteBuilder notes(body, which, range);
    hir::Element* note = notes.note();
    auto* there = body.make<hir::Contains>(range, note->array, note->keys);
    auto* taken = body.make<hir::Assign>(range, notes.note(), notes.number(0));
    taken->op = BinaryOp::And;
    taken->gives_old = true;
    return notes.negated(notes.logical(true, there, taken));
}

std::vector<hir::Handler*> build_arrival_notes(Body& body, const hir::Handler& like, const ResolvedPoint& point,
                                               int64_t which) {
    std::vector<hir::Handler*> out;
    if (point.is_return)
        return out;
    for (const Arrival& arrival : point.repeats) {
        auto* handler = body.make<hir::Handler>();
        handler->range = like.range;
        handler->kind = like.kind;
        handler->in_kernel = like.in_kernel;
        handler->body = body.make<hir::Block>(like.range);
        NoteBuilder notes(body, which, like.range);
        auto* put = body.make<hir::Assign>(like.range, notes.note(), notes.number(1));
        put->value_unused = true;
        hir::Stmt* statement = body.make<hir::ExprStmt>(like.range, put);
        if (arrival.condition != jumps_always)
            statement = body.make<hir::If>(like.range, notes.is_taken(arrival.condition), statement, nullptr);
        handler->body->body.push_back(statement);
        handler->points = {point.point};
        // Of a file and of a symbol of the kernel's alike, offsets differ as addresses do.
        handler->points[0].offset += arrival.from - point.address;
        handler->points[0].entry_offset = handler->points[0].offset;
        out.push_back(handler);
    }
    return out;
}

} // namespace sonde
