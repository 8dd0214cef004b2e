// The syntax tree: the script as written, with source ranges. An Arena owns the nodes, and they do not change after
// parsing. Types are not stored here; they are part of HIR (frontend/hir/hir.h).
//
// Names are not resolved. In `n + $x->y[3]`, `n` is a NameExpr, whether it is a local, a global of the library or a
// function without parentheses. `$x->y[3]` is a TargetExpr with the name "$x" and two components, the member `y` and
// the index 3. Only sema knows whether the program has such a variable.
//
// Nodes have no virtual functions. A pass switches over `kind` and casts with as<>, so the compiler warns about a
// switch that lacks a new kind and has no `default`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace sonde::ast {

// The names of the operators that begin with `@`, without the `@`.
constexpr std::string_view at_operators[] = {
    "defined",   "entry",    "cast",     "var",         "count", "sum",        "min",        "max",
    "avg",       "variance", "hist_log", "hist_linear", "enum",  "enumname",   "probewrite", "uregister",
    "kregister", "uderef",   "kderef",   "const",       "perf",  "percentile",
};

// ---- expressions ------------------------------------------------------------------------------------------------

enum class ExprKind {
    Number,     // 42
    String,     // "text" (escapes decoded, adjacent literals joined)
    Name,       // x: a local, a global, or a function without parentheses
    Index,      // a[k1, k2] on a plain name; `*` keys (slices) are Wildcard
    Wildcard,   // `*` as a key in a slice
    Call,       // f(a, b)
    Print,      // printf(...), sprint(...) and the rest of that family
    Unary,      // - + ! ~
    Binary,     // a + b, comparisons, && ||, `.` concatenation, =~ !~
    Ternary,    // c ? a : b
    Assign,     // a = b, a += b, a <<< b ...
    IncDec,     // ++a, a--
    Embedded,   // %{ C %}
    In,         // k in a, [k1, k2] in a
    Target,     // $x, $$vars, $return, @var("x@cu", "module"), @cast(p, "type", "module")  + components
    AddressOf,  // &$x->y
    Defined,    // @defined($x->y)
    Entry,      // @entry(e)
    Statistic,  // @count(x), @hist_log(x), @hist_linear(x, lo, hi, w), @variance(x, b), @percentile(x, p)
    HistIndex,  // @hist_log(x)[i]
    AtOperator, // any other @name(args): @perf, @enum, @const, @kregister ... (sema looks up the name)
    Member,     // e->m or e[i], where e has a pointer type but is not a $variable
};

// An expression. `kind` tells which of the structures below it is.
struct Expr {
    ExprKind kind;
    Range range;
    // Number of nodes from here to the deepest leaf; limited (parse/parser.h), so that passes may recurse.
    int height = 1;

  protected:
    Expr(ExprKind k, Range r) : kind(k), range(r) {}
};

// Casts to the node type that `kind` names; the caller has checked the kind.
template <typename T, typename Node> const T& as(const Node& node) { return static_cast<const T&>(node); }

// `42`, `0x2a`.
struct NumberExpr : Expr {
    int64_t value;
    NumberExpr(Range r, int64_t v) : Expr(ExprKind::Number, r), value(v) {}
};

struct StringExpr : Expr {
    std::string value;
    StringExpr(Range r, std::string v) : Expr(ExprKind::String, r), value(std::move(v)) {}
};

// `x`. Sema decides whether it means a local, a global or a function.
struct NameExpr : Expr {
    std::string name;
    NameExpr(Range r, std::string n) : Expr(ExprKind::Name, r), name(std::move(n)) {}
};

struct EmbeddedExpr : Expr { // in privileged files only
    std::string text;        // the text between `%{` and `%}`
    EmbeddedExpr(Range r, std::string t) : Expr(ExprKind::Embedded, r), text(std::move(t)) {}
};

// `a[k1, k2]`.
struct IndexExpr : Expr {
    std::string name;
    Range name_range;
    std::vector<Expr*> keys;
    IndexExpr(Range r, std::string n, Range nr, std::vector<Expr*> k)
        : Expr(ExprKind::Index, r), name(std::move(n)), name_range(nr), keys(std::move(k)) {}
};

// The `*` in `a[*, 1]`: a slice has all elements that agree in the other components of the key.
struct WildcardExpr : Expr {
    explicit WildcardExpr(Range r) : Expr(ExprKind::Wildcard, r) {}
};

// `f(a, b)`.
struct CallExpr : Expr {
    std::string name;
    Range name_range;
    std::vector<Expr*> args;
    CallExpr(Range r, std::string n, Range nr, std::vector<Expr*> a)
        : Expr(ExprKind::Call, r), name(std::move(n)), name_range(nr), args(std::move(a)) {}
};

