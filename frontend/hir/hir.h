// HIR: the typed middle form between the syntax tree and LLVM.
//
// Everything is resolved: names are pointers to declarations, overloads are chosen, every expression has a type,
// `$x->y` is arithmetic on registers and loads, probe points are addresses. The lowering (codegen/) needs nothing else
// and never sees a probe kind or DWARF. Owned by an Arena; expressions may be shared (a DAG) where they have no side
// effects.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/regex.h"
#include "base/source.h"
#include "frontend/hir/primitives.h"
#include "runtime/plan.h"

namespace sonde::hir {

enum class ValueType { Unknown, Long, String, Stats, Void };

// A function's parameter or local, or a handler's local. Zero ("" / 0) at the start of each invocation.
struct Local {
    std::string name;
    ValueType type = ValueType::Unknown;
    Range range;
    uint32_t index = 0; // dense, within its function or handler
    // Some assignment to it stands inside a larger expression, so its value there is that of the moment.
    bool assigned_within = false;
    // A text that is there already and that it always has where it is read (frontend/passes/forward.cc); null: it has
    // memory of its own.
    const struct Expr* stands_for = nullptr;
};

// What a component of an array's keys is at most, whatever the script does.
struct KeyBound {
    uint64_t length = 0;                       // strings: none is longer
    int64_t low = INT64_MIN, high = INT64_MAX; // longs: none is outside
    bool is_text = false;                      // longs: numbers of texts in Program::texts
};

struct Global {
    std::string name;
    Range range;
    uint32_t index = 0;                   // dense; plan::Global has the same index
    ValueType type = ValueType::Unknown;  // of the scalar, or of an array's elements
    std::vector<ValueType> keys;          // empty: a scalar
    std::vector<KeyBound> key_bounds;     // one for each of them
    std::vector<std::string> key_names;   // as the script writes them where it first fills the array; none: not known
    std::vector<plan::KeyRole> key_roles; // one for each; none: all are plain
    uint64_t capacity = 0;                // arrays
    bool has_own_capacity = false;        // the script gives it; else it is MAXMAPENTRIES
    bool wrap = false;
    int64_t initial_long = 0;
    std::string initial_string;
    std::string address_of;      // a symbol of the kernel's, whose address it holds; empty: an ordinary global
    plan::StatsNeeds stats;      // what the script's extractors read; only for Stats
    bool used_in_kernel = false; // some kernel handler (or function called from one) touches it
    bool used_in_host = false;
    bool is_own = false;           // the script declares it, not the library
    bool auto_print = false;       // written and never read: printed at the end
    bool print_as_pointer = false; // its numbers are addresses: printed in hexadecimal then
    // A scalar whose initial value -G can set when the plan, which is saved, runs: here only a default.
    bool is_settable = false;
    bool is_array() const { return !keys.empty(); }
};

// ---- expressions ------------------------------------------------------------------------------------------------

enum class ExprKind {
    ConstLong,
    ConstString,
    LocalRef,
    GlobalRef,
    Element,
    Unary,
    Binary,
    Logical,
    Concat,
    Ternary,
    Assign,
    StatAdd,
    StatRead,
    HistBucket,
    Contains,
    Regex,
    Call,
    Intrinsic,
    Print,
    Register,
    Argument,
    Load,
    Store,
    EntryRead,
    Retype,
    Guarded,
    TextNumber,
    NumberedText,
    PointNumber,
    TableWord,
};

struct Expr {
    ExprKind kind;
    ValueType type;
    Range range; // what an error at run time names

