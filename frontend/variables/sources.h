// Where the variables of a probe point come from. A source is one file (source_*.cc) with a VariableSource. The rows of
// probe kinds name their sources (frontend/probes/probe_kinds.def). If a kind has several, the points do.
#pragma once

#include <optional>
#include <string>

#include "frontend/variables/place.h"

namespace sonde {

// The default: variables of debug information.
std::optional<Place> program_variable(Binding& b);
hir::Expr* program_summary(Binding& b);

struct VariableSource {
    // The place of `$name`.
    std::optional<Place> (*find)(Binding& b) = program_variable;
    // The text for `$$name`.
    hir::Expr* (*summary)(Binding& b) = program_summary;
    // For listings, for example ` $a:int $b:struct s*`. Null: nothing.
    std::string (*list)(const ResolvedPoint& point) = nullptr;
    // All names, if the handler's variables are texts without a place in memory. Null if they have places.
    hir::Expr* (*text)(Binding& b) = nullptr;
    // `$name = value` or `$name .= value`, if this is more than a write to memory: a call of a library function.
    // nullopt: it is not such a variable; null after a report.
    std::optional<hir::Expr*> (*assign)(Binding& b, bool append, hir::Expr* value) = nullptr;
};

extern const VariableSource no_source;              // an error: only programs have variables
extern const VariableSource program_source;         // debug information, or an error without it
extern const VariableSource mark_source;            // the arguments of a static mark, and debug information
extern const VariableSource plt_source;             // an entry of the procedure linkage table, which has only a name
extern const VariableSource process_syscall_source; // the registers of a process' system call
extern const VariableSource syscall_source;         // the declaration of a system call
extern const VariableSource prototype_source;       // the prototype of a kernel function or tracepoint
extern const VariableSource security_hook_source;   // the prototype of a security hook, which can refuse
extern const VariableSource result_source;          // the prototype of a function that a handler replaces
extern const VariableSource packet_source;          // a packet and its hook
extern const VariableSource python_source;          // the variables of a function of Python
extern const VariableSource file_source;            // the text that is written to a control file, or read from it
extern const VariableSource record_source;          // the values of a recorded event

} // namespace sonde
