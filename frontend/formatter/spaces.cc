#include "frontend/formatter/spaces.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace sonde {
namespace {

// Operators of two characters or more: without a blank, `- -x` would become `--x`.
constexpr std::string_view long_operators[] = {"<<<", ">>>", "<<=", ">>=", "**", "==", "!=", "<=", ">=", "=~", "!~",
                                               "+=",  "-=",  "*=",  "/=",  "%=", "&=", "^=", "|=", ".=", "&&", "||",
                                               "++",  "--",  "->",  "<<",  ">>", "%(", "%?", "%:", "%)", "//", "/*"};

bool would_merge(const Piece& left, const Piece& right) {
    if (left.kind != TokenKind::Operator || right.kind != TokenKind::Operator)
        return false;
    const std::string both = std::string(left.text) + right.text[0];
    return std::ranges::any_of(long_operators, [&](std::string_view one) { return one.starts_with(both); });
}

// In probe points: `process("a").function("b*").return ?, kernel.{function("c"), trace("d")} if (e)`. Blanks between
// the parts of a component separate them, so they stay as they are.
size_t count_spaces_in_points(const Piece& left, const Piece& right, bool is_condition, bool is_in_braces) {
    if (left.is(".") || right.is(".") || left.is("{"))
        return 0;
    if (right.is("}"))
        return 0;
    if (right.is("("))
        return is_condition || !is_part_of_component(left) ? 1 : 0;
    if (right.is("%(") || left.is("%)") || (left.is(",") && is_in_braces) ||
        (is_part_of_component(left) && is_part_of_component(right)))
        return right.is_glued() ? 0 : 1;
    return 1;
}

// `99.9` is three tokens.
bool is_fraction(const std::vector<Piece>& pieces, size_t piece) {
    const auto is_number = [&](size_t i) { return i < pieces.size() && pieces[i].kind == TokenKind::Number; };
    const auto is_glued = [&](size_t i) { return i < pieces.size() && pieces[i].is_glued(); };
    const size_t period = pieces[piece].is(".") ? piece : piece - 1;
    return period > 0 && pieces[period].is(".") && is_number(period - 1) && is_number(period + 1) && is_glued(period) &&
           is_glued(period + 1);
}

size_t count_spaces_in_code(const std::vector<Piece>& pieces, size_t piece, const Structure& structure) {
    const Piece &right = pieces[piece], &left = structure.last_piece();
    const LastToken& last = structure.last();
    const Enclosure& in = structure.innermost();
    const bool is_signature = in.is_signature || (structure.is_in_list() && in.item == Item::Signature);
    if (left.is("->") || right.is("->") || last.is_prefix || structure.is_postfix(piece))
        return 0;
    if (is_signature && (left.is(":") || right.is(":")))
        return 0;
    if (is_fraction(pieces, piece))
        return 0;
    if ((right.is("(") || right.is("[")) && left.is("%)"))
        return right.is_glued() ? 0 : 1;
    const bool is_macro_name = in.item == Item::Definition && !in.has_body && left.is_word();
    if (right.is("("))
        return last.is_name || is_macro_name || is_signature ? 0 : 1;
    if (right.is("[") && left.is("%") && in.item == Item::Globals)
        return 0;
    if (right.is("["))
        return last.is_operand && !last.is_postfix ? 0 : 1;
    if (right.is("%") && in.item == Item::Globals && structure.is_in_list())
        return 0;
    const bool is_pasted = right.is_word() && right.is_glued() && left.kind == TokenKind::Number; // `$1_name`
    const bool is_target = left.is("*") && piece >= 2 && pieces[piece - 2].is("->");              // `->*`
    const bool is_pretty = (right.text == "$" || right.text == "$$") && (left.is("]") || left.is(")") || is_target);
    if (is_pasted || is_pretty)
        return 0;
    // Two blanks between statements in one line separate them better than one.
    return structure.starts_item(piece) && right.blanks > 1 && in.item != Item::None ? 2 : 1;
}

// The same without regard to tokens that would become one.
size_t wanted_spaces(const std::vector<Piece>& pieces, size_t piece, const Structure& structure) {
    const Piece &right = pieces[piece], &before = pieces[piece - 1], &left = structure.last_piece();
    const bool is_in_brackets = before.is("(") || before.is("[");
    if (right.is_comment())
        return is_in_brackets && right.is_glued() ? 0 : 1;
    if (is_in_brackets || right.is(")") || right.is("]") || right.is(",") || (right.is(";") && !before.is("{")))
        return 0;
    if (before.is_comment())
        return 1;
    if ((left.is("{") || right.is("}")) && structure.innermost().scope == Scope::Block)
        return 1;
    // `if` also is the name of a component.
    const bool is_condition = left.is_keyword("if") && !(piece >= 2 && pieces[piece - 2].is("."));
    return structure.is_in_points() && !structure.opens_block(piece)
               ? count_spaces_in_points(left, right, is_condition, structure.innermost().scope == Scope::Alternatives)
               : count_spaces_in_code(pieces, piece, structure);
}

} // namespace

size_t count_spaces(const std::vector<Piece>& pieces, size_t piece, const Structure& structure) {
    const size_t wanted = wanted_spaces(pieces, piece, structure);
    return wanted == 0 && !pieces[piece].is_glued() && would_merge(pieces[piece - 1], pieces[piece]) ? 1 : wanted;
}

} // namespace sonde
