// What clang says of the script's C, as messages about the script.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/diag.h"
#include "codegen/c/module_types.h"

namespace sonde {

// `messages`: "FILE:LINE:COLUMN: error: text", a line each. `places`: where the script has C; what clang finds beyond
// their ends, in sonde's own C, is told of the one before. `why_missing` says what there is to say of a type that is
// not there.
void report_clang_messages(const std::string& messages, const std::vector<Range>& places,
                           const std::function<std::string(const CTypeName&)>& why_missing, Diagnostics& diags);

// What messages say is not there, or not whole, and may be a type.
std::set<CTypeName> missing_types(const std::string& messages);

// Names that messages say the script declares although they are declared already.
std::set<std::string> names_declared_twice(const std::string& messages, const Sources& sources);
// Macros of the kernel's headers that stand where messages say that something else is expected: the script has
// something of its own by that name.
std::set<std::string> macros_in_the_way(const std::string& messages, const Sources& sources);

} // namespace sonde