  protected:
    Expr(ExprKind k, ValueType t, Range r) : kind(k), type(t), range(r) {}
};

template <typename T, typename Node> const T& as(const Node& node) { return static_cast<const T&>(node); }
template <typename T, typename Node> T& as_mutable(Node& node) { return static_cast<T&>(node); }

struct ConstLong : Expr {
    int64_t value;
    ConstLong(Range r, int64_t v) : Expr(ExprKind::ConstLong, ValueType::Long, r), value(v) {}
};
struct ConstString : Expr {
    std::string value;
    ConstString(Range r, std::string v) : Expr(ExprKind::ConstString, ValueType::String, r), value(std::move(v)) {}
};
struct LocalRef : Expr {
    Local* local;
    LocalRef(Range r, Local* l) : Expr(ExprKind::LocalRef, l->type, r), local(l) {}
};
struct GlobalRef : Expr { // a scalar
    Global* global;
    GlobalRef(Range r, Global* g) : Expr(ExprKind::GlobalRef, g->type, r), global(g) {}
};
struct Element : Expr { // a[k...]; reading what is not there gives 0 or ""
    Global* array;
    std::vector<Expr*> keys;
    Element(Range r, Global* a, std::vector<Expr*> k)
        : Expr(ExprKind::Element, a->type, r), array(a), keys(std::move(k)) {}
};

enum class UnaryOp { Minus, Not, BitNot };
struct Unary : Expr { // Long
    UnaryOp op;
    Expr* operand;
    Unary(Range r, UnaryOp o, Expr* e) : Expr(ExprKind::Unary, ValueType::Long, r), op(o), operand(e) {}
};

// Div and Mod raise "division by 0"; x / -1 wraps. Shifts use the low six bits of the count. Comparisons give 0 or 1
// and take two longs or two strings (strcmp order). The Unsigned forms serve location expressions only.
enum class BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Shl,
    Shr,
    ShrLogical,
    And,
    Or,
    Xor,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
};
struct Binary : Expr { // Long
    BinaryOp op;
    Expr* left;
    Expr* right;
    Binary(Range r, BinaryOp o, Expr* a, Expr* b)
        : Expr(ExprKind::Binary, ValueType::Long, r), op(o), left(a), right(b) {}
};
struct Logical : Expr { // short-circuit, 0 or 1
    bool is_and;
    Expr* left;
    Expr* right;
    Logical(Range r, bool a, Expr* x, Expr* y)
        : Expr(ExprKind::Logical, ValueType::Long, r), is_and(a), left(x), right(y) {}
};
struct Concat : Expr { // String
    Expr* left;
    Expr* right;
    Concat(Range r, Expr* a, Expr* b) : Expr(ExprKind::Concat, ValueType::String, r), left(a), right(b) {}
};
struct Ternary : Expr {
    Expr* condition;
    Expr* then_value;
    Expr* else_value;
    Ternary(Range r, Expr* c, Expr* t, Expr* e)
        : Expr(ExprKind::Ternary, t->type, r), condition(c), then_value(t), else_value(e) {}
};

// `target` is LocalRef, GlobalRef or Element. `op` is nullopt for plain `=`; `concat` for `.=`.
// `x++` is op Add, value 1, gives_old. Commutative updates of globals (Add, Sub, And, Or, Xor) are exact under
// concurrency.
struct Assign : Expr {
    Expr* target;
    Expr* value;
    std::optional<BinaryOp> op;
    bool concat = false;
    bool gives_old = false;    // the expression's value is the one before
    bool value_unused = false; // a statement: no value needed
    Assign(Range r, Expr* t, Expr* v) : Expr(ExprKind::Assign, t->type, r), target(t), value(v) {}
};

struct StatAdd : Expr { // x <<< value; the expression's value is `value`
    Expr* target;       // GlobalRef or Element of type Stats
    Expr* value;
    StatAdd(Range r, Expr* t, Expr* v) : Expr(ExprKind::StatAdd, ValueType::Long, r), target(t), value(v) {}
};
// Count and Sum of nothing are 0; Min, Max, Avg, Variance, Percentile of nothing raise "empty aggregate".
enum class StatValue { Count, Sum, Min, Max, Avg, Variance, Percentile };
struct StatRead : Expr { // Long
    StatValue what;
    Expr* source;           // GlobalRef or Element of type Stats
    int64_t percentile = 0; // Percentile: of a million values, so many are not above it
    StatRead(Range r, StatValue w, Expr* s) : Expr(ExprKind::StatRead, ValueType::Long, r), what(w), source(s) {}
};
struct HistBucket : Expr { // Long; raises "histogram index out of range"
    Expr* source;
    Expr* index;
    HistBucket(Range r, Expr* s, Expr* i) : Expr(ExprKind::HistBucket, ValueType::Long, r), source(s), index(i) {}
};
struct Contains : Expr { // [k...] in array; a null key is `*`
    Global* array;
    std::vector<Expr*> keys;
    Contains(Range r, Global* a, std::vector<Expr*> k)
        : Expr(ExprKind::Contains, ValueType::Long, r), array(a), keys(std::move(k)) {}
};

