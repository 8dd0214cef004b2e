#include "frontend/formatter/structure.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sonde {
namespace {

constexpr size_t step = 4;
constexpr size_t points_indent = 6; // of further lines with points: below the first one
constexpr size_t deep_column = 40;
// A branch that leaves more brackets open is not worth the time to copy them.
constexpr size_t max_unclosed = 64;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, text) != words.end();
}

bool is_declaration_word(const Piece& piece) {
    return piece.kind == TokenKind::Keyword && is_one_of(piece.text, {"probe", "function", "global", "private"});
}

bool is_define(const Piece& piece) { return piece.kind == TokenKind::Identifier && piece.text == "@define"; }
bool is_pretty(const Piece& piece) {
    return piece.kind == TokenKind::Identifier && (piece.text == "$" || piece.text == "$$");
}

} // namespace

Structure::Structure(const std::vector<Piece>& pieces) : pieces_(pieces) {}

const Piece& Structure::last_piece() const {
    static const Piece none;
    return last_.index == std::string_view::npos ? none : pieces_[last_.index];
}

bool Structure::is_in_list() const {
    return innermost().scope != Scope::Group && innermost().scope != Scope::Alternatives && !innermost().in_condition;
}

bool Structure::is_in_points() const {
    return innermost().scope == Scope::Alternatives ||
           (is_in_list() && innermost().item == Item::Points && !innermost().has_body);
}

// A bracket without a partner counts as broken.
bool Structure::is_broken(size_t bracket) const {
    const size_t partner = pieces_[bracket].partner;
    if (partner == std::string::npos)
        return true;
    const auto [open, close] = std::minmax(bracket, partner);
    return close > open + 1 && pieces_[open].line != pieces_[close].line;
}

bool Structure::closes_innermost(size_t token) const {
    const Piece& piece = pieces_[token];
    switch (innermost().scope) {
    case Scope::File:
        return piece.kind == TokenKind::End;
    case Scope::Block:
    case Scope::Alternatives:
        return piece.is("}");
    case Scope::Group:
        return piece.is(")") || piece.is("]");
    case Scope::Branches:
        return piece.is("%)") || piece.is("%:") || piece.is("%?");
    case Scope::MacroBody:
        break;
    }
    return piece.is("%)");
}

// ---- operators --------------------------------------------------------------------------------------------------

bool Structure::is_prefix(size_t token) const {
    const Piece& piece = pieces_[token];
    if (piece.kind != TokenKind::Operator || is_in_points())
        return false;
    if (piece.text == "!" || piece.text == "~")
        return true;
    if (piece.text == "++" || piece.text == "--")
        return !last_.is_operand || last_.is_postfix;
    return !last_.is_operand && is_one_of(piece.text, {"-", "+", "&"});
}

// `n++`, and the sign of a sort order: `foreach (k- in a)`, `foreach (k in a @sum - limit 5)`.
bool Structure::is_postfix(size_t token) const {
    const Piece& piece = pieces_[token];
    if (piece.kind != TokenKind::Operator || !last_.is_operand || last_.is_postfix)
        return false;
    if (piece.text == "++" || piece.text == "--")
        return true;
    const Piece& next = pieces_[std::min(token + 1, pieces_.size() - 1)];
    return innermost().scope == Scope::Group && (piece.text == "-" || piece.text == "+") &&
           (next.is(")") || next.is("]") || next.is(",") || next.is("=") || next.is_keyword("in") ||
            next.is_keyword("limit"));
}

// ---- items ------------------------------------------------------------------------------------------------------

// The words that begin a declaration are also names of components and members.
bool Structure::begins_declaration(size_t token) const {
    if (!is_declaration_word(pieces_[token]) && !is_define(pieces_[token]))
        return false;
    const Piece& before = last_piece();
    if (before.is_keyword("private") || before.is_keyword("function") || before.is_keyword("probe"))
        return false;
    return !is_one_of(before.kind == TokenKind::Operator ? before.text : "", {".", "->", ",", "=", "+="}) &&
           !(is_in_points() && pieces_[token].is_glued() && is_part_of_component(before));
}