// `printf("%d", x)` and the rest of the family.
struct PrintExpr : Expr {
    bool to_string = false;     // sprint, sprintln, sprintd, sprintdln, sprintf
    bool newline = false;       // println, printdln
    bool has_format = false;    // printf, sprintf: `format` is the literal
    bool has_delimiter = false; // printd, printdln: `format` is the literal delimiter
    std::string name;           // as written: "printf"
    std::string format;
    Range format_range;
    std::vector<Expr*> args; // without the format or delimiter
    explicit PrintExpr(Range r) : Expr(ExprKind::Print, r) {}
};

enum class UnaryOp { Minus, Plus, Not, BitNot };
struct UnaryExpr : Expr {
    UnaryOp op;
    Expr* operand;
    UnaryExpr(Range r, UnaryOp o, Expr* e) : Expr(ExprKind::Unary, r), op(o), operand(e) {}
};

enum class BinaryOp {
    Mul,
    Div,
    Mod,
    Add,
    Sub,
    Concat,
    Shl,
    Shr,
    ShrLogical,
    Lt,
    Le,
    Eq,
    Ne,
    Ge,
    Gt,
    Match,
    NotMatch,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
};
// `a + b`, also comparisons, `&&`, `.` and `=~`. `op_range` is the place of the operator, for messages.
struct BinaryExpr : Expr {
    BinaryOp op;
    Range op_range;
    Expr* left;
    Expr* right;
    BinaryExpr(Range r, BinaryOp o, Range orange, Expr* l, Expr* e)
        : Expr(ExprKind::Binary, r), op(o), op_range(orange), left(l), right(e) {}
};

struct TernaryExpr : Expr {
    Expr* condition;
    Expr* then_value;
    Expr* else_value;
    TernaryExpr(Range r, Expr* c, Expr* t, Expr* e)
        : Expr(ExprKind::Ternary, r), condition(c), then_value(t), else_value(e) {}
};

// `op` is the operator before the `=`; nullopt for plain `=`. `aggregate` is set for `<<<`.
struct AssignExpr : Expr {
    std::optional<BinaryOp> op;
    bool aggregate = false; // <<<
    Expr* target;
    Expr* value;
    AssignExpr(Range r, Expr* t, Expr* v) : Expr(ExprKind::Assign, r), target(t), value(v) {}
};

// `++x`, `x--`.
struct IncDecExpr : Expr {
    bool increment;
    bool prefix;
    Expr* target;
    IncDecExpr(Range r, bool inc, bool pre, Expr* t)
        : Expr(ExprKind::IncDec, r), increment(inc), prefix(pre), target(t) {}
};

struct StatisticExpr;
// `k in a`, `[k1, k2] in a`.
struct InExpr : Expr {
    std::vector<Expr*> keys; // Wildcard allowed
    std::string array;
    StatisticExpr* histogram = nullptr; // set for `n in @hist_log(x)`, which has no array
    Range array_range;
    InExpr(Range r, std::vector<Expr*> k, std::string a, Range ar)
        : Expr(ExprKind::In, r), keys(std::move(k)), array(std::move(a)), array_range(ar) {}
};

// One step of `$x->y[3].z$$`.
struct Component {
    enum Kind { Member, Index, PrettyOne, PrettyDeep } kind; // ->m, [e], trailing $, trailing $$
    Range range;
    std::string name;      // Member
    Expr* index = nullptr; // Index
};

// A target expression: something in the traced program or the kernel. It has a base and components, as in `$x->y[3]`.
struct TargetExpr : Expr {
    // Value: a script value that has a pointer type, because it came from an expression with a type (`p = $x; p->y`).
    enum Base { Variable, Var, Cast, Value } base = Variable;
    std::string name;   // with its `$`: "$x", "$$vars", "$return"; for Var the text inside @var(), for Cast the type
    std::string module; // the module argument of @var and @cast as written; may be empty
    Expr* operand = nullptr; // Cast: the pointer; Value: the value
    std::vector<Component> components;
    explicit TargetExpr(Range r) : Expr(ExprKind::Target, r) {}
};

// `&$x->y`: the address in the traced program.
struct AddressOfExpr : Expr {
    Expr* operand;
    AddressOfExpr(Range r, Expr* e) : Expr(ExprKind::AddressOf, r), operand(e) {}
};

