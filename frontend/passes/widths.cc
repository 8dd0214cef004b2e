// Bounds the lengths of strings and the values of numbers in array keys.
//
// The kernel hashes and compares the whole key, and a string in it is padded to its longest possible length. Without a
// bound, every `a[execname()]++` would hash MAXSTRINGLEN bytes. Many keys are short, though: names of tasks and
// functions, literals, process ids, and variables that hold only such values.
//
// The pass computes upper bounds of string lengths, and ranges of numbers, by visiting all assignments until nothing
// changes. A concatenation or a counter in a loop grows with every visit. After a few rounds, the pass treats
// everything that still grows as unbounded. So the iteration ends.
//
// A bound that is too small would cut keys off and merge different elements. If you add an expression, its bound must
// be an upper bound for every target.
#include <algorithm>
#include <unordered_map>

#include "frontend/hir/walk.h"
#include "frontend/passes/interval.h"
#include "frontend/passes/passes.h"

namespace sonde {
namespace {

class Widths {
    static constexpr uint64_t most_ = UINT16_MAX; // the maximum length of a string

  public:
    explicit Widths(hir::Program& program) : program_(program) {
        for (const hir::Handler* handler : program.handlers)
            for (const plan::Point& point : handler->points) {
                for (auto text : {hir::PointText::Resolved, hir::PointText::Written, hir::PointText::Function})
                    points_[text] = std::max<uint64_t>(points_[text], hir::point_text(text, point).size());
            }
        for (const std::string& text : program.texts)
            longest_text_ = std::max<uint64_t>(longest_text_, text.size());
        for (hir::Global* global : program.globals) {
            lengths_[global] = global->initial_string.size();
            numbers_[global] = {std::min<int64_t>(0, global->initial_long), std::max<int64_t>(0, global->initial_long)};
            if (!global->address_of.empty() || global->is_settable)
                numbers_[global] = Interval::everything();
            if (global->is_settable)
                lengths_[global] = most_;
            global->key_bounds.resize(global->keys.size());
            columns_[global].resize(global->keys.size());
        }
    }

    void run() {
        // After this many rounds, a bound that still grows (a concatenation or a counter in a loop) becomes unbounded.
        // This makes the iteration end.
        constexpr int patience = 6;
        int round = 0;
        do {
            endless_ = round++ >= patience;
            changed_ = false;
            pass();
        } while (changed_);
        for (hir::Global* global : program_.globals)
            for (size_t i = 0; i < global->keys.size(); i++) {
                const Column& column = columns_[global][i];
                global->key_bounds[i].length = column.length;
                if (column.used) {
                    global->key_bounds[i].low = column.numbers.low;
                    global->key_bounds[i].high = column.numbers.high;
                }
            }
    }

  private:
    // The bounds of one key component.
    struct Column {
        uint64_t length = 0;
        bool used = false; // false: no key was seen yet, and `numbers` is meaningless
        Interval numbers{0, 0};
    };

    void pass() {
        for (const hir::Function* function : program_.functions) {
            function_ = function;
            body(*function->body);
        }
        function_ = nullptr;
        for (const hir::Handler* handler : program_.handlers) {
            handler_ = handler;
            if (handler->condition)
                for_each_expr(*handler->condition, [&](const hir::Expr& e) { visit(e); });
            for (const hir::Expr* value : handler->entry_values)
                for_each_expr(*value, [&](const hir::Expr& e) { visit(e); });
            body(*handler->body);
        }
        handler_ = nullptr;
    }

    void body(const hir::Stmt& stmt) {
        for_each_expr(stmt, [&](const hir::Expr& e) { visit(e); });
        for_each_stmt(stmt, [&](const hir::Stmt& s) { visit(s); });
    }

    // Raise a bound to include a value. Bounds only grow, so that the iteration ends.
    void raise(uint64_t& bound, uint64_t length) {
        length = std::min(length, most_);
        if (length <= bound)
            return;
        bound = endless_ ? most_ : length;
        changed_ = true;
    }
    void widen(Interval& bound, const Interval& more) {
        Interval both = bound.joined(more);
        if (both == bound)
            return;
        bound = endless_ ? Interval::everything() : both;
        changed_ = true;
    }
    // The variable (or array element, or function result) may take the expression's value: widen its bound to include
    // that value.
    void raise(const void* variable, const hir::Expr& value) {
        if (value.type == hir::ValueType::String)
            raise(lengths_[variable], length(value));
        else if (value.type == hir::ValueType::Long)
            widen(numbers_[variable], numbers(value));
    }
    void keys(const hir::Global* array, const std::vector<hir::Expr*>& keys) {
        for (size_t i = 0; i < keys.size(); i++) {
            if (!keys[i])
                continue;
            Column& column = columns_[array][i];
            if (keys[i]->type == hir::ValueType::String) {
                raise(column.length, length(*keys[i]));
            } else {
                // Join the exact ranges. This needs no limit, because the variables in the key have one.
                Interval value = numbers(*keys[i]), all = column.used ? column.numbers.joined(value) : value;
                changed_ = changed_ || !column.used || all != column.numbers;
                column.numbers = all;
                column.used = true;
            }
        }
    }