// Whether a statement ends before the token. `;` is optional, so this is the case where an operand ends and the token
// cannot go on with the expression.
bool Structure::ends_statement(size_t token) const {
    const Piece& piece = pieces_[token];
    if (piece.is_keyword("else"))
        return last_piece().text != "->";
    if (last_piece().is("}") && !last_.is_operand)
        return !piece.is_keyword("catch");
    if (last_.ends_word_statement)
        return true;
    if (!last_.is_operand)
        return false;
    switch (piece.kind) {
    case TokenKind::Identifier: {
        const bool is_pasted = piece.is_glued() && last_piece().kind == TokenKind::Number; // `$1_name`
        return !is_pasted && !(is_pretty(piece) && !last_.is_name);
    }
    case TokenKind::Keyword:
        return !is_one_of(piece.text, {"in", "limit", "long", "string"});
    case TokenKind::String:
        return last_piece().kind != TokenKind::String;
    case TokenKind::Operator:
        break;
    default:
        return true;
    }
    if (piece.is("("))
        return !last_.is_name;
    if (piece.is("[") || piece.is("++") || piece.is("--"))
        return last_.is_postfix;
    if (piece.is("{"))
        return !innermost().awaits_block;
    return piece.is("!") || piece.is("~") || (piece.is("%(") && piece.newlines > 0);
}

bool Structure::ends_item(size_t token) const {
    const Piece &piece = pieces_[token], &before = last_piece();
    if (piece.is(";") || piece.is(",") || piece.kind == TokenKind::End)
        return false;
    if (before.is(";"))
        return true;
    switch (innermost().item) {
    case Item::None:
        return true;
    case Item::Statement:
        return ends_statement(token);
    case Item::Points:
        return innermost().has_body ? before.is("}") : begins_declaration(token);
    case Item::Signature:
        return innermost().has_body || begins_declaration(token);
    case Item::Globals:
        return (last_.is_operand || before.is("%")) &&
               (begins_declaration(token) || piece.is_word() || piece.kind == TokenKind::Embedded ||
                (piece.is("%(") && piece.newlines > 0));
    case Item::Definition:
        break;
    }
    return innermost().has_body;
}

bool Structure::starts_item(size_t token) const {
    return is_in_list() && !closes_innermost(token) && (innermost().item == Item::None || ends_item(token));
}

bool Structure::opens_block(size_t token) const {
    if (!pieces_[token].is("{") || !is_in_list())
        return false;
    const Enclosure& in = innermost();
    if (in.item != Item::Points)
        return true;
    const Piece& before = last_piece();
    return in.has_body ||
           !(before.is_keyword("probe") || before.is(".") || before.is(",") || before.is("=") || before.is("+="));
}

bool Structure::opens_declaration_block(size_t token) const {
    return opens_block(token) && (innermost().item == Item::Points || innermost().item == Item::Signature) &&
           !ends_item(token);
}

bool Structure::opens_macro_body(size_t token) const {
    return pieces_[token].is("%(") && is_in_list() && innermost().item == Item::Definition && !innermost().has_body;
}

// Its `%)` begins a line.
bool Structure::has_line_at_end(size_t token) const {
    const size_t partner = pieces_[token].partner;
    return pieces_[token].is("%(") && partner != std::string::npos && pieces_[partner].newlines > 0;
}

bool Structure::is_directive(size_t token) const {
    return has_line_at_end(token) && starts_item(token) &&
           !(innermost().item == Item::None && !innermost().heads.empty());
}

// ---- indentation ------------------------------------------------------------------------------------------------

const Head* Structure::matching_if() const {
    const auto found = std::ranges::find_if(innermost().heads.rbegin(), innermost().heads.rend(), &Head::is_if);
    return found == innermost().heads.rend() ? nullptr : &*found;
}

