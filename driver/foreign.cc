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
#include "base/result.h"
#include "base/source.h"
#include "driver/pass.h"
#include "driver/pass_options.h"
#include "driver/tool_point.h"
#include "frontend/bridge/bridge.h"
#include "frontend/parse/parser.h"
#include "frontend/sema/sema.h"
#include "runtime/messages.h"

namespace sonde {
namespace {

bridge::BridgeOptions bridge_options(const Options& options) {
    bridge::BridgeOptions out;
    out.find_path = [target = PointTarget{options.command, options.target_pid}](const std::string& name) {
        Result<std::string> path = find_library_path(name, target);
        return path ? *std::move(path) : std::string();
    };
    return out;
}

// As a shell takes it.
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

// The command line with the script in it replaced.
std::string command_with(const Options& options, std::string_view script) {
    std::string out = "sonde";
    for (size_t i = 0; i < options.words.size(); i++) {
        const std::string& word = options.words[i];
        if (word == "-e" && i + 1 < options.words.size()) {
            out += fmt::format(" -e {}", in_shell_quotes(script));
            i++;
        } else if (word.starts_with("-e") && word.substr(2) == options.script) {
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

// What is wrong with the translation on this machine: a function that is not there, a program without debug
// information.
std::string check_translation(Translation& t, const Options& options, const std::string& script) {
    Diagnostics diags(t.sources);
    diags.warnings_off = true;
    const FileId file = t.sources.add("<translation>", script);
    const ast::File* parsed = parse_file(file, t.sources, t.parse_options, t.arena, diags);
    diags.say_held();
    if (!diags.has_errors() && t.library)
        analyze({parsed}, *t.library, t.env, sema_options(options), t.arena, diags);
    return diags.has_errors() ? diags.render(false) : "";
}

} // namespace

bool explain_foreign(Translation& t, const Options& options) {
    if (t.files.empty() || !options.tool.empty())
        return false;
    const FileId file = t.files.front()->id;
    const std::string text(t.sources.text(file));
    const std::optional<bridge::Dialect> dialect = bridge::guess_dialect(text);
    if (!dialect)
        return false;
    Result<bridge::Bridged> bridged = bridge::translate_from(*dialect, text, bridge_options(options));
    Diagnostics diags(t.sources);
    const size_t first = std::min(text.find_first_not_of(" \t\n"), text.size());
    const size_t end = std::min(text.find_first_of(" \t\n{", first), text.size());
    DiagBuilder report =
        diags.report(DiagId::ForeignScript, {file, static_cast<uint32_t>(first), static_cast<uint32_t>(end)},
                     fmt::format("this script is in another language: {}", bridge::name_of(*dialect)));
    if (!bridged) {
        report.help(fmt::format("it cannot be translated: {}", bridged.error().message));
        fmt::print(stderr, "{}", diags.render(isatty(STDERR_FILENO) == 1));
        return true;
    }
    for (const bridge::Gap& gap : bridged->gaps)
        report.note(range_of(file, gap), gap.text);
    const bool lost = std::ranges::any_of(bridged->gaps, &bridge::Gap::is_lost);
    report.help(lost ? "the same in sonde's language, but for what has no counterpart:"
                     : "the same in sonde's language:");
    fmt::print(stderr, "{}\n", diags.render(isatty(STDERR_FILENO) == 1));
    std::string script = bridged->script;
    if (script.ends_with('\n'))
        script.pop_back();
    fmt::print(stderr, "{}\n", options.has_script ? command_with(options, script) : script);
    if (std::string problems = check_translation(t, options, bridged->script); !problems.empty())
        fmt::print(stderr, "\nOf that, this machine cannot run all as it stands:\n\n{}", problems);
    return true;
}

int print_foreign(const Options& options) {
    const std::optional<bridge::Dialect> dialect = bridge::find_dialect(options.from);
    Result<std::string> text = options.script;
    if (!options.has_script)
        text = read_script(options.positional.empty() ? "-" : options.positional[0]);
    if (!text) {
        say_error(text.error().message);
        return exit_failure;
    }
    Result<bridge::Bridged> bridged = bridge::translate_from(*dialect, *text, bridge_options(options));
    if (!bridged) {
        say_error(fmt::format("--from={}: {}", options.from, bridged.error().message));
        return exit_failure;
    }
    Sources sources;
    Diagnostics diags(sources);
    const FileId file = sources.add(options.has_script ? "<input>" : options.positional[0], *text);
    bool lost = false;
    for (const bridge::Gap& gap : bridged->gaps) {
        lost |= gap.is_lost;
        diags.report(gap.is_lost ? DiagId::ForeignScript : DiagId::ForeignRemark, range_of(file, gap), gap.text);
    }
    fmt::print(stderr, "{}", diags.render(isatty(STDERR_FILENO) == 1));
    fmt::print("{}", bridged->script);
    return lost ? exit_failure : 0;
}

} // namespace sonde
