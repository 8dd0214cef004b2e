// Prints HIR as text, for --dump=hir and for tests. The text cannot be parsed again. It shows the decisions of the
// analysis, such as the types of values, and it prints a local that stands for another expression as that expression.
//
//     @n, %f()        a global, a call of a primitive
//     user.s32[x]     a load of a signed number of 32 bits from user memory
//     reg5, arg0      a register, an argument of a kernel function
//     entry0          a value that was saved at the function's entry
#include <fmt/format.h>

#include "frontend/hir/hir.h"
#include "runtime/plan/kinds.h"

namespace sonde::hir {
namespace {

const char* word(ValueType type) {
    static const char* const names[] = {"?", "long", "string", "stats", "void"};
    return names[static_cast<int>(type)];
}

std::string text(const Expr& expr);

std::string list(const std::vector<Expr*>& exprs) {
    std::string out;
    for (const Expr* expr : exprs)
        out += (out.empty() ? "" : ", ") + (expr ? text(*expr) : "*");
    return out;
}

std::string format_text(const plan::Format& format) {
    std::string out;
    for (const plan::Directive& d : format.directives) {
        if (d.kind == plan::Directive::Literal) {
            // Print the text as in the script: `%` doubled, other characters escaped, without the quotes.
            std::string escaped = fmt::format("{:?}", d.text);
            for (char c : escaped.substr(1, escaped.size() - 2))
                out += c == '%' ? "%%" : std::string(1, c);
            continue;
        }
        out += "%";
        if (d.flag)
            out += d.flag;
        out += d.width_is_arg ? "*" : d.width >= 0 ? std::to_string(d.width) : "";
        if (d.precision_is_arg || d.precision >= 0)
            out += "." + (d.precision_is_arg ? "*" : std::to_string(d.precision));
        if (d.kind == plan::Directive::Histogram)
            out += fmt::format("H({}:{}:{}:{})", static_cast<int>(d.stats.histogram), d.stats.low, d.stats.high,
                               d.stats.width);
        else
            out += d.conversion ? d.conversion : '?'; // unknown until the types are known
    }
    return out;
}

std::string text(const Expr& expr) {
    static const char* const unary[] = {"-", "!", "~"};
    static const char* const binary[] = {"+", "-", "*",  "/",  "%", "<<", ">>", ">>>", "&",
                                         "|", "^", "==", "!=", "<", "<=", ">",  ">="};
    static const char* const stats[] = {"count", "sum", "min", "max", "avg", "variance", "percentile"};
    switch (expr.kind) {
    case ExprKind::ConstLong:
        return std::to_string(as<ConstLong>(expr).value);
    case ExprKind::ConstString:
        return fmt::format("{:?}", as<ConstString>(expr).value);
    case ExprKind::LocalRef:
        if (const Expr* forwarded = as<LocalRef>(expr).local->stands_for)
            return text(*forwarded);
        return as<LocalRef>(expr).local->name;
    case ExprKind::GlobalRef:
        return "@" + as<GlobalRef>(expr).global->name;
    case ExprKind::Element:
        return fmt::format("@{}[{}]", as<Element>(expr).array->name, list(as<Element>(expr).keys));
    case ExprKind::Unary:
        return fmt::format("{}({})", unary[static_cast<int>(as<Unary>(expr).op)], text(*as<Unary>(expr).operand));
    case ExprKind::Binary:
        return fmt::format("({} {} {})", text(*as<Binary>(expr).left), binary[static_cast<int>(as<Binary>(expr).op)],
                           text(*as<Binary>(expr).right));
    case ExprKind::Logical:
        return fmt::format("({} {} {})", text(*as<Logical>(expr).left), as<Logical>(expr).is_and ? "&&" : "||",
                           text(*as<Logical>(expr).right));
    case ExprKind::Concat:
        return fmt::format("({} . {})", text(*as<Concat>(expr).left), text(*as<Concat>(expr).right));
    case ExprKind::Ternary:
        return fmt::format("({} ? {} : {})", text(*as<Ternary>(expr).condition), text(*as<Ternary>(expr).then_value),
                           text(*as<Ternary>(expr).else_value));
    case ExprKind::Guarded:
        return fmt::format("guarded({}, {})", text(*as<Guarded>(expr).text), text(*as<Guarded>(expr).otherwise));
    case ExprKind::Assign: {
        const auto& e = as<Assign>(expr);
        std::string op = e.concat ? "." : e.op ? binary[static_cast<int>(*e.op)] : "";
        return fmt::format("({} {}= {}{})", text(*e.target), op, text(*e.value), e.gives_old ? " old" : "");
    }
    case ExprKind::StatAdd:
        return fmt::format("({} <<< {})", text(*as<StatAdd>(expr).target), text(*as<StatAdd>(expr).value));
    case ExprKind::StatRead:
        return fmt::format(
            "{}({}{})", stats[static_cast<int>(as<StatRead>(expr).what)], text(*as<StatRead>(expr).source),
            as<StatRead>(expr).what == StatValue::Percentile ? fmt::format(", {}", as<StatRead>(expr).percentile) : "");
    case ExprKind::HistBucket:
        return fmt::format("hist({})[{}]", text(*as<HistBucket>(expr).source), text(*as<HistBucket>(expr).index));
    case ExprKind::Contains:
        return fmt::format("([{}] in @{})", list(as<Contains>(expr).keys), as<Contains>(expr).array->name);
    case ExprKind::Regex:
        return fmt::format("({} {} {:?})", text(*as<Regex>(expr).subject), as<Regex>(expr).negated ? "!~" : "=~",
                           as<Regex>(expr).text);
    case ExprKind::Call:
        return fmt::format("{}({})", as<Call>(expr).callee->name, list(as<Call>(expr).args));
    case ExprKind::Intrinsic:
        return fmt::format("%{}({})", as<Intrinsic>(expr).name, list(as<Intrinsic>(expr).args));
    case ExprKind::Print:
        return fmt::format("{}(\"{}\", {})", as<Print>(expr).to_string ? "sprintf" : "printf",
                           format_text(as<Print>(expr).format), list(as<Print>(expr).args));
    case ExprKind::Register:
        return fmt::format("reg{}", as<Register>(expr).number);
    case ExprKind::Argument:
        return as<Argument>(expr).number == Argument::result ? "result"
               : as<Argument>(expr).number == Argument::call_registers
                   ? "registers"
                   : fmt::format("arg{}", as<Argument>(expr).number);
    case ExprKind::Load: {
        const auto& e = as<Load>(expr);
        std::string bits = e.bit_size ? fmt::format(":{}+{}", e.bit_offset, e.bit_size) : "";
        return fmt::format("{}{}{}[{}{}]", e.user ? "user" : "kernel", e.is_signed ? ".s" : ".u", e.size * 8,
                           text(*e.address), bits);
    }
    case ExprKind::Store: {
        const auto& e = as<Store>(expr);
        return fmt::format("(user.u{}[{}] = {})", e.size * 8, text(*e.address), text(*e.value));
    }
    case ExprKind::EntryRead:
        return fmt::format("entry{}", as<EntryRead>(expr).index);
    case ExprKind::Retype:
        return fmt::format("{}{}({})", as<Retype>(expr).is_signed ? "s" : "u", as<Retype>(expr).size * 8,
                           text(*as<Retype>(expr).operand));
    case ExprKind::TextNumber:
        return fmt::format("number({})", text(*as<TextNumber>(expr).text));
    case ExprKind::NumberedText:
        return fmt::format("text({})", text(*as<NumberedText>(expr).number));
    case ExprKind::PointNumber:
        return "point_number";
    case ExprKind::TableWord:
        return fmt::format("table{}[{}]", as<TableWord>(expr).table->size(), text(*as<TableWord>(expr).index));
    }
    return "";
}

class Writer {
  public:
    std::string out;

