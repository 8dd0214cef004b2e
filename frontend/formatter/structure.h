// The state of the formatter at a token: the open brackets, the statement or declaration around the token, and the
// heads
// (`if (...)`, `else`) whose bodies have no braces.
//
// This is not the parser. It sees the text before the preprocessor, with macros and all branches of conditionals. So it
// must accept any sequence of tokens, and where it is wrong about the meaning, only the layout suffers. It has no
// recursion, because a branch that is not taken can be nested to any depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "frontend/formatter/pieces.h"

namespace sonde {

// What a bracket encloses.
enum class Scope : uint8_t {
    File,         // the whole text; not a bracket
    Block,        // { statements }
    Group,        // ( ) or [ ]
    Alternatives, // { } in a probe point
    Branches,     // %( condition %? ... %: ... %)
    MacroBody,    // %( ... %) of @define
};

enum class Item : uint8_t { None, Statement, Points, Signature, Globals, Definition };

// A head without braces; its body is the next statement.
struct Head {
    bool is_if;
    size_t indent; // of its line
};

struct Enclosure {
    Scope scope = Scope::File;
    size_t indent = 0;                              // of lines in the brackets
    size_t outside = 0;                             // of the line of a closing bracket
    size_t source_indent = 0;                       // a Group: `indent` in the old text
    size_t line_indent = 0, line_source_indent = 0; // a Group: of the line with the bracket, now and in the old text
    bool is_deep = false;                           // a Group: too far to the right for its lines to be below it
    bool is_head = false;                           // a Group: `(...)` after `if` or a loop
    bool is_if = false;                             // ... after `if`
    bool is_signature = false;                      // a Group: the parameters of a function
    bool in_condition = false;                      // Branches: before the `%?`
    bool saw_else = false;                          // Branches: after the `%:`
    size_t extra_closes = 0;         // Branches: brackets that the first branch closes, but does not open
    std::vector<Enclosure> unclosed; // Branches: brackets that the first branch opens, but does not close

    // The current item, in all scopes except Group and Alternatives.
    Item item = Item::None;
    size_t item_indent = 0;        // of the line where it begins
    size_t item_source_indent = 0; // the same in the old text
    size_t names_column = 0;       // Globals: of the first name
    bool has_sign = false;         // Points: `=` or `+=`, so this is an alias
    bool has_body = false;         // its block, embedded code or macro body has begun
    bool awaits_head = false;      // the next `(` is that of a head
    bool awaits_if = false;        // ... of an `if`
    bool awaits_block = false;     // after `try` or `catch`
    std::vector<Head> heads;       // their bodies are not complete
};

// The last token before the current one.
struct LastToken {
    size_t index = std::string_view::npos; // npos: there is none
    bool is_operand = false;               // an operand ends here, so an operator that follows is a binary one
    bool is_name = false;                  // an identifier, or a keyword as a member (`->next`)
    bool is_prefix = false;                // a unary operator before its operand
    bool is_postfix = false;               // `++`, or the sign of a sort order
    bool ends_block = false;               // the `}` of a block that does not stand on one line
    bool ends_word_statement = false;      // `next`, `break` or `continue`
};

class Structure {
  public:
    explicit Structure(const std::vector<Piece>& pieces);

    // Each of these is about a token that has not been taken, as the next one.
    // Whether the token begins a statement or declaration.
    bool starts_item(size_t token) const;
    // The indentation of the token, or of a comment before it, if it begins a line. `source_indent`: its indentation
    // in the old text.
    size_t indent(size_t token, bool is_comment, size_t source_indent) const;
    bool opens_block(size_t token) const;
    // The block of a declaration, whose brace begins a line.
    bool opens_declaration_block(size_t token) const;
    // Whether an `else` here belongs to the `if` whose body is the last block.
    bool is_else_of_block() const { return !innermost().heads.empty() && innermost().heads.back().is_if; }
    bool opens_macro_body(size_t token) const;
    bool is_prefix(size_t token) const;
    bool is_postfix(size_t token) const;
    bool closes_innermost(size_t token) const;
    // A conditional around whole statements or declarations. Its `%(`, `%:` and `%)` begin lines at column 0.
    bool is_directive(size_t token) const;

    // Takes the next token. `line_indent`: of its line in the result; `column`: behind the token; `is_hanging`: the
    // next piece begins a line.
    void take(size_t token, size_t line_indent, size_t column, bool is_hanging);

    const Enclosure& innermost() const { return enclosures_.back(); }
    bool is_in_file() const { return enclosures_.size() == 1; }
    bool is_in_list() const;   // statements or declarations, not an expression in brackets
    bool is_in_points() const; // probe points outside of parentheses
    const LastToken& last() const { return last_; }
    const Piece& last_piece() const;

    // Whether the bracket and its partner are on different lines of the old text, and not empty.
    bool is_broken(size_t bracket) const;

  private:
    bool has_line_at_end(size_t token) const;
    bool ends_item(size_t token) const;
    bool ends_statement(size_t token) const;
    bool begins_declaration(size_t token) const;
    size_t group_indent(size_t source_indent) const;
    size_t continuation_indent(size_t token, size_t source_indent) const;
    const Head* matching_if() const;

    void begin_item(size_t token, size_t line_indent);
    void take_word(size_t token, size_t line_indent);
    void open(size_t token, size_t line_indent, size_t column, bool is_hanging);
    void open_brace(size_t token, size_t line_indent, size_t column);
    void open_percent(size_t token, size_t line_indent, size_t column);
    void close(size_t token);
    void begin_branch(size_t token);
    void close_percent();
    Enclosure pop();

    const std::vector<Piece>& pieces_;
    std::vector<Enclosure> enclosures_{Enclosure()};
    LastToken last_;
};

} // namespace sonde
