// One pass over the tokens and comments. For each of them, the structure (structure.h) tells whether a line begins
// here and at which column; in a line, spaces.h tells the number of blanks.
//
// The author's line breaks stay, with these exceptions:
//
// * If a block or macro body is not on one line, its closing bracket begins a line. The `{` of a declaration also does;
//   other ones are at the end of a line. `else` and `catch` follow the `}`.
// * Declarations begin lines.
// * No break before `;`, the parenthesis of a call, or an operand of a unary operator.
//
// Whether a line begins does not depend on columns, and no column depends on the old indentation, except for the
// distances that Structure::indent() and Lines keep. So a second run changes nothing.
#include "frontend/formatter/format_script.h"

#include <algorithm>
#include <cctype>

#include "frontend/formatter/lines.h"
#include "frontend/formatter/pieces.h"
#include "frontend/formatter/spaces.h"
#include "frontend/formatter/structure.h"

namespace sonde {
namespace {

constexpr std::string_view byte_order_mark = "\ufeff";

std::string_view newline_of(std::string_view text) {
    const size_t first = text.find('\n');
    return first != std::string_view::npos && first > 0 && text[first - 1] == '\r' ? "\r\n" : "\n";
}

// Returns the lines of a comment without blanks at their ends. If each further line begins with `*`, they move with the
// first one, which is now in `column`.
std::string lay_out_comment(std::string_view text, size_t column, std::string_view newline) {
    std::vector<std::string_view> lines;
    while (true) {
        const size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        lines.push_back(line.substr(0, line.find_last_not_of(" \t\r\f\v") + 1));
        if (end == std::string_view::npos)
            break;
        text.remove_prefix(end + 1);
    }
    const auto inside = [](std::string_view line) {
        return line.substr(std::min(line.size(), line.find_first_not_of(" \t")));
    };
    const bool has_stars = std::all_of(lines.begin() + 1, lines.end(),
                                       [&](std::string_view line) { return inside(line).starts_with('*'); });
    std::string out(lines[0]);
    for (size_t i = 1; i < lines.size(); i++) {
        out += newline;
        out.append(has_stars ? column + 1 : 0, ' ');
        out += has_stars ? inside(lines[i]) : lines[i];
    }
    return out;
}

class Formatter {
  public:
    explicit Formatter(std::string_view text)
        : newline_(newline_of(text)), pieces_(read_pieces(text)), next_token_(find_next_tokens(pieces_)),
          structure_(pieces_) {}

    std::string run() {
        for (size_t i = 0; i + 1 < pieces_.size(); i++)
            place(i);
        return lines_.text(newline_);
    }

  private:
    void place(size_t i);
    bool breaks_line(size_t i) const;
    bool must_break(size_t i) const;
    bool must_join(size_t i) const;
    bool keeps_empty_line(size_t i) const;

