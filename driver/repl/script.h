// The script of an interactive session: its declarations and the texts of its probes, which grow while the session
// runs. Translates each probe to a plan of its own, which shares the session's globals (runtime/plan/shared_globals.h).
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/options.h"
#include "driver/policy.h"
#include "driver/translation.h"
#include "frontend/ast/ast.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shared_globals.h"

namespace sonde::repl {

// A global, function, alias or block of C code of the session.
struct Declaration {
    enum Kind { Global, Function, Alias, C } kind;
    std::string name;     // Function: with the number of its parameters, as in `f/2`
    std::string text;     // Global: without `global`
    std::string why = {}; // Global: the first line of the input that created it
};

// A piece of the script that can run: a probe, or statements.
struct Piece {
    std::string text;
    std::vector<std::string> new_globals; // created by use
    plan::Plan plan;
    size_t points = 0;
};

class Script {
  public:
    // Runs pass 1 without a script: reads the library. Errors: as parse().
    static Result<std::unique_ptr<Script>> open(const Options& options, const Policies& policies);
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;

    bool is_point(std::string_view word) const { return point_words_.contains(std::string(word)); }
    bool is_global(std::string_view word) const;

    // All functions below print what is wrong with the text to standard error.

    // Reads declarations. Globals, functions and aliases become part of the session; `probes` gets the texts of the
    // probes. `said` gets a line about each new declaration. Returns false, without any change, if something is wrong.
    bool declare(const std::string& text, std::vector<std::string>& probes, std::vector<std::string>& said);
    // Translates one probe, as declare() returned it. Null: it is wrong.
    std::unique_ptr<Piece> translate_probe(const std::string& text);
    // Translates statements, which run once. If the text is a single expression with a value, prints the value.
    std::unique_ptr<Piece> translate_statements(const std::string& text);
    // Prints the points to standard output. Returns false if there is none.
    bool list_points(const std::string& text);

    // Makes the globals of a piece, which runs, part of the session.
    void adopt(const Piece& piece);
    // The session as a script; `probes` are the texts of its probes.
    std::string to_text(const std::vector<std::string>& probes) const;

    const plan::SharedGlobals& globals() const { return shared_; }
    const std::vector<Declaration>& declarations() const { return declarations_; }
    // Takes back declarations: `earlier` is an earlier value of declarations().
    void restore(std::vector<Declaration> earlier) { declarations_ = std::move(earlier); }
    std::vector<std::string> global_names() const;
    // Generates the plan of the last piece again, with another arrangement of its code (driver/run_plan.h).
    Result<plan::Plan> rearrange(uint32_t arrangement) const { return rearrange_(arrangement); }

    Translation t;

  private:
    Script(const Options& options, const Policies& policies) : t(options), options_(options), policies_(policies) {}
    std::unique_ptr<Piece> translate(const ast::Probe& probe, FileId file, const std::string& text,
                                     std::vector<std::string> new_globals);
    hir::Program* analyze_probe(const ast::Probe& probe, FileId file, const std::vector<std::string>& new_globals,
                                Diagnostics& diags);
    std::unique_ptr<Diagnostics> make_diagnostics() const;
    // Prints the messages. Returns false if there are errors.
    bool report(const Diagnostics& diags);
    std::set<std::string> known_names() const;
    // For an input that is only a name, and not a global with a value. "": the name can be a function.
    std::string why_no_value(const std::string& name);

    const Options& options_;
    const Policies& policies_;
    std::set<std::string> point_words_;
    std::set<FileId> declaring_files_; // those of the name `<session>`
    std::vector<Declaration> declarations_;
    plan::SharedGlobals shared_;
    std::function<Result<plan::Plan>(uint32_t)> rearrange_;
};

} // namespace sonde::repl
