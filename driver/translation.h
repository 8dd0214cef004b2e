// What the passes of one translation share: the texts, their trees, the library, and what the kernel can do.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "base/kernel_files.h"
#include "base/result.h"
#include "base/source.h"
#include "driver/cache_folder.h"
#include "driver/options.h"
#include "frontend/ast/ast.h"
#include "frontend/parse/parser.h"
#include "frontend/parse/preprocess.h"
#include "frontend/probes/probe.h"
#include "frontend/tapset/library.h"
#include "runtime/plan/kernel_facts.h"
#include "runtime/plan/plan.h"

namespace sonde {

struct Translation {
    explicit Translation(const Options& options);
    Translation(const Translation&) = delete;
    Translation& operator=(const Translation&) = delete;

    // Prints what was reported; false if there were errors.
    bool report() { return report(diags); }
    bool report(const Diagnostics& reported);

    Sources sources;
    Arena arena;
    Diagnostics diags{sources};
    MacroTable macros; // the library's
    ParseOptions parse_options;
    ProbeEnvironment env;
    std::optional<Library> library;
    std::vector<const ast::File*> files;     // the script, then the -E extras
    std::optional<KernelFiles> other_kernel; // -r
    KernelFacts kernel_facts;                // about the kernel that the script is for; known once parse() is called
    plan::Origin texts;                      // what was read, for a plan that is saved
    size_t library_files = 0;
    std::vector<plan::GroupName>
        groups; // that the session is limited to, with their roots once a program was looked for

  private:
    bool in_color_;
    std::set<std::string> told_refused_; // debug information
    // These are found out when a script asks.
    std::optional<KernelConfig> kernel_config_;
    std::optional<Result<CacheFolder>> cache_folder_;
};

// A script's text; `-` is standard input.
Result<std::string> read_script(const std::string& path);
// Whether messages have colours (--color).
bool in_color(const Options& options);

// Pass 1: indexes the library (-I) and parses the script. With --relink the texts come from the plan instead
// of files. What is wrong with the script is in the diagnostics. Errors: a file, a folder or a kernel that cannot be
// read.
Result<void> parse(Translation& t, const Options& options);

} // namespace sonde