size_t Structure::indent(size_t token, bool is_comment, size_t source_indent) const {
    const Enclosure& in = innermost();
    const Piece& piece = pieces_[token];
    if (!is_comment && closes_innermost(token))
        return in.outside;
    if (!is_comment && (piece.is("%)") || piece.is("%:")))
        for (auto outer = enclosures_.rbegin(); outer != enclosures_.rend(); ++outer)
            if (outer->scope == Scope::Branches || outer->scope == Scope::MacroBody)
                return outer->outside;
    if (!is_in_list())
        return in.scope == Scope::Group ? group_indent(source_indent) : in.indent;
    if (is_directive(token))
        return 0;
    if (in.item == Item::None) {
        if (in.heads.empty())
            return in.indent;
        return in.heads.back().indent + (piece.is("{") ? 0 : step);
    }
    if (piece.is_keyword("else") && starts_item(token)) {
        const Head* head = matching_if();
        return head ? head->indent : in.indent;
    }
    if (starts_item(token) || closes_innermost(token))
        return in.indent;
    return continuation_indent(token, source_indent);
}

// Arguments are below the first one. If that is far to the right, the author may have chosen another column.
size_t Structure::group_indent(size_t source_indent) const {
    const Enclosure& in = innermost();
    if (in.is_deep && source_indent < in.source_indent)
        return std::min(in.indent,
                        in.line_indent + std::max(source_indent, in.line_source_indent + step) - in.line_source_indent);
    const bool is_argument = last_piece().is(",") || last_piece().is("(") || last_piece().is("[");
    return in.indent + (is_argument ? 0 : std::max(source_indent, in.source_indent) - in.source_indent);
}

// Authors often align further lines of an expression by hand, such as the operands of `? :`. So these lines keep their
// distance from the beginning of the statement, or of the argument.
size_t Structure::continuation_indent(size_t token, size_t source_indent) const {
    const Enclosure& in = innermost();
    if (pieces_[token].is("{") || pieces_[token].is_keyword("catch"))
        return in.item_indent;
    switch (in.item) {
    case Item::Points:
        return in.item_indent + (in.has_sign ? step : points_indent);
    case Item::Globals:
        return in.names_column;
    case Item::Statement:
        break;
    default:
        return in.item_indent + step;
    }
    const size_t least = in.item_source_indent + (in.scope == Scope::MacroBody ? 0 : step);
    return in.item_indent + std::max(source_indent, least) - in.item_source_indent;
}

// ---- taking tokens ----------------------------------------------------------------------------------------------

void Structure::take(size_t token, size_t line_indent, size_t column, bool is_hanging) {
    const Piece& piece = pieces_[token];
    LastToken next;
    next.index = token;
    const bool is_member = last_piece().is("->");
    if (starts_item(token))
        begin_item(token, line_indent);
    Enclosure& in = enclosures_.back();
    switch (piece.kind) {
    case TokenKind::Identifier:
    case TokenKind::Keyword:
        next.is_name = piece.kind == TokenKind::Identifier || is_member;
        next.is_operand = next.is_name || piece.is_keyword("long") || piece.is_keyword("string");
        next.ends_word_statement = !is_member && is_one_of(piece.text, {"next", "break", "continue"}) &&
                                   piece.kind == TokenKind::Keyword && in.item == Item::Statement;
        if (in.item == Item::Globals && last_piece().is_keyword("global"))
            in.names_column = column - column_behind(piece.text, 0);
        if (!is_member)
            take_word(token, line_indent);
        break;
    case TokenKind::Number:
    case TokenKind::String:
        next.is_operand = true;
        break;
    case TokenKind::Embedded:
        next.is_operand = true;
        in.has_body = in.has_body || in.item == Item::Signature;
        break;
    case TokenKind::Operator:
        next.is_prefix = is_prefix(token);
        next.is_postfix = is_postfix(token);
        next.is_operand =
            next.is_postfix || piece.is(")") || piece.is("]") || piece.is("%)") || (piece.is("*") && !last_.is_operand);
        next.ends_block = piece.is("}") && innermost().scope == Scope::Block && is_broken(token);
        in.has_sign = in.has_sign || (is_in_points() && (piece.is("=") || piece.is("+=")));
        in.has_body = in.has_body || (in.item == Item::Signature && piece.is(";"));
        if (piece.is(")") && in.is_head)
            next.is_operand = false;
        if (piece.is("{") || piece.is("(") || piece.is("[") || piece.is("%("))
            open(token, line_indent, column, is_hanging);
        else if (piece.is("%?") || piece.is("%:"))
            begin_branch(token);
        else if (piece.is("%)"))
            close_percent();
        else if (piece.is("}") || piece.is(")") || piece.is("]"))
            close(token);
        break;
    default:
        break;
    }
    last_ = next;
}

