// The state that the passes of one translation share: the texts, their trees, the library, and facts about the kernel.
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
#include "driver/sysroot.h"
#include "frontend/ast/ast.h"
#include "frontend/parse/parser.h"
#include "frontend/parse/preprocess.h"
#include "frontend/probes/probe.h"
#include "frontend/tapset/library.h"
#include "runtime/plan/kernel_facts.h"
#include "runtime/plan/plan.h"

namespace sonde {

// The texts of the user, which are read before a sysroot is entered.
struct UserTexts {
    std::vector<plan::NamedText> library;      // the files of -I
    std::optional<Result<std::string>> script; // of the script's file; nullopt: there is none
};

struct Translation {
    explicit Translation(const Options& options);
    Translation(const Translation&) = delete;
    Translation& operator=(const Translation&) = delete;

    // Prints the diagnostics. Returns false if they contain errors.
    bool report() { return report(diags); }
    bool report(const Diagnostics& reported);

    Sysroot* sysroot = nullptr; // --sysroot
    Sources sources;
    Arena arena;
    Diagnostics diags{sources};
    MacroTable macros; // of the library
    ParseOptions parse_options;
    ProbeEnvironment env{host_architecture()}; // --arch, -r and --sysroot change the architecture
    std::optional<Library> library;
    std::vector<const ast::File*> files;     // the script, then the -E extras
    std::optional<KernelFiles> other_kernel; // -r, or the kernel of another machine, which can be unknown
    KernelFacts other_facts;                 // about that kernel
    plan::Origin texts;                      // the texts that were read, for a saved plan
    size_t library_files = 0;
    std::vector<plan::GroupName>
        groups; // groups that limit the session; with their roots after the first search for a program

  private:
    bool in_color_;
    std::set<std::string> told_refused_; // messages about debug information that were printed
    // Loaded on demand.
    std::optional<KernelConfig> kernel_config_;
    std::optional<Result<CacheFolder>> cache_folder_;
};

// Reads the text of a script; `-` is standard input.
Result<std::string> read_script(const std::string& path);
// Returns whether messages have colors (--color).
bool in_color(const Options& options);

// Reads the files of the library (-I) and the script. Errors: a folder or a file of the library cannot be read.
Result<UserTexts> read_user_texts(const Options& options);
// Pass 1: indexes the library and parses the script. With --relink the texts come from the plan instead of files.
// Mistakes in the script are in the diagnostics. Errors: the script or a kernel cannot be read, or the options
// contradict the machine for which they ask.
Result<void> parse(Translation& t, const Options& options, UserTexts texts);

} // namespace sonde