// `@defined($x)`: whether `$x` can be read at this probe point. Decided at compile time.
struct DefinedExpr : Expr {
    Expr* operand;
    DefinedExpr(Range r, Expr* e) : Expr(ExprKind::Defined, r), operand(e) {}
};

// `@entry($x)`: in a .return probe, the value at the function's entry.
struct EntryExpr : Expr {
    Expr* operand;
    EntryExpr(Range r, Expr* e) : Expr(ExprKind::Entry, r), operand(e) {}
};

enum class Extractor { Count, Sum, Min, Max, Avg, Variance, Percentile, HistLog, HistLinear };
// `@count(x)`, `@hist_log(x)`: a value computed from a statistic.
struct StatisticExpr : Expr {
    Extractor extractor;
    Expr* operand;               // Name or Index
    std::vector<int64_t> params; // hist_linear: low, high, width; variance: bit shift;
                                 // percentile: millionths
    StatisticExpr(Range r, Extractor x, Expr* e) : Expr(ExprKind::Statistic, r), extractor(x), operand(e) {}
};

// `@hist_log(x)[i]`: the count in a bucket.
struct HistIndexExpr : Expr {
    StatisticExpr* histogram;
    Expr* index;
    HistIndexExpr(Range r, StatisticExpr* h, Expr* i) : Expr(ExprKind::HistIndex, r), histogram(h), index(i) {}
};

// Any other operator with `@`.
struct AtOperatorExpr : Expr {
    std::string name; // with its `@`
    std::vector<Expr*> args;
    AtOperatorExpr(Range r, std::string n) : Expr(ExprKind::AtOperator, r), name(std::move(n)) {}
};

// `p->m`, where p is a script value.
struct MemberExpr : Expr {
    Expr* base;
    std::vector<Component> components;
    MemberExpr(Range r, Expr* b) : Expr(ExprKind::Member, r), base(b) {}
};

// ---- statements -------------------------------------------------------------------------------------------------

enum class StmtKind {
    Block,
    Expression,
    If,
    While,
    For,
    Foreach,
    Break,
    Continue,
    Next,
    Return,
    Delete,
    Try,
    Empty,
};

// A statement. `kind` tells which of the structures below it is.
struct Stmt {
    StmtKind kind;
    Range range;

  protected:
    Stmt(StmtKind k, Range r) : kind(k), range(r) {}
};

struct BlockStmt : Stmt {
    std::vector<Stmt*> body;
    explicit BlockStmt(Range r) : Stmt(StmtKind::Block, r) {}
};
struct ExprStmt : Stmt {
    Expr* expr;
    ExprStmt(Range r, Expr* e) : Stmt(StmtKind::Expression, r), expr(e) {}
};
struct IfStmt : Stmt {
    Expr* condition;
    Stmt* then_body;
    Stmt* else_body; // may be null
    IfStmt(Range r, Expr* c, Stmt* t, Stmt* e) : Stmt(StmtKind::If, r), condition(c), then_body(t), else_body(e) {}
};
struct WhileStmt : Stmt {
    Expr* condition;
    Stmt* body;
    WhileStmt(Range r, Expr* c, Stmt* b) : Stmt(StmtKind::While, r), condition(c), body(b) {}
};
struct ForStmt : Stmt {
    Expr* init;      // may be null
    Expr* condition; // may be null: endless
    Expr* step;      // may be null
    Stmt* body;
    ForStmt(Range r, Expr* i, Expr* c, Expr* s, Stmt* b)
        : Stmt(StmtKind::For, r), init(i), condition(c), step(s), body(b) {}
};
// `foreach (value = [k1, k2] in a @sum - limit 10) body`.
struct ForeachStmt : Stmt {
    std::string value; // for `v = k in a`; empty if not given
    Range value_range;
    std::vector<std::string> keys;
    std::vector<Range> key_ranges;
    Expr* collection = nullptr;              // Name, Index (slice), or Statistic (histogram buckets)
    int sort_direction = 0;                  // +1 ascending, -1 descending, 0 insertion order
    int sort_column = 0;                     // 0: the value; 1..9: that key component; unused if sort_direction is 0
    std::optional<Extractor> sort_extractor; // `a @sum -`
    int64_t sort_percentile = 0;             // `a @percentile(99.9) -`, in millionths
    Expr* limit = nullptr;
    Stmt* body = nullptr;
    explicit ForeachStmt(Range r) : Stmt(StmtKind::Foreach, r) {}
};
struct BreakStmt : Stmt {
    explicit BreakStmt(Range r) : Stmt(StmtKind::Break, r) {}
};
struct ContinueStmt : Stmt {
    explicit ContinueStmt(Range r) : Stmt(StmtKind::Continue, r) {}
};
// `next`: ends the handler. In a function, the call goes on with the next function of the same name.
struct NextStmt : Stmt {
    explicit NextStmt(Range r) : Stmt(StmtKind::Next, r) {}
};
struct ReturnStmt : Stmt {
    Expr* value; // may be null
    ReturnStmt(Range r, Expr* v) : Stmt(StmtKind::Return, r), value(v) {}
};
// `delete a`, `delete a[k]`, `delete x`.
struct DeleteStmt : Stmt {
    Expr* target; // Name or Index
    DeleteStmt(Range r, Expr* t) : Stmt(StmtKind::Delete, r), target(t) {}
};
// `try body catch (variable) handler`.
struct TryStmt : Stmt {
    Stmt* body;
    std::string variable; // for `catch (msg)`; empty if not given
    Range variable_range;
    Stmt* handler;
    TryStmt(Range r, Stmt* b, Stmt* h) : Stmt(StmtKind::Try, r), body(b), handler(h) {}
};
// A `;` alone.
struct EmptyStmt : Stmt {
    explicit EmptyStmt(Range r) : Stmt(StmtKind::Empty, r) {}
};

