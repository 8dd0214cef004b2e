// Diagnostics: counting, suppressing, and the format of messages.
//
//     error[unknown-function]: unknown function `foo`
//       --> file.stp:12:7
//        |
//     12 |       foo(1)
//        |       ^^^
//     note: text
//      --> ...
//     help: did you mean `for`?
//
// A source file can contain anything, so control characters are never sent to the terminal.
#include "base/diag.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/suggestion_text.h"
#include "base/terminal_text.h"

namespace sonde {
namespace {

struct DiagRow {
    const char* name;
    Severity severity;
};

constexpr DiagRow diag_rows[] = {
#define DIAG(id, severity, name) {name, Severity::severity},
#include "base/diagnostics.def"
#undef DIAG
};

const DiagRow& row_of(DiagId id) { return diag_rows[static_cast<size_t>(id)]; }

// ANSI escapes, or empty strings.
struct Palette {
    explicit Palette(bool color)
        : reset(color ? "\033[0m" : ""), bold(color ? "\033[1m" : ""), error(color ? "\033[1;31m" : ""),
          warning(color ? "\033[1;33m" : ""), note(color ? "\033[1;36m" : ""), help(color ? "\033[1;32m" : ""),
          gutter(color ? "\033[1;34m" : "") {}
    const char *reset, *bold, *error, *warning, *note, *help, *gutter;
};

// Builds a source line and its underline byte by byte. Tracks the columns for tab stops.
constexpr size_t tab_stop = 8;

class Snippet {
  public:
    // `margin`: columns before the text, which count for tab stops.
    explicit Snippet(size_t margin) : column_(margin) {}

    void add(char byte, bool marked) {
        auto code = static_cast<unsigned char>(byte);
        if (byte == '\t') {
            // Keep the tab, in the text and under it, so that both lines match for any width of tabs. Only carets must
            // be counted.
            size_t width = tab_stop - column_ % tab_stop;
            line_ += byte;
            marks_ += marked ? std::string(width, '^') : "\t";
            column_ += width;
            return;
        }
        if (code < 0x20 || code == 0x7f) {
            line_ += '?';
        } else {
            line_ += byte;
            if ((code & 0xc0) == 0x80) // inside a UTF-8 character
                return;
        }
        marks_ += marked ? '^' : ' ';
        column_++;
    }
    void mark_end() { marks_ += '^'; }

    const std::string& line() const { return line_; }
    std::string marks() const { return marks_.substr(0, marks_.find_last_not_of(" \t") + 1); }

