// Probe points: from `process("p").function("f").return` to addresses, variables and an attach spec.
//
// A probe kind is one file (kind_*.cc) and one row of probe_kinds.def. It returns data and emits no code.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "base/kernel_files.h"
#include "frontend/ast/ast.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/hir/hir.h"
#include "frontend/types/header_types.h"
#include "frontend/types/kernel_types.h"
#include "runtime/plan.h"

namespace sonde {

struct ResolvedPoint;

struct Syscall {
    int number;
    const char* name;
    const char* parameters; // "int fd, char *buf"
    const char* text;       // "d p": how `argstr` has them (syscalls.def)
};

// How the kernel's functions and tracepoints can be probed.
struct KernelProbing {
    bool fentry = false;            // trampolines at a function's entry and return
    bool kprobe = false;            // breakpoints
    bool only_breakpoints = false;  // the user wants no others
    bool tracepoint_cookie = false; // one program can serve several tracepoints and knows which one it is at
    std::string why_not_netfilter, why_not_lsm; // empty: they can be had
};

// What probe kinds need from outside; lives as long as the translation and owns the opened modules.
struct ProbeEnvironment {
    bool guru = false;
    const KernelFiles* other_kernel = nullptr; // -r: the script is for that one; null: for the running one
    std::string command_path; // -c: the command's program, for `process` without an argument; empty without
    int64_t target_pid = 0;   // -x
    bool changes_return_addresses = false; // --attach=uretprobe
    bool listing = false;                  // -l, -L: what cannot be probed on this machine is listed too
    bool listing_variables = false;        // -L
    bool listing_addresses = false;        // -v with these
    // Told of each point that is found (-vv); null: nobody asks.
    std::function<void(const ResolvedPoint&)> on_point;
    std::vector<plan::Counter> counters; // of perf probes with .counter("name"), which run no handler
    // Control files, by their path and whether they are read: where the first handler of each was written.
    std::map<std::pair<std::string, bool>, Range> files;
    std::vector<std::pair<std::string, Range>>
        watchpoints; // whose memory it is (empty: the kernel's), and where written
    // What this machine's kernel can do, found out when it matters.
    std::function<const KernelProbing&()> kernel_probing;
    // The error number of counting these events on this machine; 0: they can be counted.
    std::function<int(const plan::PerfSpec&)> try_counter;

    // Opens each file once. Errors as DwarfModule::open.
    Result<DwarfModule*> module(const std::string& path);
    // The one that was opened as that file, by its name without links; null: none was.
    DwarfModule* opened_module(const std::string& path) const;
    // A header's types, by its name without `<>`; read once. Errors as HeaderTypes::open.
    Result<HeaderTypes*> header(const std::string& name, bool is_32_bit);
    // The system's headers. Errors as HeaderTypes::open_system.
    Result<HeaderTypes*> system_headers();
    // The kernel's types. Errors as KernelTypes::open.
    Result<KernelTypes*> kernel();
    // Its types, if what was translated is right for kernels with these types only.
    const KernelTypes* needed_kernel() const {
        return relies_on_kernel && kernel_ && *kernel_ ? (**kernel_).get() : nullptr;
    }
    std::vector<Syscall> no_code_calls;      // that this kernel does not have, once somebody asks
    std::set<std::string> told_no_variables; // files of which a warning says so
    bool relies_on_kernel = false;           // a place in the kernel's memory has come from its types
    // The kernel's debug information. Errors: there is none for this very build.
    Result<DwarfModule*> kernel_debug_info();
    // The same for one of its modules, whose addresses say where in a section something is (base/linked_object.h).
    Result<DwarfModule*> module_debug_info(const std::string& name);
    // The list of its symbols (base/kallsyms.h), read once. Errors: it cannot be read, or that of another kernel is not
    // known.
    const Result<std::string>& kernel_symbols() const;

  private:
    Result<DwarfModule*> object(const std::string& path);
    std::string kernel_release() const;

