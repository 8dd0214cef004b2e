// Prints trees as script text, for --dump=ast, -p1 and messages. Parsing the result gives the same tree.
//
// Parentheses are not part of the tree, so they are derived from precedence. This must agree with the table in
// parse/parse_expr.cc: if `.` were considered tighter than `+` here, `(a . b) + c` would be printed as `a . b + c`,
// which parses as `a . (b + c)`.
#include <fmt/format.h>

#include "frontend/ast/ast.h"
#include "frontend/ast/listing.h"

namespace sonde::ast {
namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (unsigned char c : text) {
        switch (c) {
        case '"':
            out += "\\\"";
            break;
        case '\\':
            out += "\\\\";
            break;
        case '\n':
            out += "\\n";
            break;
        case '\t':
            out += "\\t";
            break;
        default:
            if (c < 0x20 || c == 0x7f)
                out += fmt::format("\\{:03o}", c);
            else
                out += static_cast<char>(c);
        }
    }
    return out + "\"";
}

// The names are in the order of the enumeration. The same holds for the other tables here.
const char* spelling(BinaryOp op) {
    static const char* const names[] = {"*",  "/",  "%",  "+", "-",  ".",  "<<", ">>", ">>>", "<",  "<=",
                                        "==", "!=", ">=", ">", "=~", "!~", "&",  "^",  "|",   "&&", "||"};
    return names[static_cast<int>(op)];
}

const char* spelling(Extractor extractor) {
    static const char* const names[] = {"@count",    "@sum",        "@min",      "@max",        "@avg",
                                        "@variance", "@percentile", "@hist_log", "@hist_linear"};
    return names[static_cast<int>(extractor)];
}

// How tightly the parts of an expression bind. Parentheses are printed only where they are needed. This keeps messages
// short, and a long chain of operators does not become more deeply nested than it was written.
enum Tightness { Loosest, TernaryTightness, BinaryTightness, UnaryTightness = BinaryTightness + 11, Postfix, Tightest };

int tightness(BinaryOp op) {
    switch (op) {
    case BinaryOp::Or:
        return BinaryTightness;
    case BinaryOp::And:
        return BinaryTightness + 1;
    case BinaryOp::BitOr:
        return BinaryTightness + 2;
    case BinaryOp::BitXor:
        return BinaryTightness + 3;
    case BinaryOp::BitAnd:
        return BinaryTightness + 4;
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::Ge:
    case BinaryOp::Gt:
    case BinaryOp::Match:
    case BinaryOp::NotMatch:
        return BinaryTightness + 6;
    case BinaryOp::Shl:
    case BinaryOp::Shr:
    case BinaryOp::ShrLogical:
        return BinaryTightness + 7;
    case BinaryOp::Concat:
        return BinaryTightness + 8;
    case BinaryOp::Add:
    case BinaryOp::Sub:
        return BinaryTightness + 9;
    case BinaryOp::Mul:
    case BinaryOp::Div:
    case BinaryOp::Mod:
        return BinaryTightness + 10;
    }
    return Loosest;
}
constexpr int in_tightness = BinaryTightness + 5;

int tightness(const Expr& expr) {
    switch (expr.kind) {
    case ExprKind::Assign:
        return Loosest;
    case ExprKind::Ternary:
        return TernaryTightness;
    case ExprKind::Binary:
        return tightness(as<BinaryExpr>(expr).op);
    case ExprKind::In:
        return in_tightness;
    case ExprKind::Unary:
    case ExprKind::AddressOf:
        return UnaryTightness;
    case ExprKind::IncDec:
        return as<IncDecExpr>(expr).prefix ? UnaryTightness : Postfix;
    default:
        return Tightest;
    }
}

// Prints an operand, in parentheses if it binds less tightly than `needed`.
std::string operand(const Expr& expr, int needed) {
    std::string text = to_source(expr);
    return tightness(expr) < needed ? "(" + text + ")" : text;
}

// Prints a prefix operator. A blank separates two signs that the lexer would otherwise read as one, as in `- -x`.
std::string prefix(const std::string& sign, const Expr& expr) {
    std::string text = operand(expr, UnaryTightness);
    return sign + (tightness(expr) == UnaryTightness ? " " : "") + text;
}

std::string list(const std::vector<Expr*>& exprs) {
    std::string out;
    for (const Expr* expr : exprs)
        out += (out.empty() ? "" : ", ") + to_source(*expr);
    return out;
}

std::string components(const std::vector<Component>& steps) {
    std::string out;
    for (const Component& step : steps) {
        switch (step.kind) {
        case Component::Member:
            out += "->" + step.name;
            break;
        case Component::Index:
            out += "[" + to_source(*step.index) + "]";
            break;
        case Component::PrettyOne:
            out += "$";
            break;
        case Component::PrettyDeep:
            out += "$$";
            break;
        }
    }
    return out;
}