void Structure::begin_item(size_t token, size_t line_indent) {
    Enclosure& in = enclosures_.back();
    const Piece& piece = pieces_[token];
    if (in.item != Item::None) { // the one before is complete, and with it the bodies that end with it
        if (!piece.is_keyword("else"))
            in.heads.clear();
        else
            while (!in.heads.empty() && !in.heads.back().is_if)
                in.heads.pop_back();
    }
    const bool is_body = piece.is("{") && in.item == Item::None && !in.heads.empty();
    in.item = Item::Statement;
    in.item_indent = is_body ? in.heads.back().indent : line_indent;
    in.item_source_indent = piece.line_indent;
    in.names_column = line_indent + step;
    in.has_sign = in.has_body = in.awaits_head = in.awaits_block = false;
    if (in.scope == Scope::Block)
        in.item = is_define(piece) ? Item::Definition : Item::Statement;
    else if (is_define(piece))
        in.item = Item::Definition;
    else if (piece.is_keyword("probe"))
        in.item = Item::Points;
    else if (piece.is_keyword("function"))
        in.item = Item::Signature;
    else if (piece.is_keyword("global"))
        in.item = Item::Globals;
    else if (piece.is_keyword("private"))
        in.item =
            token + 1 < pieces_.size() && pieces_[token + 1].is_keyword("function") ? Item::Signature : Item::Globals;
}

void Structure::take_word(size_t token, size_t line_indent) {
    Enclosure& in = enclosures_.back();
    const Piece& piece = pieces_[token];
    if (piece.kind != TokenKind::Keyword || in.item != Item::Statement || !is_in_list())
        return;
    if (is_one_of(piece.text, {"if", "while", "for", "foreach"})) {
        in.awaits_head = true;
        in.awaits_if = piece.text == "if";
    } else if (piece.text == "try" || piece.text == "catch") {
        in.awaits_block = true;
    } else if (piece.text == "else") {
        size_t indent = line_indent;
        if (!in.heads.empty()) { // begin_item() has left the `if`
            indent = in.heads.back().indent;
            in.heads.pop_back();
        }
        in.heads.push_back({false, indent});
        in.item = Item::None;
    }
}

void Structure::open(size_t token, size_t line_indent, size_t column, bool is_hanging) {
    const Piece& piece = pieces_[token];
    if (piece.is("{"))
        return open_brace(token, line_indent, column);
    if (piece.is("%("))
        return open_percent(token, line_indent, column);
    Enclosure& in = enclosures_.back();
    Enclosure group;
    group.scope = Scope::Group;
    group.indent = is_hanging ? line_indent + step : column;
    group.outside = line_indent;
    group.source_indent = is_hanging ? piece.line_indent + step : piece.column + 1;
    group.line_indent = line_indent;
    group.line_source_indent = piece.line_indent;
    group.is_deep = !is_hanging && column > deep_column;
    group.is_head = std::exchange(in.awaits_head, false);
    group.is_if = in.awaits_if;
    group.is_signature = is_in_list() && in.item == Item::Signature;
    enclosures_.push_back(std::move(group));
}

