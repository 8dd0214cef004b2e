// Reports clang's messages about the script's C at their places in the script.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/diag.h"
#include "codegen/c/module_types.h"

namespace sonde {

// `messages`: lines of the form "FILE:LINE:COLUMN: error: text". `places`: the parts of the script that are C. A
// message about sonde's own C is reported at the preceding part. `why_missing` explains why a type does not exist.
void report_clang_messages(const std::string& messages, const std::vector<Range>& places,
                           const std::function<std::string(const CTypeName&)>& why_missing, Diagnostics& diags);

// Names that are unknown or incomplete according to the messages, and may be types.
std::set<CTypeName> missing_types(const std::string& messages);

// Names that the script declares although they are declared already, according to the messages.
std::set<std::string> names_declared_twice(const std::string& messages, const Sources& sources);
// Macros of the kernel's headers whose names the script uses for something else, according to messages at these names.
std::set<std::string> macros_in_the_way(const std::string& messages, const Sources& sources);

} // namespace sonde