std::string number(int64_t value) {
    // A negative number is printed without a sign, because a minus would become an operator.
    return value < 0 ? fmt::format("{:#x}", static_cast<uint64_t>(value)) : fmt::format("{}", value);
}

std::string member(const MemberExpr& expr) {
    // Some values need parentheses before a component. Without them, a name would become an array, or the `$` would
    // become part of it.
    bool open = expr.base->kind == ExprKind::Call || expr.base->kind == ExprKind::Index ||
                expr.base->kind == ExprKind::AtOperator || expr.base->kind == ExprKind::Entry ||
                (expr.base->kind == ExprKind::Name && expr.components[0].kind == Component::Member);
    std::string base = to_source(*expr.base);
    return (open ? base : "(" + base + ")") + components(expr.components);
}

// Prints millionths as a percentage, such as 99.9.
std::string percent(int64_t millionths) {
    std::string out = fmt::format("{}.{:04}", millionths / 10000, millionths % 10000);
    out.erase(out.find_last_not_of('0') + 1);
    return out.ends_with('.') ? out.substr(0, out.size() - 1) : out;
}

std::string statistic(const StatisticExpr& expr) {
    std::string out = fmt::format("{}({}", spelling(expr.extractor), to_source(*expr.operand));
    for (int64_t param : expr.params)
        out += ", " + (expr.extractor == Extractor::Percentile ? percent(param) : std::to_string(param));
    return out + ")";
}

std::string print_call(const PrintExpr& expr) {
    std::string args = list(expr.args);
    if (expr.has_format || expr.has_delimiter)
        args = quoted(expr.format) + (args.empty() ? "" : ", " + args);
    return fmt::format("{}({})", expr.name, args);
}

std::string target(const TargetExpr& expr) {
    std::string module = expr.module.empty() ? "" : ", " + quoted(expr.module);
    std::string base = expr.name;
    if (expr.base == TargetExpr::Cast)
        base = fmt::format("@cast({}, {}{})", to_source(*expr.operand), quoted(expr.name), module);
    else if (expr.base == TargetExpr::Value)
        base = to_source(*expr.operand);
    else if (expr.base == TargetExpr::Var)
        base = fmt::format("@var({}{})", quoted(expr.name), module);
    return base + components(expr.components);
}

// Prints statements. Every body gets braces, so an `else` belongs to the right `if`.
class Writer {
  public:
    std::string text;

    void line(const std::string& content) {
        text += std::string(static_cast<size_t>(indent_) * 2, ' ') + content + "\n";
    }

    void block(const std::string& head, const Stmt& body) {
        line(head + (head.empty() ? "{" : " {"));
        finish_block(body);
    }

    // Prints the statements of a block after its `{`.
    void finish_block(const Stmt& body) {
        indent_++;
        if (body.kind == StmtKind::Block) {
            for (const Stmt* stmt : as<BlockStmt>(body).body)
                statement(*stmt);
        } else {
            statement(body);
        }
        indent_--;
        line("}");
    }

    void statement(const Stmt& stmt) {
        switch (stmt.kind) {
        case StmtKind::Block:
            block("", stmt);
            break;
        case StmtKind::Expression:
            line(to_source(*as<ExprStmt>(stmt).expr) + ";");
            break;
        case StmtKind::If: {
            // Print a chain of else-ifs as a chain, not as nested blocks.
            const auto* s = &as<IfStmt>(stmt);
            block(fmt::format("if ({})", to_source(*s->condition)), *s->then_body);
            while (s->else_body && s->else_body->kind == StmtKind::If) {
                s = &as<IfStmt>(*s->else_body);
                block(fmt::format("else if ({})", to_source(*s->condition)), *s->then_body);
            }
            if (s->else_body)
                block("else", *s->else_body);
            break;
        }
        case StmtKind::While:
            block(fmt::format("while ({})", to_source(*as<WhileStmt>(stmt).condition)), *as<WhileStmt>(stmt).body);
            break;
        case StmtKind::For: {
            const auto& s = as<ForStmt>(stmt);
            auto part = [](const Expr* expr) { return expr ? to_source(*expr) : std::string(); };
            block(fmt::format("for ({}; {}; {})", part(s.init), part(s.condition), part(s.step)), *s.body);
            break;
        }
        case StmtKind::Foreach:
            foreach_head(as<ForeachStmt>(stmt));
            break;
        case StmtKind::Break:
            line("break;");
            break;
        case StmtKind::Continue:
            line("continue;");
            break;
        case StmtKind::Next:
            line("next;");
            break;
        case StmtKind::Return:
            line(as<ReturnStmt>(stmt).value ? fmt::format("return {};", to_source(*as<ReturnStmt>(stmt).value))
                                            : "return;");
            break;
        case StmtKind::Delete:
            line(fmt::format("delete {};", to_source(*as<DeleteStmt>(stmt).target)));
            break;
        case StmtKind::Try: {
            const auto& s = as<TryStmt>(stmt);
            block("try", *s.body);
            block(s.variable.empty() ? "catch" : fmt::format("catch ({})", s.variable), *s.handler);
            break;
        }
        case StmtKind::Empty:
            line(";");
            break;
        }
    }