    std::map<std::string, std::unique_ptr<DwarfModule>> modules_;
    std::map<std::pair<std::string, bool>, std::unique_ptr<HeaderTypes>> headers_;
    std::optional<Result<std::unique_ptr<HeaderTypes>>> system_headers_;
    std::optional<Result<std::unique_ptr<KernelTypes>>> kernel_;
    mutable std::optional<Result<std::string>> symbols_;
};

// True for what names a header and no program: `<sys/stat.h>`.
inline bool is_header(std::string_view module) { return module.starts_with('<') && module.ends_with('>'); }

// Where a function calls another one, and by whom it is called itself.
struct Caller {
    std::vector<Address> return_addresses;
    FrameRule frame;             // at each of them
    std::vector<Caller> callers; // empty: any
};

// One place where a handler runs.
struct ResolvedPoint {
    plan::ProbeKind kind = plan::ProbeKind::Begin;
    bool in_kernel = false;
    plan::Point point; // pp, path, offset ... (pn and row are set by sema)
    plan::TimerSpec timer;
    int64_t order = 0;

    // Where variables are evaluated; null module: the kind has no `$variables`.
    DwarfModule* module = nullptr;
    FunctionInstance function;
    Address address = 0;              // the probed instruction, in the module
    Address entry_address = 0;        // .return: the function's entry (behind the prologue where needed)
    const PltEntry* plt = nullptr;    // an entry of the table of calls, without variables; owned by the module
    const UsdtMark* mark = nullptr;   // a static mark, with arguments instead of variables; owned by the module
    KernelTypes* kernel = nullptr;    // a point in the kernel: its types
    const Type* prototype = nullptr;  // a kernel function's or tracepoint's parameters and result; null: not known
    const Syscall* syscall = nullptr; // a system call, by the raw tracepoint of all
    bool is_exit = false;             // of a system call
    std::string system;               // a tracepoint's subsystem; empty: not known
    bool alone = false;               // its program can serve no other point
    bool is_function = false;         // a function's probe, which may sit at any of its first instructions
    bool is_return = false;
    std::vector<Caller> callers; // not empty: only calls by one of these count
    // A tail call of the function: what is probed is the jump, where all but the program counter is as at `address`.
    std::optional<Address> jump;
    bool at_call =
        false;          // `address` or `entry_address` is before the prologue: parameters are where the ABI passes them
    bool is_go = false; // a function of Go
    std::string listed; // its line of a listing, where making it was part of finding it
    bool at_return_instruction = false; // with is_return: `address` is one of the function's return instructions
    bool reads_registers = false;       // of the kernel
};

// Moves a function's probe to an instruction that costs the kernel less, where that changes nothing for `targets`, the
// target expressions that its handler has: the `push` that the function begins with, when these are parameters that the
// ABI passes in places that can be read.
void place_cheaply(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets);

// Has a function of the kernel probed by a breakpoint, for a handler that reads registers, which trampolines do not
// keep. Nothing happens to other points, and where the kernel has no breakpoints.
void keep_registers(ResolvedPoint& point, ProbeEnvironment& env);

// Resolves one probe point without aliases (sema has expanded those). Reports errors (unknown kind, no match with the
// nearest names, bad target ...) and returns what matched, in address order. An optional point (`?`) that does not
// resolve gives an empty result without a report.
std::vector<ResolvedPoint> resolve_point(const ast::ProbePoint& point, ProbeEnvironment& env, Diagnostics& diags);

// True if the first component names a probe kind (so that it needs no alias): "begin", "process", "timer" ...
bool is_probe_kind(const std::string& first_component);
// First components of all kinds, for suggestions.
std::vector<std::string> probe_kind_names();
// The forms of probe points, one a line, sorted, with `string` and `number` for what is given in parentheses.
std::vector<std::string> probe_point_forms();
// The points that the words `*` and `**` of a pattern find among these forms, with the arguments that are written.
// Which of them there are in a program, and which names a `*` in a form stands for, only resolve_point() tells.
std::vector<ast::ProbePoint> match_forms(const ast::ProbePoint& pattern);

// ---- variables ----------------------------------------------------------------------------------------------------

// How bind_target() talks to sema.
struct Binder {
    Arena& arena;
    Diagnostics& diags;
    ProbeEnvironment& env;
    // Lowers an ordinary expression (an index, a cast's operand).
    std::function<hir::Expr*(const ast::Expr&)> lower;
    // Registers an expression to be evaluated at the function's entry; gives the EntryRead. Null outside .return
    // probes.
    std::function<hir::Expr*(hir::Expr*)> at_entry;
    // A hidden local for a value that is needed several times; null if evaluating it again is as good.
    std::function<hir::Local*(const hir::Expr*)> hold = nullptr;
    // Set while lowering the operand of @entry: names are evaluated at the entry.
    bool inside_entry = false;
    // The C type that a script's value has because it came from a typed place; null: none.
    std::function<const Type*(const hir::Expr&)> c_type_of = nullptr;
    // Another program's debug information, by its path (ProbeEnvironment::module()).
    std::function<Result<DwarfModule*>(const std::string&)> module = nullptr;
    // Calls a function of the library; null: there is none.
    std::function<hir::Expr*(const char* name, std::vector<hir::Expr*> args)> call = nullptr;
    // Takes in a function that reads a value: gives it a name, or an earlier one that does the same in its place. Null:
    // there can be none here.
    std::function<hir::Function*(hir::Function&)> define = nullptr;
    // The address that a symbol of the kernel's has where and when the session runs.
    std::function<hir::Expr*(const std::string& symbol)> symbol_address = nullptr;
    // Notes the C type of a value that was read.
    std::function<void(const hir::Expr*, const Type*)> note_c_type = nullptr;
};

// The type that a target expression has, without looking at debug information: String for `$$vars` and its relatives
// and for a trailing `$` or `$$`, else Long.
hir::ValueType target_type(const ast::TargetExpr& expr);

// `$x->y[i]`, `$return`, `$$parms`, `@cast(e, "type")->m`, `@var("g")` at `point` as HIR. Reports and returns null on
// error: unknown variable (nearest names, what is visible), unknown member, not a pointer, unavailable here (why, where
// it is),
// `$return` outside .return, no debug information.
hir::Expr* bind_target(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);
// `&$x->y`: the address. Errors also: in a register, a bitfield.
hir::Expr* bind_address_of(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);
// Where the return address lies at the entry of a .return probe; null: on top of the stack.
hir::Expr* bind_return_address(const ResolvedPoint& point, Arena& arena, Diagnostics& diags, ProbeEnvironment& env);
// `$value = e` and `$value .= e` of a control file, `$verdict = e` and `$return = e` where the kernel goes by what a
// handler decides: a call of a function of the library. Nullopt: it is no such variable; null after a report.
std::optional<hir::Expr*> bind_assignment(const ast::TargetExpr& expr, bool append, hir::Expr* value,
                                          const ResolvedPoint& point, Binder& binder);

// An assignment to a target expression: `= value`, `op= value`; ++ and -- are those with 1.
struct Assignment {
    hir::Expr* value;
    std::optional<hir::BinaryOp> op;
    bool gives_old = false; // the expression's value is the one before; `op` is Add or Sub then
    Range range;            // of the operation
};
// Writes the program's memory. Errors also: in a register, no number, the kernel's memory, a handler that is not run by
// the program.
hir::Expr* bind_store(const ast::TargetExpr& expr, const Assignment& assignment, const ResolvedPoint& point,
                      Binder& binder);

// Whether one of `point.callers` calls; null if any may.
hir::Expr* bind_callers(const ResolvedPoint& point, Range range, Binder& binder);
// What a script calls that result: by its name, else "return" or "return1".
std::string result_name(const std::vector<Variable>& results, size_t index);

// ---- listings -----------------------------------------------------------------------------------------------------

// -l and -L: a line as `process("/bin/x").function("f@f.c:12") $a:int $b:struct s*`, with the address after the point
// where it is asked for.
std::string list_point(const ResolvedPoint& point, const ProbeEnvironment& env);
std::string list_variables(const ResolvedPoint& point); // what stands after the point, with a space in front
// -vv: `probe NAME@FILE:LINE process=PATH reloc=SECTION pc=0xADDR`; empty for what is in no program.
std::string describe_place(const ResolvedPoint& point);

} // namespace sonde
