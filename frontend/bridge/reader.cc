// A recursive descent parser without a list of tokens. The words in a probe's specification
// (`uprobe:/usr/lib/libc.so.6:malloc`) are not tokens of the language, so the parser reads characters.
//
// After an error `problem_` is set and every function returns immediately. Only the first error is reported.
//
// Three characters need their context:
//
// * A `/` is a division or the end of a condition. In `/pid == 1 / { ... }`, it ends the condition because `{` follows.
//   Inside of brackets it is always a division, and outside of them it always ends a condition of DTrace.
// * A `{` ends a specification, and a `/` does so only after a blank: `uprobe:/bin/bash:main /pid == 1/`.
// * A `(` begins a cast if a type and an operand follow: `(struct sock *)arg0`. Otherwise the parser goes back to it.
//
// Macros are expanded here, too. The value of a `#define` is text, which another Reader reads as an expression.
#include "frontend/bridge/reader.h"
#include "frontend/bridge/preprocess.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sonde::bridge {
namespace {

constexpr int max_depth = 200;
constexpr int max_levels = 4; // nested macros: `#define A B`, `#define B 1`

bool is_word(char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

struct Operator {
    std::string_view text;
    int strength; // precedence in C: higher binds tighter
};
// Longer operators must come first.
constexpr std::array binary_operators = {
    Operator{"<<", 8}, Operator{">>", 8}, Operator{"<=", 7}, Operator{">=", 7}, Operator{"==", 6},
    Operator{"!=", 6}, Operator{"&&", 2}, Operator{"||", 1}, Operator{"^^", 1}, Operator{"<", 7},
    Operator{">", 7},  Operator{"&", 5},  Operator{"^", 4},  Operator{"|", 3},  Operator{"+", 9},
    Operator{"-", 9},  Operator{"*", 10}, Operator{"/", 10}, Operator{"%", 10},
};
constexpr std::array<std::string_view, 11> assignments = {
    "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "="};
constexpr std::array<std::string_view, 30> type_words = {
    "int8",     "int16",    "int32",    "int64",   "uint8",   "uint16",  "uint32", "uint64",    "int",     "long",
    "short",    "char",     "unsigned", "signed",  "void",    "bool",    "size_t", "string",    "uint8_t", "uint16_t",
    "uint32_t", "uint64_t", "int8_t",   "int16_t", "int32_t", "int64_t", "pid_t",  "uintptr_t", "u64",     "u32",
};

// Whether the node can be taken apart by an operator next to it: in `2 * A` with `#define A x + 1`, the `*` takes only
// `x`.
bool is_loose(const Node& node) {
    return node.kind == NodeKind::Binary || node.kind == NodeKind::Ternary || node.kind == NodeKind::Assign;
}

// Whether the text is enclosed in one pair of parentheses.
bool is_enclosed(std::string_view text) {
    int depth = 0;
    for (size_t i = 0; i < text.size(); i++) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (depth == 0)
            return i > 0 && i + 1 == text.size();
    }
    return false;
}

class Reader {
  public:
    // `values`: the texts of macros.
    Reader(std::string_view text, Dialect dialect, std::map<std::string, std::string> values)
        : text_(text), dialect_(dialect), is_dtrace_(dialect == Dialect::Dtrace), values_(std::move(values)) {}

    // Reads the whole text as one expression; null if it is not one.
    NodePtr read_value() {
        NodePtr node = read_expression();
        skip();
        return problem_.empty() && at_ == text_.size() ? std::move(node) : nullptr;
    }

    Result<Tree> read() {
        Tree tree;
        while (problem_.empty()) {
            skip(true);
            if (at_ >= text_.size())
                break;
            if (!read_aside(tree) && problem_.empty())
                read_clause(tree);
        }
        if (problem_.empty() && tree.clauses.empty())
            fail(at_, "it has no probe");
        if (!problem_.empty())
            return Error(fmt::format("{}: {}", place_of(text_, problem_at_), problem_));
        return tree;
    }

  private:
    // ---- characters
    char look(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    std::string_view rest() const { return text_.substr(at_); }

    void fail(size_t at, std::string message) {
        if (!problem_.empty())
            return;
        problem_ = std::move(message);
        problem_at_ = at;
    }
    void fail_expected(std::string_view what) {
        const std::string got = at_ >= text_.size() ? "the end of the text" : fmt::format("`{}`", peek_text());
        fail(at_, fmt::format("expected {}, got {}", what, got));
    }
    // The word or character at the current position.
    std::string peek_text() const {
        size_t end = at_;
        while (end < text_.size() && is_word(text_[end]))
            end++;
        return std::string(text_.substr(at_, std::max<size_t>(end - at_, 1)));
    }

    // Skips blanks and comments. `keep`: stores the comments, for the following clause.
    void skip(bool keep = false) {
        while (at_ < text_.size()) {
            if (is_blank(look())) {
                at_++;
                continue;
            }
            size_t end = std::string_view::npos;
            if (rest().starts_with("//"))
                end = std::min(text_.find('\n', at_), text_.size());
            else if (rest().starts_with("/*"))
                end = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
            else if (rest().starts_with("#!") && at_ == 0)
                end = std::min(text_.find('\n', at_), text_.size());
            if (end == std::string_view::npos)
                return;
            if (keep && look() == '/')
                comment_ += fmt::format("{}\n", text_.substr(at_, end - at_));
            at_ = end;
        }
    }

    // Skips the token if it is next. A word must end there: `if` does not match the beginning of `iface`.
    bool accept(std::string_view what) {
        skip();
        if (!problem_.empty() || !rest().starts_with(what))
            return false;
        if (is_word(what.back()) && is_word(look(what.size())))
            return false;
        at_ += what.size();
        return true;
    }
    void expect(std::string_view what, std::string_view where) {
        if (!accept(what))
            fail_expected(fmt::format("`{}` {}", what, where));
    }
    std::string read_word() {
        skip();
        const size_t begin = at_;
        while (is_word(look()))
            at_++;
        return std::string(text_.substr(begin, at_ - begin));
    }

    // ---- between clauses
    void skip_line(Tree& tree, std::string_view what) {
        const size_t begin = at_;
        at_ = std::min(text_.find('\n', at_), text_.size());
        tree.asides.push_back({std::string(what), begin, at_});
    }
    // Skips a declaration: up to a `;` outside of braces or, unless `to_semicolon`, up to its closing brace.
    void skip_block(Tree& tree, std::string_view what, bool to_semicolon) {
        const size_t begin = at_;
        int depth = 0;
        for (; at_ < text_.size(); at_++) {
            depth += look() == '{' ? 1 : look() == '}' ? -1 : 0;
            if ((look() == '}' && depth == 0 && !to_semicolon) || (look() == ';' && depth == 0)) {
                at_++;
                break;
            }
        }
        tree.asides.push_back({std::string(what), begin, at_});
    }
    // If text that is not a clause begins here, such as a declaration or a preprocessor line, reads it and returns
    // true.
    bool read_aside(Tree& tree) {
        const std::string word = peek_text();
        if (look() == '#') {
            skip_line(tree, rest().substr(0, std::min<size_t>(rest().find_first_of(" \t\n"), 20)));
            return true;
        }
        if (look() == ';') {
            at_++;
            return true;
        }
        const auto followed_by = [&](std::string_view next) {
            size_t after = at_ + word.size();
            while (after < text_.size() && is_blank(text_[after]))
                after++;
            return text_.substr(after).starts_with(next);
        };
        if (!is_dtrace_ && (word == "struct" || word == "union" || word == "enum"))
            return skip_block(tree, word, false), accept(";"), true;
        if (!is_dtrace_ && word == "config" && followed_by("="))
            return skip_block(tree, word, false), accept(";"), true;
        if (!is_dtrace_ && word == "let" && followed_by("@"))
            return read_map_declaration(tree), true;
        if (is_dtrace_ && word == "inline" && read_inline())
            return true;
        if (!is_dtrace_ && (word == "macro" || word == "fn" || word == "import"))
            return skip_block(tree, word, word == "import"), true;
        const bool is_declaration = word == "inline" || word == "translator" || word == "typedef" || word == "struct" ||
                                    word == "self" || word == "this" ||
                                    std::ranges::find(type_words, word) != type_words.end();
        if (is_dtrace_ && is_declaration && look(word.size()) != ':')
            return skip_block(tree, word, true), true;
        return false;
    }

    // let @x = lruhash(100);
    void read_map_declaration(Tree& tree) {
        const size_t begin = at_;
        accept("let");
        accept("@");
        const std::string name = read_word();
        expect("=", "after the map");
        MapSize size;
        const std::string kind = read_word();
        size.forgets = kind.starts_with("lru") || kind.starts_with("percpulru");
        expect("(", "after the map's kind");
        skip();
        if (isdigit(static_cast<unsigned char>(look()))) {
            size.elements = read_number()->text;
            tree.sizes[name] = size;
        } else {
            at_ = std::min(text_.find(')', at_), text_.size());
            tree.asides.push_back({"let", begin, at_});
        }
        expect(")", "after the map's size");
        accept(";");
    }
    // Reads `inline int NAME = VALUE;` as a macro. The value gets parentheses, as the value of a variable would have:
    // with `inline int N = 1 + 2;`, `2 * N` is 6. Returns false for another declaration.
    bool read_inline() {
        const size_t end = text_.find(';', at_), equals = text_.find('=', at_);
        if (end == std::string_view::npos || equals == std::string_view::npos || equals > end)
            return false;
        size_t last = equals;
        while (last > at_ && is_blank(text_[last - 1]))
            last--;
        size_t first = last;
        while (first > at_ && is_word(text_[first - 1]))
            first--;
        values_[std::string(text_.substr(first, last - first))] =
            fmt::format("({})", text_.substr(equals + 1, end - equals - 1));
        at_ = end + 1;
        return true;
    }

    // Replaces a macro's name by its value; null if its value is not an expression.
    NodePtr read_stand_in(const std::string& name, size_t begin) {
        const auto value = values_.find(name);
        if (value == values_.end() || level_ == max_levels || (level_ > 0 && *left_ == 0))
            return nullptr;
        *left_ -= level_ > 0 ? 1 : 0;
        Reader inside(value->second, dialect_, values_);
        inside.level_ = level_ + 1;
        inside.left_ = left_;
        NodePtr node = inside.read_value();
        // A macro without parentheses whose operands would be parsed differently in place: `A + 1` in `2 * A`.
        if (node && is_loose(*node) && !is_enclosed(value->second))
            return nullptr;
        if (node)
            move_to(*node, begin);
        return node;
    }
    // Gives the nodes of a macro's value the place where the macro is used, since messages refer to the script.
    void move_to(Node& node, size_t begin) const {
        node.begin = begin;
        node.end = at_;
        for (NodePtr& part : node.parts)
            if (part)
                move_to(*part, begin);
    }

    void read_clause(Tree& tree) {
        Clause clause;
        clause.comment = std::exchange(comment_, "");
        clause.begin = at_;
        read_specs(clause);
        if (rest().starts_with("/")) {
            at_++;
            in_condition_ = true;
            clause.condition = read_expression();
            in_condition_ = false;
            expect("/", "after the condition");
        }
        skip();
        if (look() == '{')
            clause.body = read_block();
        else if (!is_dtrace_)
            fail_expected("`{` with the probe's statements");
        clause.end = at_;
        tree.clauses.push_back(std::move(clause));
    }

    // Reads the probes of a clause, separated by commas. Each goes up to a `,`, a `{`, the end of the line, or a `/`
    // after a blank. A text without `:` or `-` is an error unless it is one of plain_probes.
    void read_specs(Clause& clause) {
        while (problem_.empty()) {
            skip();
            SpecText spec;
            spec.begin = at_;
            bool quoted = false;
            for (; at_ < text_.size(); at_++) {
                const char c = look();
                quoted ^= c == '"';
                if (!quoted && (c == ',' || c == '{' || c == '\n' || c == ';'))
                    break;
                if (!quoted && c == '/' && at_ > spec.begin && is_blank(text_[at_ - 1]))
                    break;
            }
            spec.end = at_;
            while (spec.end > spec.begin && is_blank(text_[spec.end - 1]))
                spec.end--;
            spec.text = text_.substr(spec.begin, spec.end - spec.begin);
            if (spec.text.empty())
                return fail_expected("a probe");
            const bool known = spec.text.find(':') != std::string::npos || spec.text.find('-') != std::string::npos ||
                               std::ranges::find(plain_probes, spec.text) != plain_probes.end();
            if (!known)
                return fail(spec.begin, fmt::format("`{}` is not a probe", spec.text));
            clause.points.push_back(std::move(spec));
            skip();
            if (look() != ',')
                return;
            at_++;
            skip();
            if (look() == '{' || look() == '/') // a comma at the end is allowed
                return;
        }
    }

    // ---- statements
    std::vector<NodePtr> read_block() {
        std::vector<NodePtr> out;
        const size_t open = at_;
        expect("{", "before the statements");
        while (problem_.empty()) {
            skip();
            if (accept("}"))
                return out;
            if (at_ >= text_.size()) {
                fail(open, "this `{` is never closed");
                break;
            }
            if (accept(";"))
                continue;
            if (NodePtr statement = read_statement())
                out.push_back(std::move(statement));
        }
        return out;
    }
    // Braces, or one statement.
    std::vector<NodePtr> read_body() {
        skip();
        if (look() == '{')
            return read_block();
        std::vector<NodePtr> out;
        if (NodePtr statement = read_statement())
            out.push_back(std::move(statement));
        return out;
    }

    NodePtr make(NodeKind kind, size_t begin, std::string text = "") {
        auto node = std::make_unique<Node>();
        node->kind = kind;
        node->text = std::move(text);
        node->begin = begin;
        node->end = at_;
        return node;
    }
    NodePtr finish(NodePtr node) {
        node->end = at_;
        return node;
    }

    NodePtr read_statement() {
        skip();
        const size_t begin = at_;
        if (++depth_ > max_depth)
            fail(at_, fmt::format("this is nested more than {} deep", max_depth));
        NodePtr node = problem_.empty() ? read_statement_inside(begin) : nullptr;
        depth_--;
        return node;
    }

    NodePtr read_statement_inside(size_t begin) {
        if (look() == '{') {
            NodePtr block = make(NodeKind::Block, begin);
            block->body = read_block();
            return finish(std::move(block));
        }
        for (auto [word, kind] :
             {std::pair{"if", NodeKind::If}, {"while", NodeKind::While}, {"unroll", NodeKind::Unroll}}) {
            if (!accept(word))
                continue;
            NodePtr node = make(kind, begin);
            // Newer scripts may leave out the parentheses.
            node->parts.push_back(read_expression());
            node->body = read_body();
            if (kind == NodeKind::If && problem_.empty() && accept("else"))
                node->other = read_body();
            return finish(std::move(node));
        }
        if (accept("for"))
            return read_for(begin);
        for (std::string_view word : {"break", "continue", "return"})
            if (accept(word)) {
                NodePtr node = make(NodeKind::Jump, begin, std::string(word));
                skip();
                if (look() != ';' && look() != '}')
                    node->parts.push_back(read_expression());
                end_statement();
                return node;
            }
        if (!is_dtrace_ && accept("let"))
            return read_let();
        if (is_dtrace_ && std::ranges::find(type_words, peek_text()) != type_words.end())
            fail(begin, "write declarations between clauses");
        NodePtr node = read_expression();
        end_statement();
        return node;
    }
    // A statement needs no semicolon before or after a `}`.
    void end_statement() {
        skip();
        // In bpftrace the last statement of a block needs no semicolon.
        if (problem_.empty() && !accept(";") && look() != '}' && at_ < text_.size() && text_[at_ - 1] != '}')
            fail_expected("`;` or `}` after the statement");
    }
    // let $x: type = value
    NodePtr read_let() {
        NodePtr target = read_postfix();
        if (accept(":"))
            read_type();
        NodePtr out;
        if (target && accept("=")) {
            out = make(NodeKind::Assign, target->begin, "=");
            out->parts.push_back(std::move(target));
            out->parts.push_back(read_expression());
            out->end = at_;
        }
        end_statement();
        return out;
    }
    // Reads a loop over a map (`for ($kv : @reads)`), over numbers (`for ($i : 0..10)`), or as in C.
    NodePtr read_for(size_t begin) {
        const bool open = accept("(");
        skip();
        if (look() == '$') {
            const size_t start = at_;
            at_++;
            const std::string name = read_word();
            if (accept(":")) {
                NodePtr node = make(NodeKind::ForMap, begin, name);
                node->parts.push_back(read_expression());
                if (accept("..")) {
                    node->kind = NodeKind::ForRange;
                    node->parts.push_back(read_expression());
                }
                if (open)
                    expect(")", "after the loop's range");
                node->body = read_body();
                return finish(std::move(node));
            }
            at_ = start;
        }
        NodePtr node = make(NodeKind::Loop, begin);
        for (std::string_view end : {";", ";", ")"}) {
            skip();
            node->parts.push_back(rest().starts_with(end) ? nullptr : read_expression());
            expect(end, "in the loop's head");
        }
        node->body = read_body();
        return finish(std::move(node));
    }

    // ---- expressions
    NodePtr read_expression() {
        if (++depth_ > max_depth)
            fail(at_, fmt::format("this is nested more than {} deep", max_depth));
        NodePtr left = problem_.empty() ? read_ternary() : nullptr;
        skip();
        if (problem_.empty() && left && !rest().starts_with("==")) {
            for (std::string_view op : assignments) {
                if (!accept(op))
                    continue;
                NodePtr node = make(NodeKind::Assign, left->begin, std::string(op));
                node->parts.push_back(std::move(left));
                node->parts.push_back(read_expression());
                left = finish(std::move(node));
                break;
            }
        }
        depth_--;
        return left;
    }

    // The second operand may be missing: in `a ?: b` it is `a`.
    NodePtr read_ternary() {
        NodePtr condition = read_binary(1);
        if (!problem_.empty() || !accept("?"))
            return condition;
        NodePtr node = make(NodeKind::Ternary, condition->begin);
        node->parts.push_back(std::move(condition));
        node->parts.push_back(is_before(":") ? nullptr : read_expression());
        expect(":", "in the conditional expression");
        node->parts.push_back(read_expression());
        return finish(std::move(node));
    }
    bool is_before(std::string_view what) {
        skip();
        return rest().starts_with(what);
    }

    // Whether a `/` after an operand ends the condition; otherwise it is a division.
    bool ends_condition() {
        if (!in_condition_ || brackets_ > 0)
            return false;
        size_t next = at_ + 1;
        while (next < text_.size() && is_blank(text_[next]))
            next++;
        return next >= text_.size() || text_[next] == '{' || text_[next] == '/' || is_dtrace_;
    }
    // The binary operator at the current position. Null if another token is next, or an assignment such as `+=`.
    const Operator* find_operator() {
        skip();
        for (const Operator& op : binary_operators) {
            if (!rest().starts_with(op.text))
                continue;
            const char next = look(op.text.size());
            const bool assigns = next == '=' && op.text != "==" && op.text != "!=" && op.text != "<=" &&
                                 op.text != ">=" && op.text != "<" && op.text != ">" && op.text != "&&" &&
                                 op.text != "||" && op.text != "^^";
            if (assigns || (op.text == "/" && ends_condition()))
                return nullptr;
            return &op;
        }
        return nullptr;
    }
    // Parses operators that bind at least as tightly as `least` (precedence climbing). All of them group to the left.
    NodePtr read_binary(int least) {
        NodePtr left = read_unary();
        while (problem_.empty()) {
            const Operator* op = find_operator();
            if (!op || op->strength < least)
                break;
            at_ += op->text.size();
            NodePtr node = make(NodeKind::Binary, left->begin, std::string(op->text));
            node->parts.push_back(std::move(left));
            node->parts.push_back(read_binary(op->strength + 1));
            left = finish(std::move(node));
        }
        return left;
    }

    NodePtr read_unary() {
        skip();
        const size_t begin = at_;
        if (++depth_ > max_depth)
            fail(at_, fmt::format("this is nested more than {} deep", max_depth));
        NodePtr out;
        for (std::string_view op : {"++", "--", "!", "~", "-", "+", "*", "&"})
            if (problem_.empty() && !out && accept(op)) {
                out = make(NodeKind::Prefix, begin, std::string(op));
                out->parts.push_back(read_unary());
                out->end = at_;
            }
        if (!out && problem_.empty())
            if (std::optional<std::string> type = accept_cast()) {
                out = make(NodeKind::Cast, begin, *type);
                out->parts.push_back(read_unary());
                out->end = at_;
            }
        if (!out)
            out = read_postfix();
        depth_--;
        return out;
    }

    // Reads a cast such as `(struct sock *)` or `(uint64)`. Reads nothing if the parentheses contain anything else: in
    // `(pid) - 1`, `pid` is not a type.
    std::optional<std::string> accept_cast() {
        const size_t before = at_;
        if (!accept("("))
            return {};
        std::string type = read_type();
        const bool by_word =
            type.starts_with("struct ") || type.starts_with("union ") || type.starts_with("enum ") ||
            type.ends_with('*') ||
            std::ranges::find(type_words, type.substr(0, type.find_first_of(" ["))) != type_words.end();
        if (!type.empty() && by_word && accept(")") && starts_operand())
            return type;
        at_ = before;
        return {};
    }
    bool starts_operand() {
        skip();
        const char c = look();
        return is_word(c) || c == '$' || c == '@' || c == '(' || c == '*' || c == '-' || c == '!' || c == '~' ||
               c == '&' || c == '"';
    }
    // "struct sock *", "uint64"; empty if the next token is not a type.
    std::string read_type() {
        std::string out;
        while (true) {
            skip();
            if (look() == '*' || (look() == '[' && !out.empty())) {
                const bool array = look() == '[';
                out += array ? "" : out.ends_with('*') ? "*" : " *";
                at_++;
                if (array) {
                    while (look() && look() != ']')
                        at_++;
                    at_ += look() == ']';
                    out += "[]";
                }
                continue;
            }
            if (!is_word(look()) || isdigit(static_cast<unsigned char>(look())) || out.ends_with('*'))
                return out;
            out += (out.empty() ? "" : " ") + read_word();
        }
    }

    std::vector<NodePtr> read_list(std::string_view close) {
        std::vector<NodePtr> out;
        brackets_++;
        if (!accept(close)) {
            do
                out.push_back(read_expression());
            while (problem_.empty() && accept(","));
            expect(close, "after the list");
        }
        brackets_--;
        return out;
    }

    NodePtr read_postfix() {
        NodePtr node = read_primary();
        while (problem_.empty() && node) {
            const size_t begin = node->begin;
            skip();
            if (rest().starts_with("..")) // a range
                break;
            NodePtr outer;
            if (accept("[")) {
                std::vector<NodePtr> keys = read_list("]");
                if (keys.empty())
                    fail(at_, "the key is missing");
                if (node->kind == NodeKind::Map && node->parts.empty()) {
                    node->parts = std::move(keys);
                    node->end = at_;
                    continue;
                }
                outer = make(NodeKind::Index, begin);
                outer->parts.push_back(std::move(node));
                for (NodePtr& key : keys)
                    outer->parts.push_back(std::move(key));
            } else if (rest().starts_with("->") || (look() == '.' && (is_word(look(1))))) {
                at_ += look() == '.' ? 1 : 2;
                const std::string name = read_word();
                if (name.empty())
                    fail_expected("a member's name");
                const bool scope = node->kind == NodeKind::Name && is_dtrace_;
                if (scope && (node->text == "self" || node->text == "this")) {
                    outer = make(node->text == "self" ? NodeKind::OfThread : NodeKind::Variable, begin, name);
                } else {
                    outer = make(NodeKind::Member, begin, name);
                    outer->parts.push_back(std::move(node));
                }
            } else if (rest().starts_with("++") || rest().starts_with("--")) {
                std::string op(rest().substr(0, 2));
                at_ += 2;
                outer = make(NodeKind::Postfix, begin, op);
                outer->parts.push_back(std::move(node));
            } else {
                break;
            }
            node = finish(std::move(outer));
        }
        return node;
    }

    NodePtr read_primary() {
        skip();
        const size_t begin = at_;
        const char c = look();
        if (c == '"')
            return read_string();
        if (isdigit(static_cast<unsigned char>(c)))
            return read_number();
        if (c == '(') {
            at_++;
            std::vector<NodePtr> inside = read_list(")");
            if (inside.size() == 1)
                return std::move(inside[0]);
            NodePtr tuple = make(NodeKind::Tuple, begin);
            tuple->parts = std::move(inside);
            return tuple;
        }
        if (c == '@') {
            at_++;
            std::string name;
            while (is_word(look()))
                name += text_[at_++];
            return make(NodeKind::Map, begin, name);
        }
        if (c == '$') {
            at_++;
            if (look() == '$')
                at_++; // DTrace: $$1, as a string
            if (look() == '#') {
                at_++;
                return make(NodeKind::Positional, begin, "#");
            }
            std::string name = read_word();
            if (name.empty())
                fail(begin, "nothing follows the `$`");
            else if (isdigit(static_cast<unsigned char>(name[0])))
                return make(NodeKind::Positional, begin, name);
            return make(is_dtrace_ ? NodeKind::Name : NodeKind::Variable, begin, is_dtrace_ ? "$" + name : name);
        }
        if (!is_word(c) && c != '`') {
            fail_expected("an expression");
            return nullptr;
        }
        if (c == '`') // a kernel symbol
            at_++;
        std::string name = read_word();
        if (c == '`')
            return make(NodeKind::Name, begin, "`" + name);
        if (name == "sizeof") {
            expect("(", "after `sizeof`");
            NodePtr node = make(NodeKind::SizeOf, begin, read_type());
            expect(")", "after the type");
            return finish(std::move(node));
        }
        // offsetof(struct task_struct, pid): both arguments are names.
        if (name == "offsetof" && accept("(")) {
            NodePtr call = make(NodeKind::Call, begin, name);
            const size_t type_at = at_;
            call->parts.push_back(make(NodeKind::String, type_at, read_type()));
            expect(",", "after the type");
            const size_t member_at = at_;
            call->parts.push_back(make(NodeKind::String, member_at, read_word()));
            expect(")", "after the member");
            return finish(std::move(call));
        }
        // A name before a `(` is a function. Any other name can be a macro.
        if (accept("(")) {
            NodePtr call = make(NodeKind::Call, begin, name);
            call->parts = read_list(")");
            return finish(std::move(call));
        }
        if (NodePtr value = read_stand_in(name, begin))
            return value;
        return make(NodeKind::Name, begin, name);
    }

    NodePtr read_string() {
        const size_t begin = at_++;
        while (at_ < text_.size() && look() != '"')
            at_ += look() == '\\' ? 2 : 1;
        if (at_ >= text_.size()) {
            at_ = text_.size();
            fail(begin, "this string is never closed");
            return nullptr;
        }
        at_++;
        return make(NodeKind::String, begin, std::string(text_.substr(begin + 1, at_ - begin - 2)));
    }

    // Reads 1_000, 1e6 or 0x10. A unit of time converts to nanoseconds: 10ms is 10000000.
    NodePtr read_number() {
        const size_t begin = at_;
        std::string digits;
        while (is_word(look()))
            if (const char c = text_[at_++]; c != '_')
                digits += c;
        const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
        if (!hex)
            while (!digits.empty() && std::string_view("uUlL").find(digits.back()) != std::string_view::npos)
                digits.pop_back();
        const size_t e = hex ? std::string::npos : digits.find_first_of("eE");
        if (e != std::string::npos && e + 1 < digits.size()) {
            const std::string zeros = digits.substr(e + 1);
            if (zeros.size() > 2 || zeros.find_first_not_of("0123456789") != std::string::npos || std::stoi(zeros) > 18)
                fail(begin, fmt::format("`{}` is not a number", digits));
            else
                digits = digits.substr(0, e) + std::string(static_cast<size_t>(std::stoi(zeros)), '0');
        }
        for (auto [unit, zeros] : {std::pair{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}})
            if (!hex && digits.ends_with(unit)) {
                digits.resize(digits.size() - std::string_view(unit).size());
                digits.append(static_cast<size_t>(zeros), '0');
                break;
            }
        if (digits.find_first_not_of(hex ? "0123456789abcdefABCDEFxX" : "0123456789") != std::string::npos)
            fail(begin, fmt::format("`{}` is not a number", digits));
        return make(NodeKind::Number, begin, digits);
    }

    static constexpr std::array<std::string_view, 7> plain_probes = {"BEGIN", "END",   "begin", "end",
                                                                     "ERROR", "error", "iter"};

    std::string_view text_;
    Dialect dialect_;
    bool is_dtrace_;
    std::map<std::string, std::string> values_;
    int level_ = 0;          // depth of nested macros
    int own_left_ = 200;     // limits the expansion of macros, which can grow exponentially
    int* left_ = &own_left_; // of the outermost reader
    size_t at_ = 0;
    bool in_condition_ = false;
    int brackets_ = 0, depth_ = 0;
    std::string comment_, problem_;
    size_t problem_at_ = 0;
};

} // namespace

namespace {

// Calls `visit` for all nodes, a node before its parts.
void walk(std::vector<NodePtr>& nodes, const std::function<void(Node&)>& visit) {
    for (NodePtr& node : nodes)
        if (node) {
            visit(*node);
            walk(node->parts, visit);
            walk(node->body, visit);
            walk(node->other, visit);
        }
}

void walk(Tree& tree, const std::function<void(Node&)>& visit) {
    for (Clause& clause : tree.clauses) {
        if (clause.condition) {
            visit(*clause.condition);
            walk(clause.condition->parts, visit);
        }
        walk(clause.body, visit);
    }
}

// In DTrace, variables without `self->` or `this->` are global if the script sets them. They become maps, with a prefix
// that aggregations do not have. In `n++; seen[pid] = 1;`, `n` becomes the map "global->n" without keys, and `seen`
// becomes "global->seen" with the key `pid`. A name that the script never sets is a word of the language, such as
// `pid`.
void find_globals(Tree& tree) {
    std::set<std::string> globals;
    walk(tree, [&](Node& node) {
        const bool steps = (node.kind == NodeKind::Prefix || node.kind == NodeKind::Postfix) &&
                           (node.text == "++" || node.text == "--");
        if (node.kind != NodeKind::Assign && !steps)
            return;
        const Node* target = node.parts[0].get();
        if (target && target->kind == NodeKind::Index)
            target = target->parts[0].get();
        if (target && target->kind == NodeKind::Name && !target->text.starts_with("$"))
            globals.insert(target->text);
    });
    walk(tree, [&](Node& node) {
        if (node.kind == NodeKind::Index && node.parts[0] && node.parts[0]->kind == NodeKind::Name &&
            globals.contains(node.parts[0]->text)) {
            node.kind = NodeKind::Map;
            node.text = global_prefix + node.parts[0]->text;
            node.parts.erase(node.parts.begin());
        } else if (node.kind == NodeKind::Name && globals.contains(node.text)) {
            node.kind = NodeKind::Map;
            node.text = global_prefix + node.text;
        }
    });
}

} // namespace

std::string place_of(std::string_view text, size_t at) {
    const std::string_view before = text.substr(0, std::min(at, text.size()));
    const size_t line = static_cast<size_t>(std::ranges::count(before, '\n')) + 1;
    const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return fmt::format("{}:{}", line, before.size() - begin + 1);
}

Result<Tree> read_tree(std::string_view text, Dialect dialect) {
    Preprocessed done = preprocess(text);
    Result<Tree> tree = Reader(done.text, dialect, std::move(done.values)).read();
    if (tree && dialect == Dialect::Dtrace)
        find_globals(*tree);
    return tree;
}

} // namespace sonde::bridge