    void points(const std::string& head, const std::vector<ProbePoint*>& list, const std::string& tail,
                const char* comma = ", ") {
        std::string out = head;
        for (size_t i = 0; i < list.size(); i++)
            out += (i ? comma : "") + to_source(*list[i]);
        text += out + tail;
    }

  private:
    void foreach_head(const ForeachStmt& s) {
        std::string sign = s.sort_direction > 0 ? "+" : "-";
        std::string keys;
        for (size_t i = 0; i < s.keys.size(); i++)
            keys += (i ? ", " : "") + s.keys[i] +
                    (s.sort_direction && s.sort_column == static_cast<int>(i) + 1 ? sign : "");
        std::string head = s.value.empty() ? "" : s.value + " = ";
        head += s.keys.size() > 1 ? "[" + keys + "]" : keys;
        head += " in " + to_source(*s.collection);
        if (s.sort_extractor)
            head += fmt::format(" {}", spelling(*s.sort_extractor));
        if (s.sort_extractor == Extractor::Percentile)
            head += fmt::format("({})", percent(s.sort_percentile));
        if (s.sort_direction && s.sort_column == 0)
            head += (s.sort_extractor ? " " : "") + sign;
        if (s.limit)
            head += " limit " + to_source(*s.limit);
        block("foreach (" + head + ")", *s.body);
    }

    int indent_ = 0;
};

const char* type_suffix(DeclaredType type) {
    return type == DeclaredType::Long ? ":long" : type == DeclaredType::String ? ":string" : "";
}

} // namespace

std::string name_of_value(const Expr& expr) {
    const Expr* inner = &expr;
    while (inner->kind == ExprKind::Unary)
        inner = as<UnaryExpr>(*inner).operand;
    return inner->kind == ExprKind::Number || inner->kind == ExprKind::String ? "" : to_source(expr);
}

std::string to_source(const Expr& expr) {
    switch (expr.kind) {
    case ExprKind::Number:
        return number(as<NumberExpr>(expr).value);
    case ExprKind::String:
        return quoted(as<StringExpr>(expr).value);
    case ExprKind::Name:
        return as<NameExpr>(expr).name;
    case ExprKind::Index:
        return fmt::format("{}[{}]", as<IndexExpr>(expr).name, list(as<IndexExpr>(expr).keys));
    case ExprKind::Wildcard:
        return "*";
    case ExprKind::Embedded:
        return "%{" + as<EmbeddedExpr>(expr).text + "%}";
    case ExprKind::Call:
        return fmt::format("{}({})", as<CallExpr>(expr).name, list(as<CallExpr>(expr).args));
    case ExprKind::Print:
        return print_call(as<PrintExpr>(expr));
    case ExprKind::Unary: {
        static const char* const ops[] = {"-", "+", "!", "~"};
        return prefix(ops[static_cast<int>(as<UnaryExpr>(expr).op)], *as<UnaryExpr>(expr).operand);
    }
    case ExprKind::Binary: {
        const auto& e = as<BinaryExpr>(expr);
        int mine = tightness(e.op);
        return fmt::format("{} {} {}", operand(*e.left, mine), spelling(e.op), operand(*e.right, mine + 1));
    }
    case ExprKind::Ternary: {
        const auto& e = as<TernaryExpr>(expr);
        return fmt::format("{} ? {} : {}", operand(*e.condition, BinaryTightness), to_source(*e.then_value),
                           to_source(*e.else_value));
    }
    case ExprKind::Assign: {
        const auto& e = as<AssignExpr>(expr);
        std::string op = e.aggregate ? "<<<" : e.op ? fmt::format("{}=", spelling(*e.op)) : "=";
        return fmt::format("{} {} {}", to_source(*e.target), op, to_source(*e.value));
    }
    case ExprKind::IncDec: {
        const auto& e = as<IncDecExpr>(expr);
        std::string op = e.increment ? "++" : "--";
        return e.prefix ? op + to_source(*e.target) : to_source(*e.target) + op;
    }
    case ExprKind::In: {
        const auto& e = as<InExpr>(expr);
        if (e.histogram)
            return fmt::format("{} in {}", operand(*e.keys[0], in_tightness), to_source(*e.histogram));
        if (e.keys.size() == 1 && e.keys[0]->kind != ExprKind::Wildcard)
            return fmt::format("{} in {}", operand(*e.keys[0], in_tightness), e.array);
        return fmt::format("[{}] in {}", list(e.keys), e.array);
    }
    case ExprKind::Target:
        return target(as<TargetExpr>(expr));
    case ExprKind::AddressOf:
        return prefix("&", *as<AddressOfExpr>(expr).operand);
    case ExprKind::Defined:
        return fmt::format("@defined({})", to_source(*as<DefinedExpr>(expr).operand));
    case ExprKind::Entry:
        return fmt::format("@entry({})", to_source(*as<EntryExpr>(expr).operand));
    case ExprKind::Statistic:
        return statistic(as<StatisticExpr>(expr));
    case ExprKind::HistIndex:
        return fmt::format("{}[{}]", statistic(*as<HistIndexExpr>(expr).histogram),
                           to_source(*as<HistIndexExpr>(expr).index));
    case ExprKind::AtOperator:
        return fmt::format("{}({})", as<AtOperatorExpr>(expr).name, list(as<AtOperatorExpr>(expr).args));
    case ExprKind::Member:
        return member(as<MemberExpr>(expr));
    }
    return "";
}