    void visit(const hir::Expr& expr) {
        using hir::ExprKind;
        if (expr.kind == ExprKind::Element) {
            keys(hir::as<hir::Element>(expr).array, hir::as<hir::Element>(expr).keys);
        } else if (expr.kind == ExprKind::Contains) {
            keys(hir::as<hir::Contains>(expr).array, hir::as<hir::Contains>(expr).keys);
        } else if (expr.kind == ExprKind::Assign) {
            const auto& assign = hir::as<hir::Assign>(expr);
            if (assign.type == hir::ValueType::String)
                raise(lengths_[variable_of(*assign.target)], length(assign));
            else
                widen(numbers_[variable_of(*assign.target)], new_numbers(assign));
        } else if (expr.kind == ExprKind::Call) {
            const auto& call = hir::as<hir::Call>(expr);
            for (size_t i = 0; i < call.args.size(); i++)
                raise(call.callee->params[i], *call.args[i]);
        }
    }

    void visit(const hir::Stmt& stmt) {
        using hir::StmtKind;
        if (stmt.kind == StmtKind::Return && function_ && hir::as<hir::Return>(stmt).value) {
            raise(function_, *hir::as<hir::Return>(stmt).value);
        } else if (stmt.kind == StmtKind::Delete) {
            keys(hir::as<hir::Delete>(stmt).global, hir::as<hir::Delete>(stmt).keys);
        } else if (stmt.kind == StmtKind::Try && hir::as<hir::Try>(stmt).message) {
            raise(lengths_[hir::as<hir::Try>(stmt).message], most_);
        } else if (stmt.kind == StmtKind::Foreach) {
            const auto& loop = hir::as<hir::Foreach>(stmt);
            if (loop.array)
                elements(loop);
            else
                widen(numbers_[loop.keys[0]], Interval::bits(16, false)); // the number of a bucket
        }
    }

    void elements(const hir::Foreach& loop) {
        keys(loop.array, loop.slice);
        for (size_t i = 0; i < loop.keys.size(); i++) {
            const Column& column = columns_[loop.array][i];
            if (loop.array->keys[i] == hir::ValueType::String)
                raise(lengths_[loop.keys[i]], column.length);
            else if (column.used)
                widen(numbers_[loop.keys[i]], column.numbers);
        }
        if (!loop.value)
            return;
        if (loop.array->type == hir::ValueType::String)
            raise(lengths_[loop.value], lengths_[loop.array]);
        else
            widen(numbers_[loop.value], numbers_[loop.array]);
    }

    // Returns an upper bound for the length of a string expression, from the bounds of its parts. An expression that is
    // not listed has no bound.
    uint64_t length(const hir::Expr& expr) {
        using hir::ExprKind;
        switch (expr.kind) {
        case ExprKind::ConstString:
            return std::min<uint64_t>(hir::as<hir::ConstString>(expr).value.size(), most_);
        case ExprKind::LocalRef:
            if (const hir::Expr* text = hir::as<hir::LocalRef>(expr).local->stands_for)
                return length(*text);
            return lengths_[variable_of(expr)];
        case ExprKind::GlobalRef:
        case ExprKind::Element:
            return lengths_[variable_of(expr)];
        case ExprKind::Ternary:
            return std::max(length(*hir::as<hir::Ternary>(expr).then_value),
                            length(*hir::as<hir::Ternary>(expr).else_value));
        case ExprKind::NumberedText:
            return longest_text_;
        case ExprKind::Guarded:
            return std::max(length(*hir::as<hir::Guarded>(expr).text), length(*hir::as<hir::Guarded>(expr).otherwise));
        case ExprKind::Concat:
            return std::min(length(*hir::as<hir::Concat>(expr).left) + length(*hir::as<hir::Concat>(expr).right),
                            most_);
        case ExprKind::Assign: {
            const auto& assign = hir::as<hir::Assign>(expr);
            uint64_t more = assign.concat ? lengths_[variable_of(*assign.target)] : 0;
            return std::min(length(*assign.value) + more, most_);
        }
        case ExprKind::Call:
            return lengths_[hir::as<hir::Call>(expr).callee];
        case ExprKind::EntryRead:
            return handler_ ? length(*handler_->entry_values[hir::as<hir::EntryRead>(expr).index]) : most_;
        case ExprKind::Print:
            return length(hir::as<hir::Print>(expr));
        case ExprKind::Intrinsic: {
            const auto& intrinsic = hir::as<hir::Intrinsic>(expr);
            if (intrinsic.facts.in_table)
                return longest_name(*intrinsic.args[0]);
            if (hir::is_point_text(intrinsic))
                return std::min(points_[intrinsic.facts.text], most_);
            return intrinsic.facts.longest ? intrinsic.facts.longest : most_;
        }
        default:
            return most_;
        }
    }

