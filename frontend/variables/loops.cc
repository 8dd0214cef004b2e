#include "frontend/variables/loops.h"

#include <utility>

#include <fmt/format.h>

namespace sonde {

using hir::BinaryOp;
using hir::ValueType;

namespace {

constexpr int64_t max_shown = 16; // elements of a container that are printed

hir::Local* add_local(Arena& arena, std::vector<hir::Local*>& list, std::string name, ValueType type, Range range) {
    auto* local = arena.make<hir::Local>();
    local->name = std::move(name);
    local->type = type;
    local->range = range;
    list.push_back(local);
    return local;
}

// bounded: the loop ends after max_shown elements, so it needs no statement counter.
hir::Function* begin_function(Binding& b, Range range) {
    auto* function = b.make<hir::Function>();
    function->range = range;
    function->result = ValueType::String;
    function->bounded = true;
    function->body = b.make<hir::Block>(range);
    return function;
}

// `open`, the elements separated by commas, and `close`. If an element cannot be read, the text ends with `?`.
hir::Expr* walk_text(Binding& b, const Walk& walk, Level level) {
    if (!b.binder.define || !walk.first || !walk.count)
        return nullptr;
    Range range = b.expr.range;
    hir::Function* function = begin_function(b, range);
    hir::Local* at = add_local(b.binder.arena, function->params, "at", ValueType::Long, range);
    hir::Local* count = add_local(b.binder.arena, function->params, "count", ValueType::Long, range);
    std::vector<hir::Local*> more;
    for (size_t i = 0; i < walk.more.size(); i++)
        more.push_back(add_local(b.binder.arena, function->params, fmt::format("more{}", i), ValueType::Long, range));
    hir::Local* index = add_local(b.binder.arena, function->locals, "index", ValueType::Long, range);
    hir::Local* other = add_local(b.binder.arena, function->locals, "other", ValueType::Long, range);
    hir::Local* steps = add_local(b.binder.arena, function->locals, "steps", ValueType::Long, range);
    hir::Local* out = add_local(b.binder.arena, function->locals, "out", ValueType::String, range);

    auto* body = b.make<hir::Block>(range);
    body->body.push_back(b.make<hir::If>(range, b.get(index), b.set(out, b.string(", "), true), nullptr));
    Cursor cursor{at, index, other, steps, more, *body};
    body->body.push_back(b.set(out, walk.element(cursor, level), true));
    walk.step(cursor);
    body->body.push_back(b.set(index, b.binary(BinaryOp::Add, b.get(index), b.number(1))));
    auto* loop = b.make<hir::Loop>(range);
    loop->condition = b.make<hir::Logical>(range, true, b.binary(BinaryOp::Lt, b.get(index), b.get(count)),
                                           b.binary(BinaryOp::Lt, b.get(index), b.number(max_shown)));
    loop->body = body;

    auto* whole = b.make<hir::Block>(range);
    whole->body.push_back(loop);
    whole->body.push_back(b.make<hir::If>(range, b.binary(BinaryOp::Gt, b.get(count), b.number(max_shown)),
                                          b.set(out, b.string(", ..."), true), nullptr));
    std::vector<hir::Stmt*>& all = function->body->body;
    all.push_back(b.set(out, b.string(walk.open)));
    all.push_back(b.make<hir::Try>(range, whole, nullptr, b.set(out, b.string("?"), true)));
    all.push_back(b.set(out, b.string(walk.close), true));
    all.push_back(b.make<hir::Return>(range, b.get(out)));

    std::vector<hir::Expr*> args = {walk.first, walk.count};
    args.insert(args.end(), walk.more.begin(), walk.more.end());
    return b.make<hir::Call>(range, b.binder.define(*function), ValueType::String, std::move(args));
}

hir::Expr* bytes_text(Binding& b, hir::Expr* address, hir::Expr* count) {
    if (!b.binder.define || !address || !count)
        return nullptr;
    Range range = b.expr.range;
    hir::Function* function = begin_function(b, range);
    hir::Local* at = add_local(b.binder.arena, function->params, "at", ValueType::Long, range);
    hir::Local* size = add_local(b.binder.arena, function->params, "count", ValueType::Long, range);
    auto* read = b.make<hir::Intrinsic>(range, "__user_buffer_quoted", ValueType::String,
                                        std::vector<hir::Expr*>{b.get(at), b.get(size), b.number(-1)});
    Text address_text;
    address_text.add_integer(b.get(at), 'x', '#');
    function->body->body.push_back(b.make<hir::Try>(range, b.make<hir::Return>(range, read), nullptr,
                                                    b.make<hir::Return>(range, std::move(address_text).finish(b))));
    return b.make<hir::Call>(range, b.binder.define(*function), ValueType::String,
                             std::vector<hir::Expr*>{address, count});
}

} // namespace

bool add_bytes(Binding& b, Text& text, hir::Expr* address, hir::Expr* count) {
    hir::Expr* value = bytes_text(b, address, count);
    if (value)
        text.add(value);
    return value;
}

bool add_walk(Binding& b, Text& text, const Walk& walk, Level level) {
    // Each level is a nested loop; the kernel's verifier can handle a few of them.
    constexpr int max_loops = 2;
    if (!level.is_open() || level.loops == max_loops) {
        text.literal(walk.open + "..." + walk.close);
        return true;
    }
    hir::Expr* value = walk_text(b, walk, level.inside_loop());
    if (value)
        text.add(value);
    return value;
}

} // namespace sonde
