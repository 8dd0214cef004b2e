// Builds the keys. A key is a byte string to which each node appends its kind and its parts, recursively. For example,
// `x + 1` becomes [Binary, Add, [LocalRef, 0], [ConstLong, 1]], where 0 is the number of the local.
#include "frontend/hir/identity.h"

#include <type_traits>
#include <unordered_map>

namespace sonde::hir {
namespace {

class Key {
  public:
    // With `own_locals`, locals are identified by the order in which they appear; otherwise by their address.
    explicit Key(bool own_locals) : own_locals_(own_locals) {}
    // For a whole program: nothing is identified by its address. Positions in the script are part of the key, because
    // run-time errors name them.
    explicit Key(const Program& program) : own_locals_(true), program_(&program) {
        for (const Function* function : program.functions)
            functions_.emplace(function, functions_.size());
    }

    std::string take() { return std::move(out_); }

    // All structures are taken apart by structured bindings. If a field is added, the code does not compile until the
    // field is considered here.
    void whole();

    // Each part is appended in binary form, with its kind and, for lists, the number of elements. Without these,
    // different trees could give the same key.
    void add(const Expr* expr) {
        if (!expr)
            return add(absent);
        add(expr->kind);
        add(expr->type);
        if (program_)
            add(expr->range);
        parts(*expr);
    }

    void add(const Stmt* stmt) {
        if (!stmt)
            return add(absent);
        add(stmt->kind);
        if (program_)
            add(stmt->range);
        parts(*stmt);
    }

    void add(const std::vector<Expr*>& exprs) {
        add(exprs.size());
        for (const Expr* expr : exprs)
            add(expr);
    }

    void add(const std::vector<int64_t>& words) {
        add(words.size());
        for (const int64_t word : words)
            add(word);
    }

    // With own_locals, a local is identified by the number of different locals before it. `{x = 1; y = x}` and `{a = 1;
    // b = a}` then have the same key.
    void add(const Local* local) {
        if (!own_locals_ || !local)
            return add(reinterpret_cast<uintptr_t>(local));
        auto [entry, fresh] = locals_.emplace(local, locals_.size());
        add(entry->second);
        if (fresh && program_)
            describe(*local);
    }

  private:
    static constexpr uint8_t absent = UINT8_MAX; // not the number of any kind

