#include "frontend/formatter/pieces.h"

#include <algorithm>

#include "base/diag.h"
#include "base/source.h"

namespace sonde {
namespace {

constexpr size_t tab_width = 8;

bool opens(const Piece& piece) { return piece.is("{") || piece.is("(") || piece.is("[") || piece.is("%("); }
bool closes(const Piece& piece) { return piece.is("}") || piece.is(")") || piece.is("]") || piece.is("%)"); }

bool are_partners(const Piece& open, const Piece& close) {
    return (open.is("{") && close.is("}")) || (open.is("(") && close.is(")")) || (open.is("[") && close.is("]")) ||
           (open.is("%(") && close.is("%)"));
}

// The branches of a conditional need not be balanced: `%( c %? probe a { %: probe b { %) ... }`. So a bracket in a
// branch has no partner outside of the branch.
void find_partners(std::vector<Piece>& pieces) {
    std::vector<size_t> open;
    for (size_t i = 0; i < pieces.size(); i++) {
        if (opens(pieces[i]))
            open.push_back(i);
        const bool ends_branch = pieces[i].is("%:") || pieces[i].is("%)");
        while (ends_branch && !open.empty() && !pieces[open.back()].is("%("))
            open.pop_back();
        if (!closes(pieces[i]) || open.empty() || !are_partners(pieces[open.back()], pieces[i]))
            continue;
        pieces[i].partner = open.back();
        pieces[open.back()].partner = i;
        open.pop_back();
    }
}

} // namespace

size_t column_behind(std::string_view text, size_t column) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte == '\n')
            column = 0;
        else if (byte == '\t')
            column += tab_width - column % tab_width;
        else if ((byte & 0xc0) != 0x80 && byte != '\r')
            column++;
    }
    return column;
}

std::vector<Piece> read_pieces(std::string_view text) {
    Sources sources;
    const FileId file = sources.add("", std::string(text));
    Diagnostics ignored(sources);
    std::vector<Piece> out;
    size_t end = 0, column = 0, line = 0, line_indent = 0;
    for (const Token& token : lex_as_written(file, sources, ignored)) {
        Piece& piece = out.emplace_back();
        piece.kind = token.kind;
        piece.begin = token.range.begin;
        piece.text = text.substr(piece.begin, token.range.end - piece.begin);
        const std::string_view gap = text.substr(end, piece.begin - end);
        piece.newlines = static_cast<size_t>(std::ranges::count(gap, '\n'));
        piece.column = column_behind(gap, column);
        piece.blanks = piece.newlines > 0 ? 0 : piece.column - column;
        line += piece.newlines;
        piece.line = line;
        if (out.size() == 1 || piece.newlines > 0)
            line_indent = piece.column;
        piece.line_indent = line_indent;
        column = column_behind(piece.text, piece.column);
        line += static_cast<size_t>(std::ranges::count(piece.text, '\n'));
        end = token.range.end;
        // A comment to the end of its line also has the `\r`.
        if (piece.is_comment())
            piece.text = piece.text.substr(0, piece.text.find_last_not_of(" \t\r\n\f\v") + 1);
    }
    find_partners(out);
    return out;
}

std::vector<size_t> find_next_tokens(const std::vector<Piece>& pieces) {
    std::vector<size_t> out(pieces.size());
    for (size_t i = pieces.size(), next = 0; i-- > 0; out[i] = next)
        if (!pieces[i].is_comment())
            next = i;
    return out;
}

} // namespace sonde