    void line(const std::string& content) {
        out += std::string(static_cast<size_t>(indent_) * 2, ' ') + content + "\n";
    }

    void nested(const std::string& head, const Stmt* body) {
        line(head);
        indent_++;
        if (body)
            statement(*body);
        indent_--;
    }

    void statement(const Stmt& stmt) {
        switch (stmt.kind) {
        case StmtKind::Block:
            for (const Stmt* s : as<Block>(stmt).body)
                statement(*s);
            break;
        case StmtKind::Expression:
            line(text(*as<ExprStmt>(stmt).expr));
            break;
        case StmtKind::If:
            nested(fmt::format("if {}", text(*as<If>(stmt).condition)), as<If>(stmt).then_body);
            if (as<If>(stmt).else_body)
                nested("else", as<If>(stmt).else_body);
            break;
        case StmtKind::Loop: {
            const auto& s = as<Loop>(stmt);
            auto part = [](const Expr* e) { return e ? text(*e) : std::string(); };
            nested(fmt::format("loop {}; {}; {}", part(s.init), part(s.condition), part(s.step)), s.body);
            break;
        }
        case StmtKind::Foreach: {
            const auto& s = as<Foreach>(stmt);
            std::string keys;
            for (const Local* key : s.keys)
                keys += (keys.empty() ? "" : ", ") + key->name;
            std::string over = s.histogram ? fmt::format("hist({})", text(*s.histogram)) : "@" + s.array->name;
            if (!s.slice.empty())
                over += "[" + list(s.slice) + "]";
            nested(fmt::format("foreach {}[{}] in {} sort {} {} {}{}{}", s.value ? s.value->name + " = " : "", keys,
                               over, s.sort_direction, s.sort_column, static_cast<int>(s.sort_stat),
                               s.sort_stat == StatValue::Percentile ? fmt::format("({})", s.sort_percentile) : "",
                               s.limit ? " limit " + text(*s.limit) : ""),
                   s.body);
            break;
        }
        case StmtKind::Break:
            line("break");
            break;
        case StmtKind::Continue:
            line("continue");
            break;
        case StmtKind::Next:
            line("next");
            break;
        case StmtKind::Return:
            line(as<Return>(stmt).value ? "return " + text(*as<Return>(stmt).value) : "return");
            break;
        case StmtKind::Delete:
            line(fmt::format("delete @{}[{}]", as<Delete>(stmt).global->name, list(as<Delete>(stmt).keys)));
            break;
        case StmtKind::Try:
            nested("try", as<Try>(stmt).body);
            nested(as<Try>(stmt).message ? "catch " + as<Try>(stmt).message->name : "catch", as<Try>(stmt).handler);
            break;
        }
    }