    template <typename Number>
    void add(Number number)
        requires(std::is_integral_v<Number> || std::is_enum_v<Number>)
    {
        out_.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    void add(const std::string& text) {
        add(text.size());
        out_ += text;
    }
    template <typename Value> void add(const std::optional<Value>& value) {
        add(value.has_value());
        if (value)
            add(*value);
    }
    // Globals and functions exist once in a program, so outside of a whole program's key their address identifies them.
    void add(const Global* global) {
        if (!program_ || !global)
            return add(reinterpret_cast<uintptr_t>(global));
        add(global->index);
    }
    void add(const Function* function) {
        if (!program_ || !function)
            return add(reinterpret_cast<uintptr_t>(function));
        auto [entry, fresh] = functions_.emplace(function, functions_.size());
        add(entry->second);
        if (fresh)
            describe(*function);
    }
    void add(const Range& range) { all(range.file, range.begin, range.end); }
    void add(const std::vector<Local*>& locals) {
        add(locals.size());
        for (const Local* local : locals)
            add(local);
    }
    template <typename... Values> void all(const Values&... values) { (add(values), ...); }

    void add(const plan::Format& format) {
        add(format.directives.size());
        for (const plan::Directive& one : format.directives) {
            all(one.kind, one.conversion, one.flag, one.width_is_arg, one.precision_is_arg, one.width, one.precision,
                one.text, one.name);
            add(one.stats);
        }
    }
    void add(const plan::StatsNeeds& stats) {
        const auto& [variance, histogram, low, high, width, variance_shift, elision, bar_width, unicode, quantiles] =
            stats;
        all(variance, histogram, low, high, width, variance_shift, elision, bar_width, unicode, quantiles);
    }
    void describe(const Local& local);
    void describe(const Global& global);
    void describe(const Function& function);
    void describe(const Handler& handler);

    void parts(const Expr& expr);
    void parts(const Stmt& stmt);

    std::string out_;
    bool own_locals_;
    std::unordered_map<const Local*, size_t> locals_;
    const Program* program_ = nullptr; // set for the key of a whole program
    std::unordered_map<const Function*, size_t> functions_;
};

void Key::parts(const Expr& expr) {
    switch (expr.kind) {
    case ExprKind::ConstLong:
        return add(as<ConstLong>(expr).value);
    case ExprKind::ConstString:
        return add(as<ConstString>(expr).value);
    case ExprKind::LocalRef:
        return add(as<LocalRef>(expr).local);
    case ExprKind::GlobalRef:
        return add(as<GlobalRef>(expr).global);
    case ExprKind::Element:
        return all(as<Element>(expr).array, as<Element>(expr).keys);
    case ExprKind::Unary:
        return all(as<Unary>(expr).op, as<Unary>(expr).operand);
    case ExprKind::Binary:
        return all(as<Binary>(expr).op, as<Binary>(expr).left, as<Binary>(expr).right);
    case ExprKind::Logical:
        return all(as<Logical>(expr).is_and, as<Logical>(expr).left, as<Logical>(expr).right);
    case ExprKind::Concat:
        return all(as<Concat>(expr).left, as<Concat>(expr).right);
    case ExprKind::Ternary:
        return all(as<Ternary>(expr).condition, as<Ternary>(expr).then_value, as<Ternary>(expr).else_value);
    case ExprKind::Guarded:
        return all(as<Guarded>(expr).text, as<Guarded>(expr).otherwise);
    case ExprKind::Assign: {
        const auto& e = as<Assign>(expr);
        return all(e.target, e.value, e.op, e.concat, e.gives_old, e.value_unused);
    }
    case ExprKind::StatAdd:
        return all(as<StatAdd>(expr).target, as<StatAdd>(expr).value);
    case ExprKind::StatRead:
        return all(as<StatRead>(expr).what, as<StatRead>(expr).percentile, as<StatRead>(expr).source);
    case ExprKind::HistBucket:
        return all(as<HistBucket>(expr).source, as<HistBucket>(expr).index);
    case ExprKind::Contains:
        return all(as<Contains>(expr).array, as<Contains>(expr).keys);
    case ExprKind::Regex:
        all(as<Regex>(expr).subject, as<Regex>(expr).text, as<Regex>(expr).negated);
        if (program_) // the pattern's text determines everything else
            add(as<Regex>(expr).program && as<Regex>(expr).program->captures);
        return;
    case ExprKind::Call:
        return all(as<Call>(expr).callee, as<Call>(expr).args);
    case ExprKind::Intrinsic:
        return all(as<Intrinsic>(expr).name, as<Intrinsic>(expr).args, as<Intrinsic>(expr).gives_nothing);
    case ExprKind::Print:
        return all(as<Print>(expr).format, as<Print>(expr).args, as<Print>(expr).to_string);
    case ExprKind::Register:
        return add(as<Register>(expr).number);
    case ExprKind::Argument:
        return add(as<Argument>(expr).number);
    case ExprKind::Load: {
        const auto& e = as<Load>(expr);
        return all(e.address, e.size, e.is_signed, e.user, e.bit_offset, e.bit_size);
    }
    case ExprKind::Store: {
        const auto& e = as<Store>(expr);
        return all(e.address, e.value, e.size, e.what);
    }
    case ExprKind::EntryRead:
        return add(as<EntryRead>(expr).index);
    case ExprKind::Retype:
        return all(as<Retype>(expr).operand, as<Retype>(expr).size, as<Retype>(expr).is_signed);
    case ExprKind::TextNumber:
        return add(as<TextNumber>(expr).text);
    case ExprKind::NumberedText:
        return add(as<NumberedText>(expr).number);
    case ExprKind::PointNumber:
        return;
    case ExprKind::TableWord:
        if (program_)
            add(*as<TableWord>(expr).table);
        else
            add(reinterpret_cast<uintptr_t>(as<TableWord>(expr).table));
        return add(as<TableWord>(expr).index);
    }
}

void Key::parts(const Stmt& stmt) {
    switch (stmt.kind) {
    case StmtKind::Block:
        add(as<Block>(stmt).body.size());
        for (const Stmt* one : as<Block>(stmt).body)
            add(one);
        return;
    case StmtKind::Expression:
        return add(as<ExprStmt>(stmt).expr);
    case StmtKind::If:
        return all(as<If>(stmt).condition, as<If>(stmt).then_body, as<If>(stmt).else_body);
    case StmtKind::Loop:
        return all(as<Loop>(stmt).init, as<Loop>(stmt).condition, as<Loop>(stmt).step, as<Loop>(stmt).body);
    case StmtKind::Foreach: {
        const auto& loop = as<Foreach>(stmt);
        add(loop.keys.size());
        for (const Local* key : loop.keys)
            add(key);
        return all(loop.array, loop.value, loop.slice, loop.sort_direction, loop.sort_column, loop.sort_stat,
                   loop.sort_percentile, loop.limit, loop.histogram, loop.body);
    }
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Next:
        return;
    case StmtKind::Return:
        return add(as<Return>(stmt).value);
    case StmtKind::Delete:
        return all(as<Delete>(stmt).global, as<Delete>(stmt).keys);
    case StmtKind::Try:
        return all(as<Try>(stmt).body, as<Try>(stmt).message, as<Try>(stmt).handler);
    }
}

void Key::describe(const Local& local) {
    const auto& [name, type, range, index, assigned_within, stands_for] = local;
    all(name, type, range, index, assigned_within);
    add(stands_for);
}

void Key::describe(const Global& global) {
    const auto& [name, range, index, type, keys, key_bounds, key_names, key_roles, capacity, has_own_capacity, wrap,
                 initial_long, initial_string, address_of, stats, used_in_kernel, used_in_host, is_own, auto_print,
                 print_as_pointer, only_grows, labels, is_settable] = global;
    all(name, range, index, type, keys.size(), key_bounds.size());
    for (ValueType key : keys)
        add(key);
    for (const auto& [length, low, high, is_text] : key_bounds)
        all(length, low, high, is_text);
    all(key_names.size(), key_roles.size());
    for (const std::string& key : key_names)
        add(key);
    for (const plan::KeyRole role : key_roles)
        add(role);
    all(labels.size());
    for (const std::string& label : labels)
        add(label);
    all(capacity, has_own_capacity, wrap, initial_long, initial_string, address_of, stats, used_in_kernel, used_in_host,
        is_own, auto_print, print_as_pointer, only_grows, is_settable);
}

void Key::describe(const Function& function) {
    const auto& [name, range, params, locals, result, may_give_nothing, bare_return, body, c_code, c_calls, c_next,
                 c_pure, recursive, bounded, compiled_once, needs_same_types] = function;
    all(name, range, params, locals, result, may_give_nothing, bare_return);
    add(static_cast<const Stmt*>(body));
    all(c_code.text, c_code.range, c_code.is_expression, c_calls.size(), c_next != nullptr, c_pure, recursive, bounded,
        compiled_once, needs_same_types);
    for (const CCall& one : c_calls)
        add(one.name);
}

void Key::describe(const Handler& handler) {
    const auto& [name, range, kind, in_kernel, locals, body, condition, entry_values, checks_stack, at_return,
                 after_call, is_go, reads_registers, needs_same_types, entry_stack, points, timer, order, lock,
                 locked_for] = handler;
    all(name, range, kind, in_kernel, locals);
    add(static_cast<const Stmt*>(body));
    add(condition);
    add(entry_values);
    all(checks_stack, at_return, after_call, is_go, reads_registers, needs_same_types);
    add(entry_stack);
    all(points.size(), timer.interval_ns, timer.random_ns, order, lock, locked_for);
}

void Key::whole() {
    const auto& [globals, functions, handlers, locks, counters, pythons, files, texts, c_blocks, point_numbers] =
        *program_;
    all(globals.size(), functions.size(), handlers.size(), locks, counters.size(), pythons.size(), files.size(),
        texts.size());
    for (const sonde_python& layout : pythons)
        add(std::string(reinterpret_cast<const char*>(&layout), sizeof layout));
    for (const Global* global : globals)
        describe(*global);
    for (const Function* function : functions)
        describe(*function);
    for (const Handler* handler : handlers)
        describe(*handler);
    for (const std::string& text : texts)
        add(text);
    add(c_blocks.size());
    for (const auto& [text, range, is_expression] : c_blocks)
        all(text, range, is_expression);
    add(point_numbers.size());
    for (const auto& [name, number] : point_numbers)
        all(name, number);
}

} // namespace

std::string identity(const Program& program) {
    Key key(program);
    key.whole();
    return key.take();
}

std::string identity(const Handler& handler) {
    Key key(true);
    key.add(handler.condition);
    key.add(handler.entry_stack);
    key.add(handler.entry_values);
    key.add(handler.body);
    return key.take();
}

std::string identity(const Function& function) {
    Key key(true);
    for (const Local* param : function.params)
        key.add(param);
    key.add(function.body);
    return key.take() + function.c_code.text;
}

std::string identity(const Expr& expr) {
    Key key(false);
    key.add(&expr);
    return key.take();
}

} // namespace sonde::hir
