// HIR, the high-level intermediate representation: the typed form of a script between the syntax tree and LLVM.
//
// Everything is resolved. Names are pointers to declarations, overloads are chosen, every expression has a type,
// `$x->y` is arithmetic on registers and loads, and probe points are addresses. The lowering (codegen/) needs nothing
// else: it never sees a probe kind or DWARF.
//
// For example, `--dump=hir` prints for
//
//     global n
//     probe begin { n[execname()]++; if (n["a"] > 3) printf("%d\n", -n["b"]) }
//
// this HIR. `@` marks a global, `%` a primitive, and the bound of the key comes from the primitive's row:
//
//     global n[string up to 15]: long capacity 2048 host
//     handler probe_0: begin in the host
//       at begin
//       (@n[%execname()] += 1)
//       if (@n["a"] > 3)
//         printf("%d\n", -(@n["b"]))
//
// An Arena owns all nodes; the pointers here do not own. An expression without side effects may have several parents
// (the expressions form a DAG), so a pass that changes a node in place changes it for all parents.
//
// Several expressions can raise a run-time error: division by 0, a read fault, an empty aggregate. An error ends the
// handler, or the innermost `try`.
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
#include "runtime/plan/data.h"
#include "runtime/plan/points.h"
#include "runtime/plan/probed_files.h"
#include "runtime/plan/python.h"
#include "runtime/plan/records.h"

namespace sonde::hir {

// The type of a script value. Unknown does not occur after the analysis.
enum class ValueType { Unknown, Long, String, Stats, Void };

// A parameter or local of a function, or a local of a handler. It is 0 or "" at the start of each invocation.
struct Local {
    std::string name;
    ValueType type = ValueType::Unknown;
    Range range;
    uint32_t index = 0; // counts from 0 in each function or handler, without gaps
    // Some assignment to the local is part of a larger expression, as in `f(x, x++)`. An earlier use in that expression
    // must keep the old value.
    bool assigned_within = false;
    // If not null, the local is a synonym for this existing string and has no memory (frontend/passes/forward.cc).
    const struct Expr* stands_for = nullptr;
};

// Bounds of a component of an array's keys, which hold whatever the script does.
struct KeyBound {
    uint64_t length = 0;                       // strings: the maximum length in bytes
    int64_t low = INT64_MIN, high = INT64_MAX; // longs: inclusive
    bool is_text = false;                      // longs: the number of a string in Program::texts
};

// A global variable: a scalar or an array.
struct Global {
    std::string name;
    Range range;
    uint32_t index = 0;                  // counts from 0 without gaps; plan::Global has the same index
    ValueType type = ValueType::Unknown; // of the scalar, or of the array's elements
    std::vector<ValueType> keys;         // empty for a scalar
    std::vector<KeyBound> key_bounds;    // one for each key component
    std::vector<std::string> key_names; // the expressions in the first statement that fills the array; empty if unknown
    std::vector<plan::KeyRole> key_roles; // one for each key component, or empty if all are plain
    uint64_t capacity = 0;                // arrays: the maximum number of elements
    bool has_own_capacity = false;        // the script sets the capacity; otherwise it is MAXMAPENTRIES
    // An array declared with `%`: when it is full, a new element replaces the oldest one.
    bool wrap = false;
    int64_t initial_long = 0;
    std::string initial_string;
    std::string address_of;      // the kernel symbol that it holds the address of; empty for an ordinary global
    plan::StatsNeeds stats;      // the statistics that the script reads; only for Stats
    bool used_in_kernel = false; // used by a kernel handler or by a function that one calls
    // Used by a host handler or by a function that one calls.
    bool used_in_host = false;
    bool is_own = false;             // declared by the script, not by the library
    bool auto_print = false;         // written but never read, so sonde prints it at the end
    bool print_as_pointer = false;   // auto_print shows its numbers in hexadecimal, because they are addresses
    bool only_grows = false;         // the script only adds numbers to it, none of them negative
    std::vector<std::string> labels; // names of the key's parts for metrics, from a comment or from --label
    // A scalar that `-G` can set when a saved plan runs; the initial value here is only the default.
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

// An expression. `kind` tells which of the structures below it is.
struct Expr {
    ExprKind kind;
    ValueType type;
    Range range; // the place in the script that a run-time error names

