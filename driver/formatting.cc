// A script is parsed before its formatting, because the formatter knows no grammar. It is also parsed after it, because
// some blanks have a meaning: `foo*bar` is one component of a probe point, and `foo *bar` is not.
//
// The arguments of the script are unknown. `$1` can be a number, as in `timer.ms($1)`, a name, as in `probe $1`, or a
// string, as in `printf($1)`. So all of these are tried.
#include "driver/formatting.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "arch/architecture.h"
#include "base/arena.h"
#include "frontend/ast/ast.h"
#include "frontend/formatter/format_script.h"
#include "frontend/lex/token.h"
#include "frontend/parse/parser.h"
#include "frontend/parse/preprocess.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

constexpr size_t max_tried_arguments = 16;
constexpr size_t max_argument = 999;
constexpr const char* tried_arguments[] = {"1", "x", "\"x\""};

class Checker {
  public:
    explicit Checker(Sources& sources) : sources_(sources) {
        utsname system{};
        uname(&system);
        options_.kernel_release = system.release;
        options_.arch = host_architecture().names()[0];
        options_.privileged = options_.guru = true;
        options_.kernel_config = []() -> const KernelConfig& {
            static const KernelConfig empty;
            return empty;
        };
        Diagnostics ignored(sources_);
        for (const StdlibFile& file : stdlib_files())
            if (file.name.ends_with(".stpm"))
                load_macros(sources_.add(std::string(file.name), std::string(file.text), true), sources_, options_,
                            macros_, ignored);
        options_.macros = &macros_;
    }

    // Chooses arguments with which the script parses, if there are any.
    void choose_arguments(FileId file);
    // Returns the script as it was parsed. Reports mistakes of syntax.
    std::string parse(FileId file, Diagnostics& diags) const;

  private:
    size_t count_mistakes(FileId file) const {
        Diagnostics diags(sources_);
        parse(file, diags);
        return diags.error_count();
    }

    Sources& sources_;
    ParseOptions options_;
    MacroTable macros_;
};

bool is_of_syntax(DiagId id) {
    return id == DiagId::Syntax || id == DiagId::BadCharacter || id == DiagId::UnclosedString ||
           id == DiagId::BadNumber;
}

std::string Checker::parse(FileId file, Diagnostics& diags) const {
    Diagnostics all(sources_);
    Arena arena;
    std::string dump = ast::dump(*parse_file(file, sources_, options_, arena, all));
    for (const Diagnostic& one : all.all()) {
        if (!is_of_syntax(one.id))
            continue;
        DiagBuilder copy = diags.report(one.id, one.range, one.message);
        for (const DiagNote& note : one.notes)
            copy.note(note.range, note.text);
        for (const std::string& help : one.helps)
            copy.help(help);
    }
    return dump;
}

void Checker::choose_arguments(FileId file) {
    std::set<size_t> used; // by `$N`
    size_t last = 0;
    Diagnostics ignored(sources_);
    for (const Token& token : lex_as_written(file, sources_, ignored)) {
        if (token.missing > 0 && token.missing <= max_argument) {
            last = std::max<size_t>(last, token.missing);
            if (token.kind == TokenKind::Number)
                used.insert(token.missing);
        }
    }
    options_.args.assign(last, tried_arguments[0]);
    size_t mistakes = used.empty() ? 0 : count_mistakes(file), tried = 0;
    for (const size_t number : used) {
        if (mistakes == 0 || ++tried > max_tried_arguments)
            return;
        std::string best = options_.args[number - 1];
        for (const char* argument : tried_arguments) {
            options_.args[number - 1] = argument;
            if (const size_t now = count_mistakes(file); now < mistakes) {
                mistakes = now;
                best = argument;
            }
        }
        options_.args[number - 1] = best;
    }
}

} // namespace

Result<std::string> format_checked(Sources& sources, FileId script, Diagnostics& diags) {
    Checker checker(sources);
    checker.choose_arguments(script);
    const std::string before = checker.parse(script, diags);
    if (diags.has_errors())
        return Error("the script has errors");
    Result<std::string> out = format_script(sources.text(script));
    if (!out)
        return out;
    const FileId formatted = sources.add("<formatted>", *out);
    Diagnostics after(sources);
    if (checker.parse(formatted, after) != before || after.has_errors())
        return Error("internal error: formatting would change the meaning of the script");
    return out;
}

} // namespace sonde