std::string to_source(const ProbePoint& point) {
    std::string out;
    for (const PointComponent& component : point.components) {
        out += (out.empty() ? "" : ".") + component.name;
        if (component.arg == PointComponent::String)
            out += "(" + quoted(component.text) + ")";
        else if (component.arg == PointComponent::Number)
            out += fmt::format("({})", component.number);
    }
    if (point.optional)
        out += "?";
    if (point.sufficient)
        out += "!";
    if (point.condition)
        out += fmt::format(" if ({})", to_source(*point.condition));
    return out;
}

namespace {

void write_names(Writer& writer, const File& file) {
    for (const CBlock& block : file.c_blocks)
        writer.text += "%{" + block.text + "%}\n";
    for (const Global* global : file.globals) {
        std::string text =
            (global->is_private ? "private global " : "global ") + global->name + (global->wrap ? "%" : "");
        if (global->capacity)
            text += fmt::format("[{}]", *global->capacity);
        if (global->initializer && global->initializer->kind == ExprKind::Number)
            text += fmt::format(" = {}", as<NumberExpr>(*global->initializer).value);
        else if (global->initializer)
            text += " = " + to_source(*global->initializer);
        writer.line(text);
    }
    for (const Function* function : file.functions) {
        std::string params;
        for (const Parameter& param : function->params)
            params += (params.empty() ? "" : ", ") + param.name + type_suffix(param.type);
        std::string head = fmt::format("{}function {}{}({})", function->is_private ? "private " : "", function->name,
                                       type_suffix(function->result), params);
        if (function->priority)
            head += fmt::format(":{}", *function->priority);
        if (!function->body)
            writer.line(head + ";");
        else if (!function->embedded.empty())
            writer.text += head + " %{" + function->embedded + "%}\n";
        else
            writer.block(head, *function->body);
    }
}

std::string head(const Alias& alias) {
    std::string out = "probe ";
    for (const ProbePoint* name : alias.names)
        out += to_source(*name) + (name == alias.names.back() ? "" : " = ");
    return out + (!alias.prologue && alias.epilogue ? " += " : " = ");
}

} // namespace

std::string dump(const File& file) {
    Writer writer;
    write_names(writer, file);
    for (const Alias* alias : file.aliases) {
        writer.points(head(*alias), alias->points, "\n");
        if (alias->prologue)
            writer.block("", *alias->prologue);
        if (alias->prologue && alias->epilogue)
            writer.line(",");
        if (alias->epilogue)
            writer.block("", *alias->epilogue);
    }
    for (const Probe* probe : file.probes) {
        writer.points("probe ", probe->points, "\n");
        writer.block("", *probe->body);
    }
    return writer.text;
}

std::string parse_listing(const File& file) {
    Writer writer;
    write_names(writer, file);
    for (const Alias* alias : file.aliases) {
        writer.points(head(*alias), alias->points, "{\n", ",");
        writer.finish_block(alias->prologue ? *alias->prologue : *alias->epilogue);
        if (alias->prologue && alias->epilogue) {
            writer.line(", {");
            writer.finish_block(*alias->epilogue);
        }
    }
    for (const Probe* probe : file.probes) {
        writer.points("probe ", probe->points, "{\n", ",");
        writer.finish_block(*probe->body);
    }
    return writer.text;
}

} // namespace sonde::ast
