// The code must agree with readline(3), which replaces only the text after the last word break. In
//
//     sonde --color=al
//     sonde -l 'kernel.trace("sched:sc
//
// the kept parts are `--color=` and "", because the second word has an open quote. A completion that repeats the kept
// part would put it into the user's line twice.
#include "driver/completion/shell_line.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace sonde {
namespace {

constexpr std::string_view word_breaks = "\"'><=;|&(:";
constexpr std::string_view begins_command = ";|&(\n";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Returns whether the character needs no quoting in a shell.
bool is_plain(char c) {
    return isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("_-./,+@%=:").find(c) != std::string_view::npos;
}

} // namespace

ShellLine read_shell_line(std::string_view line) {
    ShellLine out;
    bool in_word = false;
    const auto end_word = [&] {
        if (in_word)
            out.words.push_back(std::exchange(out.word, ""));
        in_word = false;
        out.kept.clear();
    };
    for (size_t i = 0; i < line.size(); i++) {
        const char c = line[i];
        if (out.quote) {
            const bool escaped = out.quote == '"' && c == '\\' && i + 1 < line.size() &&
                                 std::string_view("\"\\$`").find(line[i + 1]) != std::string_view::npos;
            if (c == out.quote) {
                out.quote = 0;
                out.kept = out.word;
            } else {
                out.word += escaped ? line[++i] : c;
            }
        } else if (is_blank(c)) {
            end_word();
        } else if (begins_command.find(c) != std::string_view::npos) {
            end_word();
            out.words.clear();
        } else {
            in_word = true;
            if (c == '\'' || c == '"') {
                out.quote = c;
                out.kept = out.word;
                continue;
            }
            const bool escapes = c == '\\' && i + 1 < line.size();
            out.word += escapes ? line[++i] : c;
            if (!escapes && word_breaks.find(c) != std::string_view::npos)
                out.kept = out.word;
        }
    }
    return out;
}

bool needs_quote(const ShellLine& line, std::string_view word) {
    return !line.quote && word.starts_with(line.kept) && !std::ranges::all_of(word.substr(line.kept.size()), is_plain);
}

std::string quote_for_bash(const ShellLine& line, std::string_view word, bool quoted, bool open) {
    if (!word.starts_with(line.kept))
        return "";
    std::string out;
    for (char c : word.substr(line.kept.size())) {
        if (line.quote == '"')
            out += std::string_view("\"\\$`").find(c) != std::string_view::npos ? std::string{'\\', c} : std::string{c};
        else
            out += c == '\'' && (line.quote || quoted) ? "'\\''" : std::string{c};
    }
    return quoted ? "'" + out + (open ? "" : "'") : out;
}

} // namespace sonde
