// Declarations shared by the files of the kind `process`.
#pragma once

#include <cerrno>

#include "frontend/probes/kinds.h"

namespace sonde {

// A program or library that `process(...)` selects, with or without `.library(...)`.
struct ProcessTarget {
    DwarfModule* module = nullptr;
    std::string text; // as in pp(): process("/bin/x").library("/lib/y.so")
    // Only processes that run this program, or only this process; empty and 0: all.
    std::string program;
    int64_t pid = 0;
    bool changes_return_addresses = false; // the user wants returns to be traced by changing return addresses
    bool only_lists = false;               // for listings: names matter, exact places do not
    // The kernel or a kernel module. The kernel traces its returns itself (kretprobe, fexit), and knows the result even
    // if the function jumps to another one. No exception unwinds through kernel functions, and none of them returns
    // twice.
    bool is_kernel = false;
};

// The parts of .function("...").call or .statement("...").
struct ProcessPattern {
    const ast::PointComponent* component = nullptr; // function or statement
    bool is_statement = false;
    FunctionPattern parsed;            // for a string argument
    std::vector<FunctionPattern> more; // for further lines
    // The lines after a function's file. They select labels; functions are matched by `parsed`, which ignores lines.
    std::vector<FunctionPattern> lines;
    std::string suffix; // "call", "return", "inline", "exported", "nearest", "absolute" or empty
    std::string active; // `.maxactive(N)` as written, or ""
    // The place inside the function.
    const ast::PointComponent* inside = nullptr; // label, callee or callees
    std::string name = "*";                      // a pattern for the label or the callee
    int depth = 1;                               // maximum number of nested calls
};

// The programs that `process`, `process(PID)` or `process("P")` means: paths, or everything that the target process or
// any process runs.
struct Programs {
    std::vector<std::string> paths;
    int64_t pid = 0;
    bool all = false; // no program was given, and any is allowed
};
// Finds the programs. Reports an error and returns an empty result if no such program exists. `all_will_do`: the point
// does not need a program.
Programs find_programs(Resolving& resolving, bool all_will_do);
// If the file that the point or -c names is a script, adds that to the report, and that `program` is its interpreter.
void note_script(DiagBuilder& report, const Resolving& resolving, const std::string& program);

// Opens the programs or libraries that the components before `next` name. Reports an error and returns nothing if none
// exists.
std::vector<ProcessTarget> open_process_targets(Resolving& resolving, size_t next);

// Several containers may have the program. Warns that in those of `without`, nothing matches `component`.
void warn_of_targets_without(Resolving& resolving, const ast::PointComponent& component,
                             const std::vector<ProcessTarget>& without);

// Error::os_error of function_points(): no place in the function is hit exactly once per call.
constexpr int unclear_entry = EADDRNOTAVAIL;

// Returns a point of kind Uprobe at `address`. Returns nullopt if the code is not in the file, as for a symbol in a
// segment that is not executable.
std::optional<ResolvedPoint> point_at(const ProcessTarget& target, Address address);
// The same for a function, or for a place in it.
std::optional<ResolvedPoint> point_in(const ProcessTarget& target, const FunctionInstance& function, Address address);
// Returns the points of a function, or, with the suffix "return", of its returns. `text` is pp() without the suffix. A
// function's probe has one place. A return in Go has one place for each return instruction, because Go's runtime does
// not allow changed return addresses. Fails if the function cannot be probed, with the reason.
Result<std::vector<ResolvedPoint>> function_points(const ProcessTarget& target, const FunctionInstance& function,
                                                   const std::string& text, const std::string& suffix);
// Returns "f@file.c:3".
std::string place_text(const std::string& name, const std::string& file, int line);
// Returns process("P").function("f@file.c:3").
std::string function_text(const ProcessTarget& target, const FunctionInstance& function);
// Resolves .function("f").label("l"), .callee("g") and .callees(N) in the given functions.
struct PlacesInside {
    std::vector<ResolvedPoint> points;
    std::vector<std::string> seen;                       // the names of all labels or callees, for suggestions
    std::vector<std::pair<std::string, Error>> left_out; // callees that match and cannot be probed
};
PlacesInside places_inside(const ProcessTarget& target, const ProcessPattern& pattern,
                           const std::vector<FunctionInstance>& functions);

// Resolves .function(...) or .statement(...) at `next`, with the components after it. The targets are opened only if
// the components are valid.
std::vector<ResolvedPoint> resolve_places(Resolving& resolving, size_t next,
                                          const std::function<std::vector<ProcessTarget>()>& open_targets);
// These resolve the components after `process(...)` or `.library(...)`; `next` is the index of the first one.
std::vector<ResolvedPoint> resolve_marks(Resolving& resolving, size_t next); // .mark("m"), .provider("p").mark("m")
std::vector<ResolvedPoint> resolve_process_data(Resolving& resolving);       // .data("symbol").write
std::vector<ResolvedPoint> resolve_plt(Resolving& resolving, size_t next);   // .plt, .plt("f"), .plt.return
std::vector<ResolvedPoint> resolve_task_events(Resolving& resolving);        // .begin, .thread.end, .syscall ...

// Warns of functions with places that may miss calls; each with the reason.
void warn_of_missed_calls(Resolving& resolving, const ProcessPattern& pattern,
                          const std::vector<std::pair<std::string, std::string>>& doubts);
// These report why nothing matched, with similar names. `any`: such functions exist, but the suffix excludes them.
void explain_no_function(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern, bool any);
void explain_no_statement(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern);
// Reports the functions whose `.return` cannot be probed, with the reasons. This is an error if `others`, the number of
// those that can, is 0.
void explain_no_return(Resolving& resolving, const ProcessPattern& pattern,
                       const std::vector<std::pair<std::string, Error>>& left_out, size_t others);
// Reports that no instruction begins at the pattern's number. `address` is an address in the module; `place` may have
// addresses of a process.
void explain_address(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern, Address address,
                     const InstructionPlace& place);

// Reports that the statement that contains the pattern's number begins elsewhere.
void explain_statement(Resolving& resolving, const ProcessPattern& pattern, Address start);

} // namespace sonde