struct Regex : Expr { // subject =~ "pattern", or !~; Long
    Expr* subject;
    std::string text; // the pattern as written
    regex::Pattern pattern;
    bool negated;
    // What it becomes, set when the whole script is known. A match that captures is what matched() tells of.
    std::shared_ptr<const regex::Program> program;
    Regex(Range r, Expr* s, std::string t, regex::Pattern p, bool n)
        : Expr(ExprKind::Regex, ValueType::Long, r), subject(s), text(std::move(t)), pattern(std::move(p)), negated(n) {
    }
};

struct Function;
struct Call : Expr {
    Function* callee;
    std::vector<Expr*> args;
    Call(Range r, Function* f, ValueType result, std::vector<Expr*> a)
        : Expr(ExprKind::Call, result, r), callee(f), args(std::move(a)) {}
};
// A primitive that stdlib/prelude.stp declares.
struct Intrinsic : Expr {
    std::string name;
    const Primitive& facts; // none of them, if it has no row
    std::vector<Expr*> args;
    bool gives_nothing = false; // as a value it is 0 or "", by its type; Void if nobody wants one
    Intrinsic(Range r, std::string n, ValueType result, std::vector<Expr*> a)
        : Expr(ExprKind::Intrinsic, result, r), name(std::move(n)), facts(facts_of(name)), args(std::move(a)) {}
    static const Primitive& facts_of(const std::string& name) {
        static constexpr Primitive none;
        const Primitive* row = find_primitive(name);
        return row ? *row : none;
    }
};

// printf and its family. `format` says how the arguments become text; args match its argument directives in order
// (`*` widths and precisions are Long arguments of their own). A histogram argument is a GlobalRef or Element of type
// Stats.
struct Print : Expr { // String when to_string; else Void, or 0 or "" where its value is used
    plan::Format format;
    std::vector<Expr*> args;
    bool to_string;
    Print(Range r, plan::Format f, std::vector<Expr*> a, bool s)
        : Expr(ExprKind::Print, s ? ValueType::String : ValueType::Void, r), format(std::move(f)), args(std::move(a)),
          to_string(s) {}
};

// A user register at the probe, by DWARF number (x86-64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15
// r8-r15, 16 rip), or the thread pointer. Kernel handlers with registers only.
struct Register : Expr { // Long
    static constexpr int thread_pointer = -1;
    static constexpr int syscall_number = -2;          // at a system call
    static constexpr int flags = -3, cs = -4, ss = -5; // not the ABI's to pass values in
    int number;
    Register(Range r, int n) : Expr(ExprKind::Register, ValueType::Long, r), number(n) {}
};

// What a kernel function or tracepoint was called with, by position, as 64 bits; or what the function returned.
// Handlers at such points only.
struct Argument : Expr { // Long
    static constexpr int result = -1;
    static constexpr int call_registers = -2; // a system call's, as a 64-bit program has them (struct pt_regs)
    int number;
    Argument(Range r, int n) : Expr(ExprKind::Argument, ValueType::Long, r), number(n) {}
};

// A fault-safe read of `size` (1, 2, 4, 8) bytes of user or kernel memory, sign- or zero-extended; raises "read fault".
// With bit_size, the bitfield of that many bits starting at bit_offset (0 = least significant) of the unit.
struct Load : Expr { // Long
    Expr* address;
    uint32_t size;
    bool is_signed;
    bool user = true;
    uint32_t bit_offset = 0;
    uint32_t bit_size = 0;
    Load(Range r, Expr* a, uint32_t s, bool sign)
        : Expr(ExprKind::Load, ValueType::Long, r), address(a), size(s), is_signed(sign) {}
};

// A fault-safe write of a value's lowest `size` (1, 2, 4, 8) bytes to user memory; raises "write fault". Gives the
// value.
struct Store : Expr { // Long
    Expr* address;
    Expr* value;
    uint32_t size;
    std::string what; // as the script has it: "$x->y", for messages
    Store(Range r, Expr* a, Expr* v, uint32_t s, std::string w)
        : Expr(ExprKind::Store, ValueType::Long, r), address(a), value(v), size(s), what(std::move(w)) {}
};

// The value that Handler::entry_values[index] had when the function was entered.
struct EntryRead : Expr {
    uint32_t index;
    EntryRead(Range r, ValueType t, uint32_t i) : Expr(ExprKind::EntryRead, t, r), index(i) {}
};