  private:
    size_t column_;
    std::string line_, marks_;
};

// Prints " --> file:line:col", the line, and its underline. `digits`: the width of the largest line number in this
// message.
std::string render_place(const Sources& sources, Range range, size_t digits, const Palette& colors,
                         const char* mark_color) {
    if (const Sources::Word* word = sources.word_at(range))
        return fmt::format("{0:{1}}{2}-->{3} {4}\n{2}{0:{1}} |{3}\n{2}{0:{1}} |{3} {5}\n", "", digits, colors.gutter,
                           colors.reset, word->name, terminal_text(word->text));
    LineColumn at = sources.line_column(range.file, range.begin);
    std::string out =
        fmt::format("{:{}}{}-->{} {}\n", "", digits, colors.gutter, colors.reset, terminal_text(sources.place(range)));
    std::string_view line = sources.line_text(range.file, at.line);
    size_t begin = std::min<size_t>(at.column - 1, line.size());
    size_t length = range.end > range.begin ? range.end - range.begin : 0;
    // At least one caret: an empty range means that something is missing here.
    size_t end = begin + std::max<size_t>(length, 1);

    // Show only a part of a very long line.
    constexpr size_t longest = 400, before = 100;
    size_t first = line.size() > longest && begin > before ? begin - before : 0;
    while (first > 0 && (static_cast<unsigned char>(line[first]) & 0xc0) == 0x80) // inside a UTF-8 character
        first--;
    size_t last = line.size() > longest ? std::min(line.size(), first + longest) : line.size();

    Snippet snippet(digits + 3);
    for (size_t i = 0; i < (first > 0 ? 3 : 0); i++)
        snippet.add('.', false);
    for (size_t i = first; i < last; i++)
        snippet.add(line[i], i >= begin && i < end);
    for (size_t i = 0; i < (last < line.size() ? 3 : 0); i++)
        snippet.add('.', false);
    if (begin == line.size())
        snippet.mark_end();
    out += fmt::format("{}{:{}} |{}\n", colors.gutter, "", digits, colors.reset);
    out += fmt::format("{}{:>{}} |{} {}\n", colors.gutter, at.line, digits, colors.reset, snippet.line());
    out += fmt::format("{}{:{}} |{} {}{}{}\n", colors.gutter, "", digits, colors.reset, mark_color, snippet.marks(),
                       colors.reset);
    return out;
}

size_t count_digits(const Sources& sources, const Diagnostic& diag) {
    uint32_t widest = 1;
    auto widen = [&](Range range) {
        if (range.valid())
            widest = std::max(widest, sources.line_column(range.file, range.begin).line);
    };
    widen(diag.range);
    for (const DiagNote& note : diag.notes)
        widen(note.range);
    return std::to_string(widest).size();
}

} // namespace

const char* diag_name(DiagId id) { return row_of(id).name; }

DiagBuilder& DiagBuilder::note(Range range, std::string text) {
    if (diag_)
        diag_->notes.push_back({range, std::move(text)});
    return *this;
}

DiagBuilder& DiagBuilder::help(std::string text) {
    if (diag_)
        diag_->helps.push_back(std::move(text));
    return *this;
}

DiagBuilder& DiagBuilder::suggest(const std::string& nearest) {
    return nearest.empty() ? *this : help(suggestion_text(nearest));
}

void Diagnostics::note_in_library(size_t first, Range range, const std::string& text) {
    for (size_t i = first; i < diags_.size(); i++)
        if (sources_.is_tapset(diags_[i].range.file))
            diags_[i].notes.push_back({range, text});
}

DiagBuilder Diagnostics::report(DiagId id, Range range, std::string message) {
    Severity severity = row_of(id).severity;
    if (suppress_depth_ > 0) {
        if (severity == Severity::Error)
            suppressed_errors_++;
        suppressed_.emplace_back(id, std::move(message));
        return DiagBuilder(nullptr);
    }
    if (severity == Severity::Warning) {
        if (warnings_off || sources_.is_tapset(range.file))
            return DiagBuilder(nullptr);
        if (warnings_fatal)
            severity = Severity::Error;
    }
    if (severity == Severity::Error)
        errors_++;
    diags_.push_back({id, severity, range, std::move(message), {}, {}});
    return DiagBuilder(&diags_.back());
}

DiagBuilder Diagnostics::hold(DiagId id, Range range, std::string message) {
    held_.push_back({diags_.size(), {id, row_of(id).severity, range, std::move(message), {}, {}}});
    return DiagBuilder(&held_.back().diag);
}

void Diagnostics::say_held() {
    // Insert from the last one to the first, so that the positions of the earlier ones remain valid.
    for (; !held_.empty(); held_.pop_back()) {
        if (held_.back().diag.severity == Severity::Error)
            errors_++;
        diags_.insert(diags_.begin() + static_cast<ptrdiff_t>(held_.back().before), std::move(held_.back().diag));
    }
}

Diagnostics::Suppress::Suppress(Diagnostics& diags)
    : diags_(diags), start_(diags.suppressed_errors_), first_(diags.suppressed_.size()) {
    diags_.suppress_depth_++;
}

// Errors of an inner object do not count for the outer one, because the code that created it has handled them. Example:
// `$$parms` prints `?` for one parameter, and `@defined($$parms)` is 1.
Diagnostics::Suppress::~Suppress() {
    diags_.suppress_depth_--;
    diags_.suppressed_errors_ = start_;
    diags_.suppressed_.resize(first_);
}

// A text of a message about a tool's word. The user of `sonde log` writes variables as in the program: without `$`.
static std::string without_sigils(const std::string& text, const Sources::Word& word) {
    if (word.text.find('$') != std::string::npos)
        return text;
    std::string out;
    for (const char c : text)
        if (c != '$' || (!out.empty() && out.back() != ' ' && out.back() != '`'))
            out += c;
    return out;
}

// The words with which SystemTap begins such a message, and for which scripts search.
static const char* stap_class(const Diagnostic& diag) {
    if (diag.severity == Severity::Warning)
        return "WARNING";
    return diag.id <= DiagId::ForeignScript ? "parse error" : "semantic error"; // the order of diagnostics.def
}

std::string Diagnostics::render(const Diagnostic& diag, bool color) const {
    Palette colors(color);
    bool is_error = diag.severity == Severity::Error;
    const char* main_color = is_error ? colors.error : colors.warning;
    size_t digits = count_digits(sources_, diag);
    const Sources::Word* word = sources_.word_at(diag.range);
    const auto shown = [word](const std::string& text) {
        return terminal_text(word ? without_sigils(text, *word) : text);
    };

    const char* name = diag_name(diag.id);
    const std::string message = shown(diag.message);
    std::string out = in_stap_words ? fmt::format("{}{}:{}{} {} [{}]{}\n", main_color, stap_class(diag), colors.reset,
                                                  colors.bold, message, name, colors.reset)
                                    : fmt::format("{}{}[{}]{}{}: {}{}\n", main_color, is_error ? "error" : "warning",
                                                  name, colors.reset, colors.bold, message, colors.reset);
    if (diag.range.valid())
        out += render_place(sources_, diag.range, digits, colors, main_color);
    for (const DiagNote& note : diag.notes) {
        out += fmt::format("{}note{}: {}\n", colors.note, colors.reset, shown(note.text));
        if (note.range.valid())
            out += render_place(sources_, note.range, digits, colors, colors.note);
    }
    for (const std::string& help : diag.helps)
        out += fmt::format("{}help{}: {}\n", colors.help, colors.reset, shown(help));
    return out;
}

std::string Diagnostics::render(bool color) const {
    std::string out;
    for (const Diagnostic& diag : diags_) {
        if (!out.empty())
            out += '\n';
        out += render(diag, color);
    }
    return out;
}

} // namespace sonde
