// What the files of kind `process` share.
#pragma once

#include <cerrno>

#include "frontend/probes/kinds.h"

namespace sonde {

// A program or library in which `process(...)`, with or without `.library(...)`, has its points.
struct ProcessTarget {
    DwarfModule* module = nullptr;
    std::string text; // as pp() has it: process("/bin/x").library("/lib/y.so")
    // Only processes that run this program, or only this one; empty and 0: all.
    std::string program;
    int64_t pid = 0;
    bool changes_return_addresses = false; // the user wants returns to be noticed so
    bool only_lists = false;               // names matter, and exact places do not
};

// .function("...").call, .statement("...") as written.
struct ProcessPattern {
    const ast::PointComponent* component = nullptr; // function or statement
    bool is_statement = false;
    FunctionPattern parsed;            // with a string argument
    std::vector<FunctionPattern> more; // further lines
    // The lines that follow a function's file. They choose among labels; `parsed` matches functions without them.
    std::vector<FunctionPattern> lines;
    std::string suffix; // "call", "return", "inline", "exported", "nearest", "absolute" or empty
    std::string active; // ".maxactive(N)" as written, or ""
    // What to look for inside of the function.
    const ast::PointComponent* inside = nullptr; // label, callee or callees
    std::string name = "*";                      // glob: of the label or the callee
    int depth = 1;                               // of calls
};

// What `process`, `process(PID)` or `process("P")` means: paths of programs, or all that the target or anybody runs.
// Reports and gives nothing if there is no such program.
struct Programs {
    std::vector<std::string> paths;
    int64_t pid = 0;
    bool all = false; // no program was named, and any will do
};
Programs find_programs(Resolving& resolving, bool all_will_do);
// If what the point or -c names is a script, the report says so, and that `program` is what runs it.
void note_script(DiagBuilder& report, const Resolving& resolving, const std::string& program);

// Opens what stands before the component at `next`; reports and gives nothing if there is no such program or library.
std::vector<ProcessTarget> open_process_targets(Resolving& resolving, size_t next);

// Of a program that several containers have, those of `without` have nothing that `component` matches, others do: says
// so.
void warn_of_targets_without(Resolving& resolving, const ast::PointComponent& component,
                             const std::vector<ProcessTarget>& without);

// Error::os_error of function_points(): no place is hit once a call.
constexpr int unclear_entry = EADDRNOTAVAIL;

// A point of kind Uprobe at `address`; nullopt where no file has the code (a symbol in a segment that is not
// executable).
std::optional<ResolvedPoint> point_at(const ProcessTarget& target, Address address);
// The same for a function or a place in it.
std::optional<ResolvedPoint> point_in(const ProcessTarget& target, const FunctionInstance& function, Address address);
// A function's own point, or with suffix "return" that of its return; `text` is what pp() has before the suffix.
// A function's probe has one place; a return from Go has as many as the function has return instructions, since return
// addresses there have to stay as they are. Errors: what keeps such a function from being probed.
Result<std::vector<ResolvedPoint>> function_points(const ProcessTarget& target, const FunctionInstance& function,
                                                   const std::string& text, const std::string& suffix);
// "f@file.c:3"
std::string place_text(const std::string& name, const std::string& file, int line);
// process("P").function("f@file.c:3")
std::string function_text(const ProcessTarget& target, const FunctionInstance& function);
// .function("f").label("l"), .callee("g") and .callees(N) of the functions that match; adds to `seen` what there is.
std::vector<ResolvedPoint> places_inside(const ProcessTarget& target, const ProcessPattern& pattern,
                                         const std::vector<FunctionInstance>& functions,
                                         std::vector<std::string>& seen);

// .function(...) and .statement(...) at `next`, with what follows them, in the targets, which are opened only if these
// components are in order.
std::vector<ResolvedPoint> resolve_places(Resolving& resolving, size_t next,
                                          const std::function<std::vector<ProcessTarget>()>& open_targets);
// What follows `process(...)` or `.library(...)`; `next` is that component's index.
std::vector<ResolvedPoint> resolve_marks(Resolving& resolving, size_t next); // .mark("m"), .provider("p").mark("m")
std::vector<ResolvedPoint> resolve_process_data(Resolving& resolving);       // .data("symbol").write
std::vector<ResolvedPoint> resolve_plt(Resolving& resolving, size_t next);   // .plt, .plt("f"), .plt.return
std::vector<ResolvedPoint> resolve_task_events(Resolving& resolving);        // .begin, .thread.end, .syscall ...

// Reports why nothing matched, with the nearest that would. `any`: there are such functions, but the suffix drops them.
void explain_no_function(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern, bool any);
void explain_no_statement(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern);
// Reports the functions that have no `.return`, with the reasons: an error if `others`, those that have one, is 0.
void explain_no_return(Resolving& resolving, const ProcessPattern& pattern,
                       const std::vector<std::pair<std::string, Error>>& left_out, size_t others);
// Reports that no instruction begins at the pattern's number. `address` is the module's; `place` may speak in those of
// a process.
void explain_address(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern, Address address,
                     const InstructionPlace& place);

// Reports that the statement around the pattern's number begins elsewhere.
void explain_statement(Resolving& resolving, const ProcessPattern& pattern, Address start);

} // namespace sonde