// ---- declarations -----------------------------------------------------------------------------------------------

enum class DeclaredType { None, Long, String };

// A global variable of the script or the library.
struct Global {
    std::string name;
    Range range;
    bool is_private = false;
    Expr* initializer = nullptr;     // Number, negative Number or String
    std::optional<int64_t> capacity; // a[N]
    bool wrap = false;               // a%
};

// A parameter of a function. Its type is optional in the source.
struct Parameter {
    std::string name;
    DeclaredType type = DeclaredType::None;
    Range range;
};

// `function f:long(a, b:string) { ... }`.
struct Function {
    std::string name;
    Range range; // the whole declaration
    Range name_range;
    bool is_private = false;
    DeclaredType result = DeclaredType::None;
    std::vector<Parameter> params;
    // `function f(x):N`. Of functions with the same name and arity, a call tries the one with the lowest number first.
    std::optional<int64_t> priority;
    // Null for a primitive, `function f:long(a:string);`, which only library files may declare (stdlib/prelude.stp).
    BlockStmt* body = nullptr;
    // A body in C, `%{ ... %}`, in privileged files only; `body` is then an empty block at the same position.
    std::string embedded;
    std::string doc; // the comment above the declaration, without comment signs; lines end in a newline
};

// A component of a probe point: process("a"), function("f") and return in process("a").function("f").return
struct PointComponent {
    std::string name;
    Range range;
    enum Arg { None, Number, String } arg = None;
    int64_t number = 0;
    std::string text;
    Range arg_range;
    bool optional = false, sufficient = false; // `?` or `!` after the component, inside of alternatives
};

// One probe point, after its alternatives were expanded. `?` makes it optional: then it need not exist. `!` also
// ignores the points after it if it exists.
struct ProbePoint {
    std::vector<PointComponent> components;
    bool optional = false;     // ?
    bool sufficient = false;   // !
    Expr* condition = nullptr; // if (e)
    Range range;
};

// `probe points body`.
struct Probe {
    std::vector<ProbePoint*> points;
    BlockStmt* body = nullptr;
    Range range;
};

// `probe a = b = points {prologue}, {epilogue}`.
struct Alias {
    std::vector<ProbePoint*> names; // `a = b = points` defines a and b
    std::vector<ProbePoint*> points;
    BlockStmt* prologue = nullptr;
    BlockStmt* epilogue = nullptr;
    Range range;
    std::string doc;
};

// A block `%{ ... %}` outside of functions: C declarations for the functions that are written in C.
struct CBlock {
    std::string text; // the text between `%{` and `%}`
    Range range;      // includes `%{` and `%}`
};

// A parsed file; the declarations of each kind are in their order in the text.
struct File {
    FileId id = 0;
    std::vector<Global*> globals;
    std::vector<Function*> functions;
    std::vector<Probe*> probes;
    std::vector<Alias*> aliases;
    std::vector<CBlock> c_blocks;

    bool is_empty() const { return globals.empty() && functions.empty() && probes.empty() && aliases.empty(); }
};

// Prints a file for --dump=ast and -p1. Parsing the result gives the same tree.
std::string dump(const File& file);
// Prints one expression or probe point as it could be written in a script.
std::string to_source(const Expr& expr);
std::string to_source(const ProbePoint& point);
// Returns the label for a value in machine-readable output: its source form, or "" for a literal, which needs no label.
std::string name_of_value(const Expr& expr);

} // namespace sonde::ast