    // Returns a range that contains all values of an integer expression, from the ranges of its parts. An expression
    // that is not listed has the full range.
    Interval numbers(const hir::Expr& expr) {
        using hir::ExprKind;
        switch (expr.kind) {
        case ExprKind::ConstLong:
            return {hir::as<hir::ConstLong>(expr).value, hir::as<hir::ConstLong>(expr).value};
        case ExprKind::LocalRef:
        case ExprKind::GlobalRef:
        case ExprKind::Element:
            return numbers_[variable_of(expr)];
        case ExprKind::Unary:
            return hir::as<hir::Unary>(expr).op == hir::UnaryOp::Not     ? Interval{0, 1}
                   : hir::as<hir::Unary>(expr).op == hir::UnaryOp::Minus ? negative(*hir::as<hir::Unary>(expr).operand)
                                                                         : Interval::everything();
        case ExprKind::Binary: {
            const auto& binary = hir::as<hir::Binary>(expr);
            if (binary.op >= hir::BinaryOp::Eq)
                return {0, 1};
            return apply(binary.op, numbers(*binary.left), numbers(*binary.right));
        }
        case ExprKind::Logical:
        case ExprKind::Contains:
        case ExprKind::Regex:
            return {0, 1};
        case ExprKind::Ternary:
            return numbers(*hir::as<hir::Ternary>(expr).then_value)
                .joined(numbers(*hir::as<hir::Ternary>(expr).else_value));
        case ExprKind::Assign: {
            const auto& assign = hir::as<hir::Assign>(expr);
            return assign.gives_old ? numbers_[variable_of(*assign.target)] : new_numbers(assign);
        }
        case ExprKind::StatAdd:
            return numbers(*hir::as<hir::StatAdd>(expr).value);
        case ExprKind::Call:
            return numbers_[hir::as<hir::Call>(expr).callee];
        case ExprKind::EntryRead:
            return handler_ ? numbers(*handler_->entry_values[hir::as<hir::EntryRead>(expr).index])
                            : Interval::everything();
        case ExprKind::Load: {
            const auto& load = hir::as<hir::Load>(expr);
            return Interval::bits(load.bit_size ? load.bit_size : 8 * load.size, load.is_signed);
        }
        case ExprKind::Retype:
            return Interval::bits(8 * hir::as<hir::Retype>(expr).size, hir::as<hir::Retype>(expr).is_signed);
        case ExprKind::TextNumber:
            return {0, static_cast<int64_t>(program_.texts.size()) - 1};
        case ExprKind::Intrinsic: {
            const uint8_t bits = hir::as<hir::Intrinsic>(expr).facts.bits;
            return bits < 64 ? Interval::bits(bits, false) : Interval::everything();
        }
        default:
            return Interval::everything();
        }
    }

    Interval negative(const hir::Expr& operand) { return apply(hir::BinaryOp::Sub, {0, 0}, numbers(operand)); }

    // The range of the target after the assignment.
    Interval new_numbers(const hir::Assign& assign) {
        Interval value = numbers(*assign.value);
        return assign.op ? apply(*assign.op, numbers_[variable_of(*assign.target)], value) : value;
    }

    static uint64_t longest_name(const hir::Expr& names) {
        if (names.kind != hir::ExprKind::ConstString)
            return most_;
        size_t longest = 0;
        for (const std::string& name : hir::names_in(hir::as<hir::ConstString>(names)))
            longest = std::max(longest, name.size());
        return std::min<uint64_t>(longest, most_);
    }

    // The maximum length of sprintf()'s result. A number has at most 22 octal digits, plus a sign or `0x`.
    uint64_t length(const hir::Print& print) {
        constexpr uint64_t digits = 24;
        uint64_t sum = 0;
        auto arg = print.args.begin();
        for (const plan::Directive& directive : print.format.directives) {
            using plan::Directive;
            uint64_t one = 0;
            if (directive.width_is_arg || directive.precision_is_arg)
                return most_;
            if (directive.kind == Directive::Literal)
                one = directive.text.size();
            else if (directive.kind == Directive::Integer)
                one = digits + static_cast<uint64_t>(std::max(directive.precision, 0));
            else if (directive.kind == Directive::Char)
                one = 1;
            else if (directive.kind == Directive::String)
                one = length(**arg);
            else
                return most_;
            if (directive.kind != Directive::Literal)
                ++arg;
            sum += std::max<uint64_t>(one, static_cast<uint64_t>(std::max(directive.width, 0)));
        }
        return std::min(sum, most_);
    }

    hir::Program& program_;
    std::map<hir::PointText, uint64_t> points_;                    // longest text of any probe point
    std::unordered_map<const void*, uint64_t> lengths_;            // by Local*, Global* or Function*
    std::unordered_map<const void*, Interval> numbers_;            // by the same; initially 0
    std::unordered_map<const void*, std::vector<Column>> columns_; // of array keys
    uint64_t longest_text_ = 0;                                    // of Program::texts
    const hir::Function* function_ = nullptr;
    const hir::Handler* handler_ = nullptr;
    bool changed_ = false;
    bool endless_ = false;
};

} // namespace

void bound_keys(hir::Program& program) { Widths(program).run(); }

} // namespace sonde
