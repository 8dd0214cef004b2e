#include "driver/fmt_command.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "base/diag.h"
#include "base/replace_file.h"
#include "base/result.h"
#include "base/source.h"
#include "base/suggest.h"
#include "base/terminal_text.h"
#include "base/unified_diff.h"
#include "driver/formatting.h"
#include "driver/pass.h"
#include "driver/translation.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

constexpr const char* usage =
    "Usage: sonde fmt [--check | --diff] [FILE...]\n"
    "  Formats scripts in place. Without FILE, or for `-`: from standard input to standard output.\n"
    "  --check  Change nothing. Print the names of files that are not formatted, and then exit with 1\n"
    "  --diff   Change nothing. Print the changes as a unified diff, and exit with 1 if there are any\n"
    "  A file that does not parse stays as it is: sonde prints the mistake and exits with 1.\n";
constexpr const char* options[] = {"--check", "--diff", "--help"};
constexpr size_t max_bytes = 1U << 30; // positions in texts have 32 bits

struct Request {
    enum Action : uint8_t { Write, Check, Diff } action = Write;
    std::vector<std::string> files;
};

// Returns an exit status instead after help or a message.
std::variant<Request, int> read_request(const std::vector<std::string>& words) {
    Request out;
    bool is_option = true;
    for (const std::string& word : words) {
        if (is_option && (word == "-h" || word == "--help"))
            return fmt::print("{}", usage), 0;
        if (is_option && word == "--") {
            is_option = false;
        } else if (is_option && (word == "--check" || word == "--diff")) {
            const Request::Action action = word == "--check" ? Request::Check : Request::Diff;
            if (out.action != Request::Write && out.action != action)
                return say_error("fmt: --check and --diff exclude each other"), exit_failure;
            out.action = action;
        } else if (is_option && word.size() > 1 && word.starts_with('-')) {
            const std::string near = nearest_name(word, {std::begin(options), std::end(options)});
            say_error(fmt::format("fmt: unknown option `{}`{}", word,
                                  near.empty() ? "; `sonde fmt --help` explains the command"
                                               : fmt::format("; did you mean `{}`?", near)));
            return exit_failure;
        } else {
            out.files.push_back(word);
        }
    }
    if (out.files.empty())
        out.files.emplace_back("-");
    return out;
}

int fail(const Error& error) {
    say_error(error.message);
    return exit_failure;
}

// Formats a text. Prints the reason if that is not possible.
Result<std::string> format_text(const std::string& name, const std::string& text) {
    Sources sources;
    const FileId script = sources.add(name == "-" ? "<input>" : name, text);
    Diagnostics diags(sources);
    Result<std::string> out = format_checked(sources, script, diags);
    if (diags.has_errors())
        fmt::print(stderr, "{}", diags.render(is_capable_terminal(STDERR_FILENO)));
    else if (!out)
        say_error(fmt::format("{}: {}", sources.name(script), out.error().message));
    return out;
}

// Control characters of a script must not reach a terminal.
std::string shown(const std::string& diff) { return is_capable_terminal(STDOUT_FILENO) ? terminal_text(diff) : diff; }

int format_file(const std::string& file, Request::Action action) {
    const Result<std::string> text = read_script(file);
    if (!text)
        return fail(text.error());
    if (text->size() > max_bytes)
        return fail(
            Error(fmt::format("{}: a script can have at most {} bytes, not {}", file, max_bytes, text->size())));
    const Result<std::string> formatted = format_text(file, *text);
    if (!formatted)
        return exit_failure;
    const bool differs = *formatted != *text;
    if (action != Request::Write) {
        const std::string name = file == "-" ? "<input>" : file;
        if (differs && action == Request::Check)
            fmt::print("{}\n", file);
        else if (differs)
            fmt::print("{}", shown(unified_diff(*text, *formatted, name, name)));
        return differs ? exit_failure : 0;
    }
    if (file == "-") {
        fmt::print("{}", *formatted);
        return 0;
    }
    if (differs)
        if (Result<void> written = rewrite_file(file, *formatted); !written)
            return fail(written.error());
    return 0;
}

} // namespace

int run_fmt(const std::vector<std::string>& words) {
    const std::variant<Request, int> request = read_request(words);
    if (const int* status = std::get_if<int>(&request))
        return *status;
    const auto& [action, files] = std::get<Request>(request);
    int out = 0;
    for (const std::string& file : files)
        if (const int status = format_file(file, action); status != 0)
            out = status;
    return out;
}

} // namespace sonde