// A text, or another one where an error comes up in making it.
struct Guarded : Expr { // String
    Expr* text;
    Expr* otherwise;
    Guarded(Range r, Expr* t, Expr* o) : Expr(ExprKind::Guarded, ValueType::String, r), text(t), otherwise(o) {}
};

// Truncates to `size` bytes and extends again: C's conversion of a register's value to an int, char, bool ...
struct Retype : Expr { // Long
    Expr* operand;
    uint32_t size;
    bool is_signed;
    Retype(Range r, Expr* e, uint32_t s, bool sign)
        : Expr(ExprKind::Retype, ValueType::Long, r), operand(e), size(s), is_signed(sign) {}
};

// A text that is known before it is made, as its number in Program::texts: a literal, a text of the probe point or one
// from a table of names.
struct TextNumber : Expr { // Long
    Expr* text;
    TextNumber(Range r, Expr* t) : Expr(ExprKind::TextNumber, ValueType::Long, r), text(t) {}
};
// The text with that number.
struct NumberedText : Expr { // String
    Expr* number;
    NumberedText(Range r, Expr* n) : Expr(ExprKind::NumberedText, ValueType::String, r), number(n) {}
};

// What Program::point_numbers says of the function at the probe point.
struct PointNumber : Expr { // Long
    explicit PointNumber(Range r) : Expr(ExprKind::PointNumber, ValueType::Long, r) {}
};
// A word of a constant table; 0 outside of it.
struct TableWord : Expr { // Long
    const std::vector<int64_t>* table;
    Expr* index;
    TableWord(Range r, const std::vector<int64_t>* t, Expr* i)
        : Expr(ExprKind::TableWord, ValueType::Long, r), table(t), index(i) {}
};

// ---- statements -------------------------------------------------------------------------------------------------

enum class StmtKind { Block, Expression, If, Loop, Foreach, Break, Continue, Next, Return, Delete, Try };

struct Stmt {
    StmtKind kind;
    Range range;

  protected:
    Stmt(StmtKind k, Range r) : kind(k), range(r) {}
};
struct Block : Stmt {
    std::vector<Stmt*> body;
    explicit Block(Range r) : Stmt(StmtKind::Block, r) {}
};
struct ExprStmt : Stmt {
    Expr* expr;
    ExprStmt(Range r, Expr* e) : Stmt(StmtKind::Expression, r), expr(e) {}
};
struct If : Stmt {
    Expr* condition;
    Stmt* then_body;
    Stmt* else_body; // may be null
    If(Range r, Expr* c, Stmt* t, Stmt* e) : Stmt(StmtKind::If, r), condition(c), then_body(t), else_body(e) {}
};
struct Loop : Stmt { // while and for: `init; while (condition) { body; step }`; continue goes to step
    Expr* init = nullptr;
    Expr* condition = nullptr; // null: endless
    Expr* step = nullptr;
    Stmt* body = nullptr;
    explicit Loop(Range r) : Stmt(StmtKind::Loop, r) {}
};
struct Foreach : Stmt {
    Global* array = nullptr;
    std::vector<Local*> keys;               // one for each key of the array
    Local* value = nullptr;                 // `v = k in a`; null without, or when the elements are Stats
    std::vector<Expr*> slice;               // empty: everything; else one for each key, null is `*`
    int sort_direction = 0;                 // +1, -1; 0 insertion order
    int sort_column = 0;                    // 0 value, 1.. key
    StatValue sort_stat = StatValue::Count; // sorting Stats elements by value
    int64_t sort_percentile = 0;            // with Percentile: as StatRead has it
    Expr* limit = nullptr;                  // evaluated once
    // Histogram buckets: `foreach (b in @hist_log(x))`; keys[0] is the bucket number.
    Expr* histogram = nullptr; // GlobalRef or Element; then array is null
    Stmt* body = nullptr;
    explicit Foreach(Range r) : Stmt(StmtKind::Foreach, r) {}
};
struct Break : Stmt {
    explicit Break(Range r) : Stmt(StmtKind::Break, r) {}
};
struct Continue : Stmt {
    explicit Continue(Range r) : Stmt(StmtKind::Continue, r) {}
};
struct Next : Stmt { // leaves the handler
    explicit Next(Range r) : Stmt(StmtKind::Next, r) {}
};
struct Return : Stmt {
    Expr* value; // null in Void functions
    Return(Range r, Expr* v) : Stmt(StmtKind::Return, r), value(v) {}
};
struct Delete : Stmt {
    Global* global;
    std::vector<Expr*> keys; // empty: everything, or a scalar's reset; null is `*`
    Delete(Range r, Global* g, std::vector<Expr*> k) : Stmt(StmtKind::Delete, r), global(g), keys(std::move(k)) {}
};
struct Try : Stmt {
    Stmt* body;
    Local* message; // null without
    Stmt* handler;
    Try(Range r, Stmt* b, Local* m, Stmt* h) : Stmt(StmtKind::Try, r), body(b), message(m), handler(h) {}
};

