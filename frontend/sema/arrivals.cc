// The marks are in a hidden array with the keys (thread, stack pointer, point). Both handlers run in the kernel and in
// the same thread, one directly after the other, so the array needs no lock.
//
// A mark is removed by storing 0, not by deleting the element: `mark &= 0` reads and clears it in one operation. The
// array wraps (it drops old elements when it is full), because a thread can be killed between the jump and its target,
// and its mark would stay forever.
//
// What would break this: a jump whose direction the handler cannot know. Such places are refused earlier
// (dwarf/function_entries.cc, arrivals_from()).
#include "frontend/sema/arrivals.h"

#include "arch/architecture.h"
#include "frontend/hir/jump_condition.h"
#include "frontend/machine/code_flow.h"

namespace sonde {
namespace {

class NoteBuilder {
  public:
    NoteBuilder(Body& body, const RegisterFile& registers, int64_t which, Range range)
        : b_(body), registers_(registers), which_(which), range_(range) {}

    hir::Element* note() {
        hir::Global*& notes = b_.tables.arrivals;
        if (!notes) {
            notes = b_.make<hir::Global>();
            notes->name = "arrivals"; // an invented name: no script can use it
            notes->range = range_;
            notes->type = hir::ValueType::Long;
            notes->keys.assign(3, hir::ValueType::Long);
            notes->key_bounds.resize(3);
            notes->capacity = most_notes;
            notes->wrap = true;
        }
        hir::Expr* thread = b_.make<hir::Intrinsic>(range_, "tid", hir::ValueType::Long, std::vector<hir::Expr*>());
        return b_.make<hir::Element>(
            range_, notes,
            std::vector<hir::Expr*>{thread, b_.make<hir::Register>(range_, registers_.stack_pointer), number(which_)});
    }

    hir::Expr* number(int64_t value) { return b_.make<hir::ConstLong>(range_, value); }
    hir::Expr* logical(bool is_and, hir::Expr* left, hir::Expr* right) {
        return b_.make<hir::Logical>(range_, is_and, left, right);
    }
    hir::Expr* negated(hir::Expr* value) { return b_.make<hir::Unary>(range_, hir::UnaryOp::Not, value); }

  private:
    static constexpr uint64_t most_notes = 16384; // threads between a jump and its target at one time

    Body& b_;
    const RegisterFile& registers_;
    int64_t which_;
    Range range_;
};

} // namespace

hir::Expr* build_first_arrival(Body& body, const ResolvedPoint& point, int64_t which, Range range) {
    if (point.repeats.empty() || point.is_return)
        return nullptr;
    NoteBuilder notes(body, point.architecture().registers(), which, range);
    hir::Element* note = notes.note();
    // Read the mark and clear it: `mark &= 0` gives the old value. The test by `in` comes first, because the assignment
    // would create an element for each thread.
    auto* there = body.make<hir::Contains>(range, note->array, note->keys);
    auto* taken = body.make<hir::Assign>(range, notes.note(), notes.number(0));
    taken->op = hir::BinaryOp::And;
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
        NoteBuilder notes(body, point.architecture().registers(), which, like.range);
        auto* put = body.make<hir::Assign>(like.range, notes.note(), notes.number(1));
        put->value_unused = true;
        hir::Stmt* statement = body.make<hir::ExprStmt>(like.range, put);
        if (arrival.condition != jumps_always)
            statement = body.make<hir::If>(
                like.range,
                hir::is_jump_taken(body.context.arena, like.range, point.architecture().registers(), arrival.condition),
                statement, nullptr);
        handler->body->body.push_back(statement);
        handler->points = {point.point};
        // The offset is from the beginning of a file or from a symbol of the kernel. In both cases, two offsets differ
        // by the same number as the addresses.
        handler->points[0].offset += arrival.from - point.address;
        handler->points[0].entry_offset = handler->points[0].offset;
        out.push_back(handler);
    }
    return out;
}

} // namespace sonde