void Structure::open_brace(size_t token, size_t line_indent, size_t column) {
    Enclosure& in = enclosures_.back();
    Enclosure inner;
    if (!opens_block(token)) {
        inner.scope = Scope::Alternatives;
        inner.indent = column;
        inner.outside = line_indent;
    } else {
        inner.scope = Scope::Block;
        inner.outside = in.item_indent;
        inner.indent = inner.outside + step;
        in.has_body = true;
        in.awaits_block = false;
    }
    enclosures_.push_back(std::move(inner));
}

void Structure::open_percent(size_t token, size_t line_indent, size_t column) {
    Enclosure& in = enclosures_.back();
    Enclosure inner;
    const bool is_directive = in.item == Item::Statement && is_in_list() && has_line_at_end(token) && column == 2;
    inner.scope = opens_macro_body(token) ? Scope::MacroBody : Scope::Branches;
    inner.in_condition = inner.scope == Scope::Branches;
    inner.outside = inner.scope == Scope::MacroBody ? in.item_indent : line_indent;
    inner.indent = is_directive ? in.indent : inner.outside + step;
    in.has_body = in.has_body || inner.scope == Scope::MacroBody;
    enclosures_.push_back(std::move(inner));
}

Enclosure Structure::pop() {
    Enclosure out = std::move(enclosures_.back());
    enclosures_.pop_back();
    return out;
}

void Structure::close(size_t token) {
    if (!closes_innermost(token)) {
        if (innermost().scope == Scope::Branches && !innermost().saw_else)
            enclosures_.back().extra_closes++;
        return;
    }
    const Enclosure closed = pop();
    Enclosure& in = enclosures_.back();
    if (closed.is_head) {
        in.heads.push_back({closed.is_if, in.item_indent});
        in.item = Item::None;
    }
}

// At `%?` and `%:`. The second branch begins where the first one did.
void Structure::begin_branch(size_t token) {
    size_t depth = enclosures_.size();
    while (depth > 0 && enclosures_[depth - 1].scope != Scope::Branches &&
           enclosures_[depth - 1].scope != Scope::MacroBody)
        depth--;
    if (depth == 0 || enclosures_[depth - 1].scope == Scope::MacroBody)
        return;
    Enclosure& branches = enclosures_[depth - 1];
    if (!branches.saw_else && !branches.in_condition && enclosures_.size() - depth <= max_unclosed)
        branches.unclosed.assign(std::make_move_iterator(enclosures_.begin() + static_cast<ptrdiff_t>(depth)),
                                 std::make_move_iterator(enclosures_.end()));
    enclosures_.resize(depth);
    Enclosure& in = enclosures_.back();
    in.saw_else = in.saw_else || pieces_[token].is("%:");
    in.in_condition = false;
    in.heads.clear();
    const Enclosure& around = depth > 1 ? enclosures_[depth - 2] : in;
    const bool is_in_points = around.item == Item::Points && !around.has_body;
    in.item = is_in_points ? Item::Points : Item::None;
    in.item_indent = around.item_indent;
    in.has_sign = in.has_body = in.awaits_head = in.awaits_block = false;
}

void Structure::close_percent() {
    size_t depth = enclosures_.size();
    while (depth > 0 && enclosures_[depth - 1].scope != Scope::Branches &&
           enclosures_[depth - 1].scope != Scope::MacroBody)
        depth--;
    if (depth == 0)
        return;
    std::vector<Enclosure> unclosed = std::move(enclosures_[depth - 1].unclosed);
    if (!enclosures_[depth - 1].saw_else && enclosures_[depth - 1].scope == Scope::Branches &&
        enclosures_.size() - depth <= max_unclosed)
        unclosed.assign(std::make_move_iterator(enclosures_.begin() + static_cast<ptrdiff_t>(depth)),
                        std::make_move_iterator(enclosures_.end()));
    const size_t extra_closes = enclosures_[depth - 1].extra_closes;
    enclosures_.resize(depth - 1);
    for (size_t i = 0; i < extra_closes && enclosures_.size() > 1 && enclosures_.back().scope != Scope::Branches; i++)
        enclosures_.pop_back();
    std::ranges::move(unclosed, std::back_inserter(enclosures_));
}

} // namespace sonde