// ---- declarations -----------------------------------------------------------------------------------------------

// C of the script's, as it stands between `%{` and `%}`.
struct CText {
    std::string text;
    Range range; // with these signs; invalid: there is none
    bool is_expression = false;
};

// A function of the script that C calls.
struct CCall {
    std::string name; // as C writes it
    Call* call;       // the arguments are C's: they say nothing but their types
};

struct Function {
    std::string name;
    Range range;
    std::vector<Local*> params;
    std::vector<Local*> locals;            // without the parameters; indices go on after them
    ValueType result = ValueType::Unknown; // Void: returns nothing
    bool may_give_nothing = false;         // it has no `return` with a value
    Range bare_return;                     // a `return` without a value; then it gives none, whatever others do
    Block* body = nullptr;
    CText c_code;               // its body where it is written in C; `body` then gives what nothing is known of
    std::vector<CCall> c_calls; // of c_code; they are in `body` too
    Block* c_next = nullptr;    // where c_code goes on to the next function of the name; in `body` too
    bool c_pure = false;        // c_code has no effect but its value
    bool recursive = false;     // calls itself, directly or through others
    bool bounded = false;       // not the script's: it ends by itself, and MAXACTION does not count what it does
    // In the kernel a program of its own, which handlers call, and no part of each of them. It has two numbers as
    // parameters at most, prints nothing, waits for no memory and asks nothing about the hit but what these say.
    bool compiled_once = false;
};

// One body for all probe points at which it means the same (points whose variables live in the same places share it).
struct Handler {
    std::string name; // "probe_0"; unique, a valid symbol
    Range range;
    plan::ProbeKind kind = plan::ProbeKind::Begin;
    bool in_kernel = false;
    std::vector<Local*> locals;
    Block* body = nullptr;
    Expr* condition = nullptr;       // probe p if (cond)
    std::vector<Expr*> entry_values; // Uretprobe: evaluated at the function's entry, read by EntryRead
    bool checks_stack = false;       // Go: the function's entry is probed at a jump, and counts if that is not taken
    bool at_return = false;          // Uretprobe: the points are instructions that leave the function, or
    bool after_call = false;         // ... those behind a call of it
    bool is_go = false;              // entry values belong to the goroutine, not to the thread
    bool reads_registers = false;    // Kprobe, Kretprobe: all registers have to be there
    Expr* return_address = nullptr;  // with entry_values: where the return address lies at that entry
    std::vector<plan::Point> points; // in the order of resolution
    plan::TimerSpec timer;           // kind Timer
    int64_t order = 0;               // begin(N), end(N), error(N)
    int32_t lock = -1;               // held while it runs, so that others see all of its effect or nothing; -1: none
    std::string locked_for;          // the globals that it is about
};

struct Program {
    std::vector<Global*> globals;
    std::vector<Function*> functions; // those that are called, callees before callers where possible
    std::vector<Handler*> handlers;   // in script order
    uint32_t locks = 0;               // Handler::lock is below
    std::vector<plan::Counter> counters;
    std::vector<plan::ProbedFile> files; // in which the points are; filled in last (probes/record_files.h)
    std::vector<std::string> texts;      // that arrays' keys hold as numbers, each once, sorted; the first is ""
    std::vector<CText> c_blocks;         // declarations for the functions in C; the library's only where one is called
    std::map<std::string, int64_t> point_numbers; // by plan::Point::function; others have 0
};

// What pp() and its relatives give, which depends on the probe point alone.
bool is_point_text(const Intrinsic& intrinsic);
const std::string& point_text(PointText text, const plan::Point& point);
// The names in a table of them, written with `|` in between.
std::vector<std::string> names_in(const ConstString& table);

// Text form for --dump=hir, and for tests.
std::string dump(const Program& program);
std::string dump_body(const Handler& handler);
std::string dump_body(const Function& function);
std::string dump_expr(const Expr& expr);

} // namespace sonde::hir