    std::string_view newline_;
    std::vector<Piece> pieces_;
    std::vector<size_t> next_token_;
    Structure structure_;
    Lines lines_;
};

void Formatter::place(size_t i) {
    const Piece& piece = pieces_[i];
    const bool begins_line = i == 0 || breaks_line(i);
    if (i > 0 && begins_line)
        lines_.begin(structure_.indent(next_token_[i], piece.is_comment(), piece.line_indent), keeps_empty_line(i));
    const size_t spaces = begins_line ? 0 : count_spaces(pieces_, i, structure_);
    if (piece.is_line_comment() && !begins_line)
        return lines_.add_comment(piece.text, piece.column, piece.blanks);
    if (piece.is_comment())
        return lines_.add(spaces, lay_out_comment(piece.text, lines_.column() + spaces, newline_));
    lines_.add(spaces, piece.text);
    const Piece& next = pieces_[i + 1];
    const bool is_hanging = next.is_line_comment() || (next.newlines > 0 && !next.is(";")); // `;` joins the line
    structure_.take(i, lines_.indent(), lines_.column(), is_hanging);
}

bool Formatter::breaks_line(size_t i) const {
    const Piece &piece = pieces_[i], &before = pieces_[i - 1];
    if (before.is_line_comment())
        return true;
    if (piece.is_comment())
        return piece.newlines > 0;
    if (must_break(i))
        return true;
    return piece.newlines > 0 && (before.is_comment() || !must_join(i));
}

bool Formatter::must_break(size_t i) const {
    const Piece &piece = pieces_[i], &last = structure_.last_piece();
    const Enclosure& in = structure_.innermost();
    if (last.kind == TokenKind::End) // only comments so far
        return false;
    const bool is_after_opening =
        (last.is("{") && in.scope == Scope::Block) || (last.is("%(") && in.scope == Scope::MacroBody);
    const bool is_closing =
        structure_.closes_innermost(i) && (in.scope == Scope::Block || in.scope == Scope::MacroBody);
    if ((is_after_opening && structure_.is_broken(structure_.last().index)) || (is_closing && structure_.is_broken(i)))
        return true;
    if (structure_.opens_declaration_block(i) && structure_.is_broken(i))
        return true;
    if (structure_.last().ends_block && structure_.is_in_list() && !structure_.closes_innermost(i) &&
        !(piece.is_keyword("else") && structure_.is_else_of_block()) && !piece.is_keyword("catch") && !piece.is(";") &&
        !piece.is(",") && !piece.text.starts_with('@'))
        return true;
    return structure_.is_in_file() && structure_.starts_item(i);
}

bool Formatter::must_join(size_t i) const {
    const Piece &piece = pieces_[i], &left = structure_.last_piece();
    const LastToken& last = structure_.last();
    const Enclosure& in = structure_.innermost();
    if (structure_.closes_innermost(i))
        return piece.partner == i - 1 && !piece.is("%)");
    if (piece.is(";") || last.is_prefix || structure_.is_postfix(i))
        return true;
    if (piece.is("{") && structure_.opens_block(i))
        return !structure_.starts_item(i) || (in.item == Item::None && !in.heads.empty());
    if (piece.is_keyword("else"))
        return last.ends_block && structure_.is_else_of_block();
    if (piece.is_keyword("catch"))
        return last.ends_block;
    if (piece.is_keyword("if") && left.is_keyword("else"))
        return true;
    if (piece.is("(") || piece.is("["))
        return !structure_.starts_item(i) &&
               (last.is_name || last.is_operand || in.awaits_head || structure_.is_in_points());
    const bool is_head =
        structure_.is_in_list() && !in.has_body && !structure_.starts_item(i) && !structure_.closes_innermost(i);
    if (is_head && (in.item == Item::Signature || in.item == Item::Definition))
        return piece.kind != TokenKind::Embedded;
    return left.is_keyword("probe") || left.is_keyword("global") || left.is_keyword("private");
}

// Between statements or declarations, and around the comments there.
bool Formatter::keeps_empty_line(size_t i) const {
    const Piece &piece = pieces_[i], &before = pieces_[i - 1];
    const size_t token = next_token_[i];
    const Enclosure& in = structure_.innermost();
    if (piece.newlines < 2 || !structure_.is_in_list() || piece.is_keyword("else"))
        return false;
    if (before.is("{") || before.is("%(") || before.is("%?") || before.is("%:") || structure_.closes_innermost(i))
        return false;
    if (in.item == Item::None)
        return in.heads.empty();
    return structure_.starts_item(token) || structure_.closes_innermost(token);
}

// Comments may move, and lose blanks at the ends of their lines.
bool is_same(const Piece& a, const Piece& b) {
    if (a.kind != b.kind || !a.is_comment())
        return a.kind == b.kind && a.text == b.text;
    const auto without_blanks = [](std::string_view text) {
        std::string out;
        std::ranges::copy_if(text, std::back_inserter(out), [](unsigned char c) { return !std::isspace(c); });
        return out;
    };
    return without_blanks(a.text) == without_blanks(b.text);
}

} // namespace

Result<std::string> format_script(std::string_view text) {
    std::string out;
    if (text.starts_with(byte_order_mark))
        out = byte_order_mark;
    out += Formatter(text).run();
    const std::vector<Piece> before = read_pieces(text), after = read_pieces(out);
    const auto [old_one, new_one] = std::ranges::mismatch(before, after, is_same);
    if (old_one != before.end() || new_one != after.end())
        return Error("internal error: formatting would change the script at `" +
                     std::string(old_one == before.end() ? "" : old_one->text) + "`");
    return out;
}

std::vector<TextEdit> find_edits(std::string_view text, std::string_view formatted) {
    std::vector<TextEdit> out;
    const std::vector<Piece> before = read_pieces(text), after = read_pieces(formatted);
    size_t old_end = 0, new_end = 0;
    const auto compare = [&](size_t old_to, size_t new_to) {
        const std::string_view wanted = formatted.substr(new_end, new_to - new_end);
        if (text.substr(old_end, old_to - old_end) != wanted)
            out.push_back({old_end, old_to, std::string(wanted)});
        old_end = old_to;
        new_end = new_to;
    };
    for (size_t i = 0; i < std::min(before.size(), after.size()); i++) {
        compare(before[i].begin, after[i].begin);
        compare(before[i].begin + before[i].text.size(), after[i].begin + after[i].text.size());
    }
    return out;
}

} // namespace sonde
