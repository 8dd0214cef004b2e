// How wide the strings in arrays' keys can get.
//
// A key holds its strings in full, padded, and is hashed as a whole: half a kilobyte for every `a[execname()]++` if
// nothing were known. What a key is made of is often short: names of tasks and functions, literals, and variables that
// hold nothing else. The lengths' upper bounds are found by going through all assignments until nothing changes.
#include <algorithm>
#include <unordered_map>

#include "frontend/sema/analyzer.h"

namespace sonde {
namespace {

class Widths {
    static constexpr uint64_t most_ = UINT16_MAX; // no string is longer

  public:
    explicit Widths(hir::Program& program) : program_(program) {
        for (const hir::Handler* handler : program.handlers)
            for (const plan::Point& point : handler->points) {
                points_["pp"] = std::max(points_["pp"], point.pp.size());
                points_["pn"] = std::max(points_["pn"], point.pn.size());
                points_["ppfunc"] = std::max(points_["ppfunc"], point.function.size());
            }
        points_["probefunc"] = points_["ppfunc"];
        points_["execname"] = 15; // TASK_COMM_LEN - 1
        for (const hir::Global* global : program.globals) {
            lengths_[global] = global->initial_string.size();
            columns_[global].resize(global->keys.size());
        }
    }

    void run() {
        // What still grows then, by concatenation in a loop, has no bound.
        constexpr int rounds = 16;
        for (int round = 0; round < rounds; round++) {
            changed_ = false;
            pass();
            if (!changed_)
                break;
            endless_ = round + 2 >= rounds;
        }
        for (hir::Global* global : program_.globals) {
            global->key_lengths.assign(columns_[global].begin(), columns_[global].end());
        }
    }

  private:
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

    void raise(uint64_t& bound, uint64_t length) {
        length = std::min(length, most_);
        if (length <= bound)
            return;
        bound = endless_ ? most_ : length;
        changed_ = true;
    }
    void raise(const void* variable, uint64_t length) { raise(lengths_[variable], length); }
    void keys(const hir::Global* array, const std::vector<hir::Expr*>& keys) {
        for (size_t i = 0; i < keys.size(); i++)
            if (keys[i] && keys[i]->type == hir::ValueType::String)
                raise(columns_[array][i], length(*keys[i]));
    }

    void visit(const hir::Expr& expr) {
        using hir::ExprKind;
        if (expr.kind == ExprKind::Element) {
            keys(hir::as<hir::Element>(expr).array, hir::as<hir::Element>(expr).keys);
        } else if (expr.kind == ExprKind::Contains) {
            keys(hir::as<hir::Contains>(expr).array, hir::as<hir::Contains>(expr).keys);
        } else if (expr.kind == ExprKind::Assign && expr.type == hir::ValueType::String) {
            const auto& assign = hir::as<hir::Assign>(expr);
            raise(variable_of(*assign.target), length(assign));
        } else if (expr.kind == ExprKind::Call) {
            const auto& call = hir::as<hir::Call>(expr);
            for (size_t i = 0; i < call.args.size(); i++)
                if (call.args[i]->type == hir::ValueType::String)
                    raise(call.callee->params[i], length(*call.args[i]));
        }
    }

    void visit(const hir::Stmt& stmt) {
        using hir::StmtKind;
        if (stmt.kind == StmtKind::Return && function_ && hir::as<hir::Return>(stmt).value) {
            if (hir::as<hir::Return>(stmt).value->type == hir::ValueType::String)
                raise(function_, length(*hir::as<hir::Return>(stmt).value));
        } else if (stmt.kind == StmtKind::Delete) {
            keys(hir::as<hir::Delete>(stmt).global, hir::as<hir::Delete>(stmt).keys);
        } else if (stmt.kind == StmtKind::Try && hir::as<hir::Try>(stmt).message) {
            raise(hir::as<hir::Try>(stmt).message, most_);
        } else if (stmt.kind == StmtKind::Foreach && hir::as<hir::Foreach>(stmt).array) {
            const auto& loop = hir::as<hir::Foreach>(stmt);
            keys(loop.array, loop.slice);
            for (size_t i = 0; i < loop.keys.size(); i++)
                raise(loop.keys[i], columns_[loop.array][i]);
            if (loop.value)
                raise(loop.value, lengths_[loop.array]);
        }
    }

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
            if (hir::as<hir::Intrinsic>(expr).name == "__name")
                return longest_name(*hir::as<hir::Intrinsic>(expr).args[0]);
            auto known = points_.find(hir::as<hir::Intrinsic>(expr).name);
            return known == points_.end() ? most_ : std::min<uint64_t>(known->second, most_);
        }
        default:
            return most_;
        }
    }

    // Of names with `|` between them.
    static uint64_t longest_name(const hir::Expr& names) {
        if (names.kind != hir::ExprKind::ConstString)
            return most_;
        uint64_t longest = 0, here = 0;
        for (char c : hir::as<hir::ConstString>(names).value) {
            here = c == '|' ? 0 : here + 1;
            longest = std::max(longest, here);
        }
        return std::min(longest, most_);
    }

    // Of what sprintf() gives: a number has up to 22 octal digits, with a sign or `0x` in front.
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
    std::unordered_map<std::string, size_t> points_;                 // what intrinsics give at most
    std::unordered_map<const void*, uint64_t> lengths_;              // of Local*, Global* and Function*
    std::unordered_map<const void*, std::vector<uint64_t>> columns_; // of arrays' keys
    const hir::Function* function_ = nullptr;
    const hir::Handler* handler_ = nullptr;
    bool changed_ = false;
    bool endless_ = false;
};

} // namespace

void bound_keys(hir::Program& program) { Widths(program).run(); }

} // namespace sonde