  protected:
    Expr(ExprKind k, ValueType t, Range r) : kind(k), type(t), range(r) {}
};

// Casts to the node type that `kind` names; the caller has checked the kind.
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
struct Element : Expr { // a[k...]; an element that does not exist reads as 0 or ""
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

// Div and Mod raise "division by 0"; x / -1 wraps. Shifts use the low six bits of the count. Shr copies the sign bit,
// ShrLogical shifts in zeros. Comparisons give 0 or 1 and take two longs or two strings (in strcmp order).
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
// `condition ? then_value : else_value`. Only one of the two is evaluated.
struct Ternary : Expr {
    Expr* condition;
    Expr* then_value;
    Expr* else_value;
    Ternary(Range r, Expr* c, Expr* t, Expr* e)
        : Expr(ExprKind::Ternary, t->type, r), condition(c), then_value(t), else_value(e) {}
};

// `target` is a LocalRef, GlobalRef or Element. `op` is nullopt for plain `=` and for `.=`, which sets `concat`. `x++`
// has the op Add, the value 1 and gives_old. Commutative updates of globals (Add, Sub, And, Or, Xor) are exact even if
// several processors make them at the same time.
struct Assign : Expr {
    Expr* target;
    Expr* value;
    std::optional<BinaryOp> op;
    bool concat = false;
    bool gives_old = false;    // the value of the expression is the target's old value
    bool value_unused = false; // the assignment is a statement, so its value is not needed
    Assign(Range r, Expr* t, Expr* v) : Expr(ExprKind::Assign, t->type, r), target(t), value(v) {}
};

struct StatAdd : Expr { // x <<< value; has the value of `value`
    Expr* target;       // GlobalRef or Element of type Stats
    Expr* value;
    StatAdd(Range r, Expr* t, Expr* v) : Expr(ExprKind::StatAdd, ValueType::Long, r), target(t), value(v) {}
};
// Count and Sum of nothing are 0; Min, Max, Avg, Variance, Percentile of nothing raise "empty aggregate".
enum class StatValue { Count, Sum, Min, Max, Avg, Variance, Percentile };
struct StatRead : Expr { // Long
    StatValue what;
    Expr* source;           // GlobalRef or Element of type Stats
    int64_t percentile = 0; // for Percentile, in parts per million: this share of the values is not above the result
    StatRead(Range r, StatValue w, Expr* s) : Expr(ExprKind::StatRead, ValueType::Long, r), what(w), source(s) {}
};
struct HistBucket : Expr { // Long; raises "histogram index out of range"
    Expr* source;
    Expr* index;
    HistBucket(Range r, Expr* s, Expr* i) : Expr(ExprKind::HistBucket, ValueType::Long, r), source(s), index(i) {}
};
struct Contains : Expr { // [k...] in array; a null key stands for `*`, any value
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
    // The compiled pattern. It is set when the whole script is known: only if the script calls matched() does a match
    // record its groups.
    std::shared_ptr<const regex::Program> program;
    Regex(Range r, Expr* s, std::string t, regex::Pattern p, bool n)
        : Expr(ExprKind::Regex, ValueType::Long, r), subject(s), text(std::move(t)), pattern(std::move(p)), negated(n) {
    }
};

struct Function;
// A call of a function. Arguments are passed by value.
struct Call : Expr {
    Function* callee;
    std::vector<Expr*> args;
    Call(Range r, Function* f, ValueType result, std::vector<Expr*> a)
        : Expr(ExprKind::Call, result, r), callee(f), args(std::move(a)) {}
};
// A call of a primitive, which stdlib/prelude.stp declares.
struct Intrinsic : Expr {
    std::string name;
    const Primitive& facts; // the primitive's row in primitives.def, or all defaults if it has no row
    std::vector<Expr*> args;
    // Called for its effect; if its value is used, that is 0 or "" by its type, else the type is Void.
    bool gives_nothing = false;
    Intrinsic(Range r, std::string n, ValueType result, std::vector<Expr*> a)
        : Expr(ExprKind::Intrinsic, result, r), name(std::move(n)), facts(facts_of(name)), args(std::move(a)) {}
    // Returns the row of the primitive `name`, or one with all defaults.
    static const Primitive& facts_of(const std::string& name) {
        static constexpr Primitive none;
        const Primitive* row = find_primitive(name);
        return row ? *row : none;
    }
};

// The printf family. `format` describes how the arguments become text. `args` are the arguments of its directives, in
// their order. A width or precision written as `*` is a separate Long argument. A histogram argument is a GlobalRef or
// Element of type Stats.
struct Print : Expr { // String if to_string; else Void, or 0 or "" where the value is used
    plan::Format format;
    std::vector<Expr*> args;
    bool to_string;
    Print(Range r, plan::Format f, std::vector<Expr*> a, bool s)
        : Expr(ExprKind::Print, s ? ValueType::String : ValueType::Void, r), format(std::move(f)), args(std::move(a)),
          to_string(s) {}
};

// A user-space register at the probe, by its number in the architecture's RegisterFile (arch/registers.h), or a pseudo
// register. Valid only in kernel handlers whose probe has registers.
struct Register : Expr { // Long
    // The base address of the thread's thread-local storage.
    static constexpr int thread_pointer = -1;
    static constexpr int syscall_number = -2; // only at a system call
    int number;
    Register(Range r, int n) : Expr(ExprKind::Register, ValueType::Long, r), number(n) {}
};

// An argument of the kernel function or tracepoint at the probe, by its position, as 64 bits; or the function's result.
// Valid only in handlers of such probes.
struct Argument : Expr { // Long
    static constexpr int result = -1;
    // The address of the system call's struct pt_regs, in the layout of a 64-bit program.
    static constexpr int call_registers = -2;
    int number;
    Argument(Range r, int n) : Expr(ExprKind::Argument, ValueType::Long, r), number(n) {}
};

// Reads `size` (1, 2, 4, 8) bytes of user or kernel memory and extends them by sign or with zeros; an address that
// cannot be read raises "read fault". If bit_size is not 0, the value is the bitfield of that many bits that starts at
// bit `bit_offset` (0 is the least significant bit).
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

// Writes a value's lowest `size` (1, 2, 4, 8) bytes to user memory; an address that cannot be written raises "write
// fault". Has the value of `value`.
struct Store : Expr { // Long
    Expr* address;
    Expr* value;
    uint32_t size;
    std::string what; // as written in the script, for messages: "$x->y"
    Store(Range r, Expr* a, Expr* v, uint32_t s, std::string w)
        : Expr(ExprKind::Store, ValueType::Long, r), address(a), value(v), size(s), what(std::move(w)) {}
};

// The value that Handler::entry_values[index] had when the function was entered.
// An EntryRead may only be used in a handler at the function's return.
struct EntryRead : Expr {
    uint32_t index;
    EntryRead(Range r, ValueType t, uint32_t i) : Expr(ExprKind::EntryRead, t, r), index(i) {}
};

// The string `text`, or `otherwise` if computing `text` raises an error.
struct Guarded : Expr { // String
    Expr* text;
    Expr* otherwise;
    Guarded(Range r, Expr* t, Expr* o) : Expr(ExprKind::Guarded, ValueType::String, r), text(t), otherwise(o) {}
};

// Truncates to `size` bytes and extends again by sign or with zeros, as C converts a register's value to int, char or
// bool.
struct Retype : Expr { // Long
    Expr* operand;
    uint32_t size;
    bool is_signed;
    Retype(Range r, Expr* e, uint32_t s, bool sign)
        : Expr(ExprKind::Retype, ValueType::Long, r), operand(e), size(s), is_signed(sign) {}
};

// The number in Program::texts of a string that is known at compile time (passes/intern.cc). The string is a literal, a
// text of the probe point, or an entry of a table of names.
struct TextNumber : Expr { // Long
    Expr* text;
    TextNumber(Range r, Expr* t) : Expr(ExprKind::TextNumber, ValueType::Long, r), text(t) {}
};
// The string with that number: the reverse of TextNumber.
struct NumberedText : Expr { // String
    Expr* number;
    NumberedText(Range r, Expr* n) : Expr(ExprKind::NumberedText, ValueType::String, r), number(n) {}
};

// The number that Program::point_numbers gives for the function at the probe point.
struct PointNumber : Expr { // Long
    explicit PointNumber(Range r) : Expr(ExprKind::PointNumber, ValueType::Long, r) {}
};
// An entry of a constant table; 0 if the index is out of range.
struct TableWord : Expr { // Long
    const std::vector<int64_t>* table;
    Expr* index;
    TableWord(Range r, const std::vector<int64_t>* t, Expr* i)
        : Expr(ExprKind::TableWord, ValueType::Long, r), table(t), index(i) {}
};

// ---- statements -------------------------------------------------------------------------------------------------

enum class StmtKind { Block, Expression, If, Loop, Foreach, Break, Continue, Next, Return, Delete, Try };

// A statement. `kind` tells which of the structures below it is.
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
struct Loop : Stmt { // `while` and `for`: `init; while (condition) { body; step }`; `continue` jumps to step
    Expr* init = nullptr;
    Expr* condition = nullptr; // null: endless
    Expr* step = nullptr;
    Stmt* body = nullptr;
    explicit Loop(Range r) : Stmt(StmtKind::Loop, r) {}
};
// `foreach (value = [k1, k2] in array[slice] limit n) body`.
struct Foreach : Stmt {
    Global* array = nullptr;
    std::vector<Local*> keys; // one for each key component of the array
    Local* value = nullptr;   // `v` in `foreach (v = k in a)`; null if not wanted, or if the elements are Stats
    std::vector<Expr*> slice; // empty: all elements; else one for each key component, where null stands for `*`
    int sort_direction = 0;   // +1 ascending, -1 descending, 0 insertion order
    int sort_column = 0;      // 0: sort by value; 1 and up: by that key component
    // Which statistic to sort by, if the elements are Stats and sort_column is 0.
    StatValue sort_stat = StatValue::Count;
    int64_t sort_percentile = 0; // for Percentile, as in StatRead
    Expr* limit = nullptr;       // maximum number of iterations, evaluated once; null: no limit
    // Loops over histogram buckets, `foreach (b in @hist_log(x))`: keys[0] is the bucket's number.
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
struct Next : Stmt { // ends the handler
    explicit Next(Range r) : Stmt(StmtKind::Next, r) {}
};
struct Return : Stmt {
    Expr* value; // null in functions without a result
    Return(Range r, Expr* v) : Stmt(StmtKind::Return, r), value(v) {}
};
// `delete array`, `delete array[keys]` or `delete scalar`.
struct Delete : Stmt {
    Global* global;
    std::vector<Expr*> keys; // empty: all elements, or the scalar's value; a null key stands for `*`
    Delete(Range r, Global* g, std::vector<Expr*> k) : Stmt(StmtKind::Delete, r), global(g), keys(std::move(k)) {}
};
// Runs `handler` if `body` raises a run-time error; `message` then has the error's text.
struct Try : Stmt {
    Stmt* body;
    Local* message; // the variable for the error's message; may be null
    Stmt* handler;
    Try(Range r, Stmt* b, Local* m, Stmt* h) : Stmt(StmtKind::Try, r), body(b), message(m), handler(h) {}
};

// ---- declarations -----------------------------------------------------------------------------------------------

// C code in the script, between `%{` and `%}`.
struct CText {
    std::string text;
    Range range; // includes `%{` and `%}`; invalid if the code does not exist
    bool is_expression = false;
};

// A script function that C code calls.
struct CCall {
    std::string name; // the function's name in the C code
    Call* call;       // for the types only: the arguments are C expressions
};

// A function of the script or of the library.
struct Function {
    std::string name;
    Range range;
    std::vector<Local*> params;
    std::vector<Local*> locals;            // without the parameters; their indices follow those of the parameters
    ValueType result = ValueType::Unknown; // Void: the function returns nothing
    bool may_give_nothing = false;         // no `return` in it has a value
    Range bare_return; // a `return` without a value; the function then returns nothing, whatever its other returns do
    Block* body = nullptr;
    CText c_code; // the body, if it is written in C; `body` is then a stand-in whose result is unknown to all passes
    std::vector<CCall> c_calls; // the script functions that c_code calls; the calls are in `body` as well
    Block* c_next = nullptr;    // runs when c_code passes on to the next function of the same name; also part of `body`
    bool c_pure = false;        // c_code has no side effect
    bool recursive = false;     // calls itself, directly or indirectly
    bool bounded = false;       // a library function that always ends; MAXACTION does not count its statements
    // Compiled to a separate kernel program, which handlers call, instead of into each handler. Such a function has at
    // most two parameters, both numbers. It prints nothing, needs no memory that it would have to wait for, and uses
    // nothing of the probe hit except its parameters.
    bool compiled_once = false;
    bool needs_same_types = false; // as in Handler
};

// A body, and all probe points for which it has the same meaning. Points share a handler if their variables live in the
// same places.
struct Handler {
    std::string name; // unique and valid as a symbol: "probe_0"
    Range range;
    plan::ProbeKind kind{}; // Begin
    bool in_kernel = false;
    std::vector<Local*> locals;
    Block* body = nullptr;
    Expr* condition = nullptr;       // `probe p if (condition)`; null if always
    std::vector<Expr*> entry_values; // Uretprobe: evaluated at the function's entry, read by EntryRead
    // Go: the entry is probed at a conditional jump; the hit counts only if the jump is not taken
    bool checks_stack = false;
    bool at_return = false;       // Uretprobe: the points are instructions that leave the function
    bool after_call = false;      // Uretprobe: the points are the instructions after a call of the function
    bool is_go = false;           // entry values belong to the goroutine, not to the thread
    bool reads_registers = false; // Kprobe, Kretprobe: the handler needs the complete registers
    // It is correct only for a kernel with the same types: it contains an offset, an address or a constant from these
    // types, or @defined has asked them.
    bool needs_same_types = false;
    Expr* entry_stack = nullptr;     // with entry_values: the stack pointer at the entry; null: it is the current one
    std::vector<plan::Point> points; // in the order in which they were resolved
    plan::TimerSpec timer;           // only for kind Timer
    int64_t order = 0;               // the N of begin(N), end(N), error(N)
    int32_t lock = -1;               // the lock that is held while it runs (passes/exclusion.cc); -1: none
    std::string locked_for;          // the names of the globals that the lock protects, for messages
};

// A whole program, ready for code generation.
struct Program {
    std::vector<Global*> globals;
    std::vector<Function*> functions; // only functions that are called; callees come before callers where possible
    std::vector<Handler*> handlers;   // in the order of the script
    uint32_t locks = 0;               // number of locks; Handler::lock is less than this
    std::vector<plan::Counter> counters;
    std::vector<sonde_python> pythons;   // the layouts of the probed interpreters of Python
    std::vector<plan::ProbedFile> files; // the files that contain the points; filled in last (probes/record_files.h)
    std::vector<std::string> texts; // strings that array keys hold as numbers: sorted, no duplicates, the first is ""
    std::vector<CText> c_blocks;    // C declarations for the functions in C; those of the library only if one is called
    // By plan::Point::function; a function that is missing has the number 0.
    std::map<std::string, int64_t> point_numbers;
};

// Whether the primitive returns a text that depends on the probe point alone, as pp() does.
bool is_point_text(const Intrinsic& intrinsic);
// Returns the text for one probe point.
const std::string& point_text(PointText text, const plan::Point& point);
// Returns the names in a table of names, which is a literal with `|` between the names.
std::vector<std::string> names_in(const ConstString& table);

// Text forms, for --dump=hir and for tests.
std::string dump(const Program& program);
std::string dump_body(const Handler& handler);
std::string dump_body(const Function& function);
std::string dump_expr(const Expr& expr);

} // namespace sonde::hir
