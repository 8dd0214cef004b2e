// Three ways lead here: a script that the parser rejects (explain_foreign), a point of -l (explain_foreign_points), and
// --from (print_foreign). The first two guess the language from the text. They run only after an error, so sonde never
// mistakes a correct script for another language.
#include "driver/foreign.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/diag.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/result.h"
#include "base/source.h"
#include "driver/pass.h"
#include "driver/tool_point.h"
#include "frontend/bridge/bridge.h"
#include "frontend/parse/parser.h"
#include "frontend/sema/sema.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

bridge::BridgeOptions bridge_options(const Options& options) {
    bridge::BridgeOptions out;
    out.find_path = [target = PointTarget{.command = options.session.command, .pid = options.session.target_pid}](
                        const std::string& name) {
        Result<std::string> path = find_library_path(name, target);
        return path ? *std::move(path) : std::string();
    };
    if (!options.session.command.empty())
        if (Result<std::string> path =
                find_in_path(options.session.command.substr(0, options.session.command.find(' '))))
            out.program = *path;
    if (options.session.target_pid)
        out.program = without_links(fmt::format("/proc/{}/exe", options.session.target_pid));
    return out;
}

// Quotes the word for a shell if necessary.
std::string in_shell_quotes(std::string_view word) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
        return isalnum(c) || std::string_view("_-./=:,+").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain)
        return std::string(word);
    std::string out = "'";
    for (char c : word)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

// Returns the user's command line with the translated script in place of the original, so that the user can paste it.
// Adds -g if the script needs that.
std::string command_with(const Options& options, const bridge::Bridged& bridged) {
    const std::string_view script =
        std::string_view(bridged.script).substr(0, bridged.script.find_last_not_of('\n') + 1);
    std::string out = bridged.needs_guru && !options.translate.guru ? "sonde -g" : "sonde";
    for (size_t i = 0; i < options.driver.words.size(); i++) {
        const std::string& word = options.driver.words[i];
        if (word == "-e" && i + 1 < options.driver.words.size()) {
            out += fmt::format(" -e {}", in_shell_quotes(script));
            i++;
        } else if (word.starts_with("-e") && word.substr(2) == options.translate.script) {
            out += fmt::format(" -e {}", in_shell_quotes(script));
        } else {
            out += " " + in_shell_quotes(word);
        }
    }
    return out;
}

Range range_of(FileId file, const bridge::Gap& gap) {
    return {file, static_cast<uint32_t>(gap.begin), static_cast<uint32_t>(gap.end)};
}

// Checks the translated script on this machine. `diags` gets the errors: for example, a function does not exist, or a
// program has no debug information.
void check_translation(Translation& t, const Options& options, const bridge::Bridged& bridged, Diagnostics& diags) {
    diags.warnings_off = true;
    const FileId file = t.sources.add("<translation>", bridged.script);
    const ast::File* parsed = parse_file(file, t.sources, t.parse_options, t.arena, diags);
    diags.say_held();
    if (!diags.has_errors() && t.library) {
        Translate as = options.translate;
        as.guru |= bridged.needs_guru;
        t.env.guru |= bridged.needs_guru; // safe: no other script uses this environment
        analyze({parsed}, *t.library, t.env, as, t.arena, diags);
    }
}

// Recognizes a script that has our `probe` in front of another tracer's point: `probe kprobe:vfs_read {`. Overwrites
// the `probe` with blanks.
std::optional<bridge::Dialect> guess_after_probe(std::string& text) {
    constexpr std::string_view ours = "probe ";
    const size_t begin = text.find_first_not_of(" \t\n");
    if (begin == std::string::npos || !std::string_view(text).substr(begin).starts_with(ours))
        return {};
    const std::string without = text.substr(begin + ours.size());
    const std::string_view point = std::string_view(without).substr(0, without.find_first_of(" {"));
    if (point.find(':') == std::string_view::npos || point.find('"') != std::string_view::npos)
        return {};
    const std::optional<bridge::Dialect> dialect = bridge::guess_dialect(without);
    if (dialect) // blanks keep the positions of diagnostics
        text.replace(begin, ours.size(), ours.size(), ' ');
    return dialect;
}

// Translates points to sonde's language; empty if that is impossible.
std::string translate_points(bridge::Dialect dialect, const std::string& points, const Options& options) {
    Result<bridge::Bridged> bridged = bridge::translate_from(dialect, points + " { }", bridge_options(options));
    const std::string script = bridged ? bridged->script : "";
    const size_t begin = script.find("probe "), end = script.find('{', begin);
    if (begin == std::string::npos || end == std::string::npos)
        return "";
    std::string ours = script.substr(begin + 6, end - begin - 6);
    return ours.substr(0, ours.find_last_not_of(" \n") + 1);
}

void report_foreign_points(bridge::Dialect dialect, Range range, const std::string& help, Diagnostics& diags) {
    diags
        .report(DiagId::ForeignScript, range,
                fmt::format("this probe point is in another language: {}", bridge::name_of(dialect)))
        .help(help);
}

} // namespace

