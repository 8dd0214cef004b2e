// Where the variables of a probe point come from. A source is one file (source_*.cc) with a VariableSource, which rows
// of probe kinds name (frontend/probes/probe_kinds.def), or the points themselves where a kind has several.
#pragma once

#include <optional>
#include <string>

#include "frontend/variables/place.h"

namespace sonde {

// The usual: what debug information has.
std::optional<Place> program_variable(Binding& b);
hir::Expr* program_summary(Binding& b);

struct VariableSource {
    // Where `$name` is.
    std::optional<Place> (*find)(Binding& b) = program_variable;
    // `$$name`: a text.
    hir::Expr* (*summary)(Binding& b) = program_summary;
    // A listing's ` $a:int $b:struct s*`; null: nothing.
    std::string (*list)(const ResolvedPoint& point) = nullptr;
    // All names, where the handler's variables are texts with no place in memory; null: they have places.
    hir::Expr* (*text)(Binding& b) = nullptr;
    // `$name = value`, or `.=`, where that is more than a write to memory: a call of a function of the library.
    // Nullopt: it is no such variable; null after a report.
    std::optional<hir::Expr*> (*assign)(Binding& b, bool append, hir::Expr* value) = nullptr;
};

extern const VariableSource no_source;              // a report that there are variables in programs only
extern const VariableSource program_source;         // debug information, or a report that there is none
extern const VariableSource mark_source;            // the arguments of a static mark, and debug information
extern const VariableSource plt_source;             // an entry of the table of calls, of which only the name is known
extern const VariableSource process_syscall_source; // the registers of a process's system call
extern const VariableSource syscall_source;         // a system call's declaration
extern const VariableSource prototype_source;       // that of a function or tracepoint of the kernel
extern const VariableSource security_hook_source;   // that of a security hook, which can refuse
extern const VariableSource result_source;          // that of a function that a handler runs in the place of
extern const VariableSource packet_source;          // a packet and the hook that it is at
extern const VariableSource file_source;            // what is written to a control file, or read from it

} // namespace sonde