    void indented(const Stmt& stmt) {
        indent_++;
        statement(stmt);
        indent_--;
    }

    void body(const Handler& handler) {
        indent_++;
        if (handler.condition)
            line("when " + text(*handler.condition));
        if (handler.entry_stack)
            line("stack pointer at the entry: " + text(*handler.entry_stack));
        for (size_t i = 0; i < handler.entry_values.size(); i++)
            line(fmt::format("entry{} = {}", i, text(*handler.entry_values[i])));
        statement(*handler.body);
        indent_--;
    }

  private:
    int indent_ = 0;
};

} // namespace

std::string dump_expr(const Expr& expr) { return text(expr); }

std::string dump_body(const Handler& handler) {
    Writer writer;
    writer.body(handler);
    return writer.out;
}

std::string dump_body(const Function& function) {
    Writer writer;
    writer.statement(*function.body);
    return writer.out;
}

namespace {

std::string variables(const std::vector<Local*>& locals) {
    std::string out;
    for (const Local* local : locals)
        out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", local->name, word(local->type));
    return out;
}

std::string key(const Global& global, size_t i) {
    if (global.key_bounds.empty())
        return word(global.keys[i]);
    const KeyBound& bound = global.key_bounds[i];
    if (bound.is_text)
        return "number of a text";
    if (global.keys[i] == ValueType::String)
        return fmt::format("string up to {}", bound.length);
    bool is_any = bound.low == INT64_MIN && bound.high == INT64_MAX;
    return is_any ? "long" : fmt::format("long in {} .. {}", bound.low, bound.high);
}

std::string head(const Global& global) {
    std::string keys;
    for (size_t i = 0; i < global.keys.size(); i++)
        keys += (keys.empty() ? "" : ", ") + key(global, i);
    std::string out =
        fmt::format("global {}{}: {}", global.name, keys.empty() ? "" : "[" + keys + "]", word(global.type));
    if (global.is_array())
        out += fmt::format(" capacity {}{}", global.capacity, global.wrap ? " wrap" : "");
    if (!global.address_of.empty())
        out += fmt::format(" = address of {}", global.address_of);
    if (global.initial_long)
        out += fmt::format(" = {}", global.initial_long);
    if (!global.initial_string.empty())
        out += fmt::format(" = {:?}", global.initial_string);
    if (global.stats.variance)
        out += fmt::format(" variance({})", global.stats.variance_shift);
    if (global.stats.quantiles)
        out += " percentiles";
    if (global.stats.histogram == plan::StatsNeeds::Log)
        out += " hist_log";
    if (global.stats.histogram == plan::StatsNeeds::Linear)
        out += fmt::format(" hist_linear({}, {}, {})", global.stats.low, global.stats.high, global.stats.width);
    out += global.used_in_kernel ? " kernel" : "";
    out += global.used_in_host ? " host" : "";
    return out + (global.auto_print ? " auto-print" : "");
}

} // namespace

std::string dump(const Program& program) {
    Writer writer;
    for (const Global* global : program.globals)
        writer.line(head(*global));
    for (const Function* function : program.functions) {
        writer.line(fmt::format("function {}({}): {}{}", function->name, variables(function->params),
                                word(function->result), function->recursive ? " recursive" : ""));
        if (!function->locals.empty())
            writer.line("  locals " + variables(function->locals));
        if (function->c_code.range.valid())
            writer.line("  C %{" + function->c_code.text + "%}");
        writer.indented(*function->body);
    }
    for (const Handler* handler : program.handlers) {
        std::string detail = handler->order ? fmt::format(" order {}", handler->order) : "";
        if (plan::traits(handler->kind).cause == plan::Cause::Timer)
            detail = fmt::format(" every {} ns +- {}", handler->timer.interval_ns, handler->timer.random_ns);
        writer.line(fmt::format("handler {}: {}{} in the {}", handler->name, plan::name_of(handler->kind), detail,
                                handler->in_kernel ? "kernel" : "host"));
        for (const plan::Point& point : handler->points)
            writer.line("  at " + point.pp);
        if (handler->lock >= 0)
            writer.line(fmt::format("  lock {} for {}", handler->lock, handler->locked_for));
        if (!handler->locals.empty())
            writer.line("  locals " + variables(handler->locals));
        writer.body(*handler);
    }
    return writer.out;
}

} // namespace sonde::hir
