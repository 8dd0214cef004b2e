// Replaces strings in array keys by numbers.
//
// `n[name, pid()]++` at every system call has some hundred different names, and all of them are known at compile time.
// A key component qualifies if every string that can be stored in it is a literal, a text of the probe point or an
// entry of a table of names. The key then holds the string's number in one list (Program::texts), and the kernel hashes
// 4 bytes instead of 32 or more. The list is sorted, so that numbers compare in the same order as their strings.
//
// The variables of a `foreach` over such an array hold numbers as well. They are converted to strings where they are
// read.
//
// Method: assume that all string components qualify, then drop those with an unknown string until nothing changes.
// Dropping one component can make others unknown, because a loop's variable may be used as a key of another array.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "frontend/hir/walk.h"
#include "frontend/passes/passes.h"

namespace sonde {
namespace {

class Interning {
  public:
    Interning(hir::Program& program, Arena& arena, uint64_t max_string)
        : program_(program), arena_(arena), max_string_(max_string) {}

    void run() {
        collect();
        while (drop_unknown()) {
        }
        if (columns_.empty())
            return;
        list_texts();
        for (const Loop& loop : loops_)
            if (loop_variables_.contains(*loop.variable))
                add_number(*loop.variable);
        rewrite();
    }

  private:
    using Column = std::pair<hir::Global*, size_t>; // a component of an array's key
    struct Use {
        Column column;
        hir::Expr** key;
        const hir::Handler* handler; // null: inside a function
    };
    struct Loop {
        Column column;
        hir::Local** variable;
    };

    // ---- collect the uses

    // All string components qualify at first.
    void collect() {
        for (hir::Global* global : program_.globals)
            for (size_t i = 0; i < global->keys.size(); i++)
                if (global->keys[i] == hir::ValueType::String)
                    columns_.emplace(global, i);
        for (hir::Function* function : program_.functions) {
            locals_ = &function->locals;
            written_.insert(function->params.begin(), function->params.end());
            statements(*function->body);
            for_each_expr(*function->body, [&](const hir::Expr& expr) { visit(expr); });
        }
        for (hir::Handler* handler : program_.handlers) {
            handler_ = handler;
            locals_ = &handler->locals;
            statements(*handler->body);
            for_each_expr(*handler, [&](const hir::Expr& expr) { visit(expr); });
        }
    }

    void keys(const hir::Global* array, const std::vector<hir::Expr*>& keys) {
        auto& own = const_cast<std::vector<hir::Expr*>&>(keys);
        for (size_t i = 0; i < own.size(); i++)
            if (own[i] && own[i]->type == hir::ValueType::String)
                uses_.push_back({{const_cast<hir::Global*>(array), i}, &own[i], handler_});
    }

    // Expressions may be shared, so the same key can be collected several times; rewrite() handles each once.
    void visit(const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Element)
            keys(hir::as<hir::Element>(expr).array, hir::as<hir::Element>(expr).keys);
        if (expr.kind == hir::ExprKind::Contains)
            keys(hir::as<hir::Contains>(expr).array, hir::as<hir::Contains>(expr).keys);
        if (expr.kind == hir::ExprKind::Assign)
            written_.insert(variable_of(*hir::as<hir::Assign>(expr).target));
    }