std::optional<ForeignScript> recognize_foreign(Translation& t, const Options& options, Diagnostics& diags) {
    if (t.files.empty() || !options.translate.tool.empty())
        return {};
    const FileId file = t.files.front()->id;
    std::string text(t.sources.text(file));
    std::optional<bridge::Dialect> dialect = bridge::guess_dialect(text);
    const bool is_ours = !dialect; // perhaps sonde's language with a foreign point
    if (is_ours)
        dialect = guess_after_probe(text);
    if (!dialect)
        return {};
    Result<bridge::Bridged> bridged = bridge::translate_from(*dialect, text, bridge_options(options));
    // The script has `probe` before a foreign point, and its statements can be in either language. In `probe
    // kprobe:vfs_read { println(execname()) }` they are ours, so a translation would lose parts. In this case,
    // translate the point alone.
    if (is_ours && (!bridged || std::ranges::any_of(bridged->gaps, &bridge::Gap::is_lost))) {
        const size_t begin = text.find_first_not_of(" \t\n"), brace = text.find('{', begin);
        const std::string point = text.substr(begin, text.find_last_not_of(" \t\n", brace - 1) + 1 - begin);
        const std::string ours = translate_points(*dialect, point, options);
        if (brace == std::string::npos || ours.empty())
            return {};
        report_foreign_points(*dialect,
                              {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + point.size())},
                              fmt::format("the same in sonde's language: probe {}", ours), diags);
        return ForeignScript();
    }
    const size_t first = std::min(text.find_first_not_of(" \t\n"), text.size());
    const size_t end = std::min(text.find_first_of(" \t\n{", first), text.size());
    DiagBuilder report =
        diags.report(DiagId::ForeignScript, {file, static_cast<uint32_t>(first), static_cast<uint32_t>(end)},
                     fmt::format("this script is in another language: {}", bridge::name_of(*dialect)));
    if (!bridged) {
        report.help(fmt::format("it cannot be translated: {}", bridged.error().message));
        return ForeignScript();
    }
    for (const bridge::Gap& gap : bridged->gaps)
        report.note(range_of(file, gap), gap.text);
    const bool lost = std::ranges::any_of(bridged->gaps, &bridge::Gap::is_lost);
    report.help(lost ? "the same in sonde's language, without the parts that have no counterpart:"
                     : "the same in sonde's language:");
    return ForeignScript{*std::move(bridged)};
}

bool explain_foreign(Translation& t, const Options& options) {
    Diagnostics diags(t.sources);
    const std::optional<ForeignScript> foreign = recognize_foreign(t, options, diags);
    if (!foreign)
        return false;
    fmt::print(stderr, "{}", diags.render(in_color(options)));
    if (!foreign->translation)
        return true;
    const bridge::Bridged& bridged = *foreign->translation;
    if (options.translate.has_script)
        fmt::print(stderr, "\n{}\n", command_with(options, bridged));
    else
        fmt::print(stderr, "\n{}", bridged.script);
    Diagnostics problems(t.sources);
    check_translation(t, options, bridged, problems);
    if (problems.has_errors()) {
        fmt::print(stderr, "\nOf that, this machine cannot run all as it stands:\n\n{}", problems.render(false));
        const bool lacks_points =
            std::ranges::find(problems.all(), DiagId::NoMatch, &Diagnostic::id) != problems.all().end();
        if (lacks_points && bridged.script.find("), ") != std::string::npos)
            fmt::print(stderr, "\nA point with ` ?` after it may be missing: `probe A ?, B ?`\n");
    }
    return true;
}

bool explain_foreign_points(Translation& t, const Options& options) {
    const std::string& points = options.driver.list_point;
    const std::optional<bridge::Dialect> dialect = bridge::guess_dialect(points + " { }");
    const std::string ours = dialect ? translate_points(*dialect, points, options) : "";
    if (ours.empty())
        return false;
    Diagnostics diags(t.sources);
    const FileId file = t.sources.add("<input>", points);
    report_foreign_points(*dialect, {file, 0, static_cast<uint32_t>(points.size())},
                          fmt::format("the same in sonde's language: sonde {} {}",
                                      options.driver.list_variables ? "-L" : "-l", in_shell_quotes(ours)),
                          diags);
    fmt::print(stderr, "{}", diags.render(in_color(options)));
    return true;
}

int print_foreign(const Options& options) {
    const std::optional<bridge::Dialect> dialect = bridge::find_dialect(options.driver.from);
    const bool has_file = !options.translate.positional.empty();
    Result<std::string> text = options.translate.script;
    if (!options.translate.has_script)
        text = read_script(has_file ? options.translate.positional[0] : "-");
    if (!text) {
        say_error(text.error().message);
        return exit_failure;
    }
    Result<bridge::Bridged> bridged = bridge::translate_from(*dialect, *text, bridge_options(options));
    if (!bridged) {
        say_error(fmt::format("--from={}: {}", options.driver.from, bridged.error().message));
        return exit_failure;
    }
    Sources sources;
    Diagnostics diags(sources);
    const FileId file =
        sources.add(options.translate.has_script || !has_file ? "<input>" : options.translate.positional[0], *text);
    bool lost = false;
    for (const bridge::Gap& gap : bridged->gaps) {
        lost |= gap.is_lost;
        diags.report(gap.is_lost ? DiagId::ForeignScript : DiagId::ForeignRemark, range_of(file, gap), gap.text);
    }
    fmt::print(stderr, "{}", diags.render(in_color(options)));
    fmt::print("{}", bridged->script);
    return lost ? exit_failure : 0;
}

} // namespace sonde
