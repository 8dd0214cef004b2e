// What the files of kind `process` share.
#pragma once

#include "frontend/probes/kinds.h"

namespace sonde {

// .function("...").call, .statement("...") as written.
struct ProcessPattern {
    const ast::PointComponent* component = nullptr; // function or statement
    bool is_statement = false;
    FunctionPattern parsed; // with a string argument
    std::string suffix;     // "call", "return", "inline", "exported", "nearest", "absolute" or empty
};

// Opens what `process(...)` names; reports and gives nothing if there is no such program.
std::vector<DwarfModule*> open_process_targets(Resolving& resolving);

// process("P").mark("m") and process("P").provider("p").mark("m").
std::vector<ResolvedPoint> resolve_marks(Resolving& resolving);

// Reports why nothing matched, with the nearest that would. `any`: there are such functions, but the suffix drops them.
void explain_no_function(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern, bool any);
void explain_no_statement(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern);

} // namespace sonde