    void statements(const hir::Stmt& body) {
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            if (stmt.kind == hir::StmtKind::Delete)
                keys(hir::as<hir::Delete>(stmt).global, hir::as<hir::Delete>(stmt).keys);
            if (stmt.kind == hir::StmtKind::Try)
                written_.insert(hir::as<hir::Try>(stmt).message);
            if (stmt.kind != hir::StmtKind::Foreach)
                return;
            auto& loop = const_cast<hir::Foreach&>(hir::as<hir::Foreach>(stmt));
            written_.insert(loop.value);
            if (!loop.array)
                return;
            keys(loop.array, loop.slice);
            for (size_t i = 0; i < loop.keys.size(); i++)
                if (loop.keys[i]->type == hir::ValueType::String) {
                    loops_.push_back({{loop.array, i}, &loop.keys[i]});
                    loop_variables_.emplace(loop.keys[i], locals_);
                }
        });
    }

    // ---- drop what has unknown strings

    // Returns true if it dropped a component or a variable. Others may have relied on it, so the caller repeats.
    bool drop_unknown() {
        const size_t columns = columns_.size(), variables = loop_variables_.size();
        for (const Loop& loop : loops_)
            if (written_.contains(*loop.variable) || !columns_.contains(loop.column))
                loop_variables_.erase(*loop.variable);
        for (const Use& use : uses_)
            if (!is_known(**use.key))
                columns_.erase(use.column);
        return columns != columns_.size() || variables != loop_variables_.size();
    }

    // Whether all values of the expression are known strings. The variable of a loop over a component that qualifies
    // has known strings, too.
    bool is_known(const hir::Expr& expr) const {
        if (expr.kind == hir::ExprKind::ConstString)
            return true;
        if (expr.kind == hir::ExprKind::LocalRef) {
            const hir::Local* local = hir::as<hir::LocalRef>(expr).local;
            return local->stands_for ? is_known(*local->stands_for)
                                     : loop_variables_.contains(const_cast<hir::Local*>(local));
        }
        if (expr.kind != hir::ExprKind::Intrinsic)
            return false;
        const auto& intrinsic = hir::as<hir::Intrinsic>(expr);
        return hir::is_point_text(intrinsic) ||
               (intrinsic.facts.in_table && intrinsic.args[0]->kind == hir::ExprKind::ConstString);
    }

    // ---- rewrite the program

    // Lists the strings of the components that qualify, cut to the length that the array would store.
    void list_texts() {
        std::set<std::string> texts = {""};
        auto add = [&](const std::string& text) { texts.insert(text.substr(0, max_string_ - 1)); };
        for (const Use& use : uses_) {
            if (!columns_.contains(use.column))
                continue;
            const hir::Expr* expr = *use.key;
            if (expr->kind == hir::ExprKind::LocalRef && hir::as<hir::LocalRef>(*expr).local->stands_for)
                expr = hir::as<hir::LocalRef>(*expr).local->stands_for;
            if (expr->kind == hir::ExprKind::ConstString)
                add(hir::as<hir::ConstString>(*expr).value);
            if (expr->kind != hir::ExprKind::Intrinsic)
                continue;
            const auto& intrinsic = hir::as<hir::Intrinsic>(*expr);
            if (intrinsic.facts.in_table)
                for (const std::string& name : hir::names_in(hir::as<hir::ConstString>(*intrinsic.args[0])))
                    add(name);
            for (const hir::Handler* handler : program_.handlers)
                if (hir::is_point_text(intrinsic) && (!use.handler || use.handler == handler))
                    for (const plan::Point& point : handler->points)
                        add(hir::point_text(intrinsic.facts.text, point));
        }
        program_.texts.assign(texts.begin(), texts.end());
    }

    // Creates the variable for the number of a loop variable's string.
    void add_number(hir::Local* text) {
        auto [entry, is_new] = numbers_.try_emplace(text, nullptr);
        if (!is_new)
            return;
        auto* number = arena_.make<hir::Local>();
        number->name = "#" + text->name;
        number->type = hir::ValueType::Long;
        number->range = text->range;
        loop_variables_[text]->push_back(number);
        entry->second = number;
    }

    void rewrite() {
        for (const Use& use : uses_) {
            hir::Expr& key = **use.key;
            if (!columns_.contains(use.column) || key.type != hir::ValueType::String)
                continue; // not interned, or shared with an expression that is already replaced
            auto number =
                key.kind == hir::ExprKind::LocalRef ? numbers_.find(hir::as<hir::LocalRef>(key).local) : numbers_.end();
            *use.key = number == numbers_.end() ? static_cast<hir::Expr*>(arena_.make<hir::TextNumber>(key.range, &key))
                                                : arena_.make<hir::LocalRef>(key.range, number->second);
        }
        for (const Loop& loop : loops_)
            if (auto number = numbers_.find(*loop.variable); number != numbers_.end())
                *loop.variable = number->second;
        for (auto& [text, number] : numbers_)
            text->stands_for =
                arena_.make<hir::NumberedText>(text->range, arena_.make<hir::LocalRef>(text->range, number));
        for (const auto& [global, i] : columns_) {
            global->keys[i] = hir::ValueType::Long;
            global->key_bounds.resize(global->keys.size());
            global->key_bounds[i].is_text = true;
        }
        for (hir::Function* function : program_.functions)
            drop_forwarded(function->locals, function->params.size());
        for (hir::Handler* handler : program_.handlers)
            drop_forwarded(handler->locals, 0);
    }

    hir::Program& program_;
    Arena& arena_;
    const uint64_t max_string_;
    const hir::Handler* handler_ = nullptr;
    std::vector<hir::Local*>* locals_ = nullptr; // the locals of the function or handler being visited
    std::set<Column> columns_;
    std::vector<Use> uses_;
    std::vector<Loop> loops_;
    std::set<const void*> written_; // assigned other than by a loop's head
    // Variables that are set only by loops over interned components, each with the list of locals that contains it.
    std::map<hir::Local*, std::vector<hir::Local*>*> loop_variables_;
    std::unordered_map<hir::Local*, hir::Local*> numbers_;
};

} // namespace

void intern_texts(hir::Program& program, Arena& arena, uint64_t max_string) {
    Interning(program, arena, max_string).run();
}

} // namespace sonde
