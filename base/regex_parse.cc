// Parses regular expressions to trees, by recursive descent. The functions follow the grammar (IEEE Std 1003.1, 9.5.3):
//     alternatives:  concatenation | concatenation ...
//     concatenation: atom, each followed by any number of `*`, `+`, `?` and `{m,n}`
//     atom:          a character, `.`, `^`, `$`, `(alternatives)`, or `[bracket expression]`
// Each function returns null after it has reported a problem. Only the first problem is kept.
//
// The limits on depth and repetitions protect sonde itself: the recursion takes stack, and `((a{999}){999}){999}` would
// fill the memory.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/regex.h"

namespace sonde::regex {

namespace {

constexpr int max_depth = 200, max_stacked = 16, max_count = 1000;

struct ClassName {
    std::string_view name;
    int (*has)(int);
};
// Implemented here, because these must use the C locale, whatever the process' locale is.
bool between(int c, int low, int high) { return c >= low && c <= high; }
int is_upper(int c) { return between(c, 'A', 'Z'); }
int is_lower(int c) { return between(c, 'a', 'z'); }
int is_alpha(int c) { return is_upper(c) || is_lower(c); }
int is_digit(int c) { return between(c, '0', '9'); }
int is_alnum(int c) { return is_alpha(c) || is_digit(c); }
int is_graph(int c) { return between(c, 0x21, 0x7e); }
constexpr ClassName class_names[] = {
    {"alpha", is_alpha},
    {"digit", is_digit},
    {"alnum", is_alnum},
    {"upper", is_upper},
    {"lower", is_lower},
    {"space", [](int c) -> int { return c == ' ' || between(c, '\t', '\r'); }},
    {"blank", [](int c) -> int { return c == ' ' || c == '\t'; }},
    {"punct", [](int c) -> int { return is_graph(c) && !is_alnum(c); }},
    {"print", [](int c) -> int { return between(c, 0x20, 0x7e); }},
    {"graph", is_graph},
    {"cntrl", [](int c) -> int { return between(c, 0, 0x1f) || c == 0x7f; }},
    {"xdigit", [](int c) -> int { return is_digit(c) || between(c | 32, 'a', 'f'); }},
};

NodePtr make(Node node) { return std::make_shared<const Node>(std::move(node)); }

class Parser {
  public:
    Parser(std::string_view text, Problem& problem) : text_(text), problem_(problem) {}

    std::optional<Pattern> run() {
        NodePtr root = alternatives();
        if (!root)
            return std::nullopt;
        return Pattern{root, groups_};
    }

  private:
    bool at_end() const { return at_ == text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }
    bool is(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
    unsigned char take() { return static_cast<unsigned char>(text_[at_++]); }

    NodePtr fail(size_t begin, size_t end, std::string message, std::string help = "") {
        if (problem_.message.empty())
            problem_ = {begin, end, std::move(message), std::move(help)};
        return nullptr;
    }

    NodePtr alternatives() {
        Node node;
        node.kind = Node::Alternatives;
        do {
            NodePtr part = concatenation();
            if (!part)
                return nullptr;
            node.parts.push_back(part);
        } while (peek() == '|' && take());
        return node.parts.size() == 1 ? node.parts[0] : make(std::move(node));
    }

    NodePtr concatenation() {
        Node node;
        // Outside of groups, `)` is an ordinary character.
        while (!at_end() && peek() != '|' && (peek() != ')' || depth_ == 0)) {
            size_t begin = at_;
            NodePtr part = atom();
            for (int times = 0; part && (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{'); times++)
                part = times < max_stacked
                           ? repeat(part, begin)
                           : fail(at_, at_ + 1, fmt::format("more than {} nested repetitions", max_stacked));
            if (!part)
                return nullptr;
            node.parts.push_back(part);
        }
        if (node.parts.size() == 1)
            return node.parts[0];
        node.kind = node.parts.empty() ? Node::Empty : Node::Concat;
        return make(std::move(node));
    }

    NodePtr repeat(NodePtr part, size_t begin) {
        Node node;
        node.kind = Node::Repeat;
        node.max = Node::endless;
        if (part->kind == Node::Begin || part->kind == Node::End)
            return fail(begin, at_ + 1, fmt::format("`{}` repeats an anchor", text_.substr(at_, 1)));
        size_t start = at_;
        switch (take()) {
        case '*':
            break;
        case '+':
            node.min = 1;
            break;
        case '?':
            node.max = 1;
            break;
        default:
            if (!interval(node, start))
                return nullptr;
        }
        node.parts.push_back(std::move(part));
        return make(std::move(node));
    }

    // Parses the rest of an interval after the `{`.
    bool interval(Node& node, size_t start) {
        auto number = [&](int& out) {
            size_t digits = 0;
            for (out = 0; is_digit(peek()); digits++)
                out = std::min(out * 10 + (take() - '0'), max_count + 1);
            return digits > 0;
        };
        bool good = number(node.min);
        node.max = node.min;
        if (good && peek() == ',') {
            take();
            if (!number(node.max))
                node.max = Node::endless;
        }
        if (!good || peek() != '}') {
            fail(start, std::max(at_, start + 1), "`{` is not followed by a number of repetitions and `}`",
                 R"(write `\\{` or `[{]` for the character)");
            return false;
        }
        take();
        if (std::max(node.min, node.max) > max_count)
            fail(start, at_, fmt::format("more than {} repetitions", max_count));
        else if (node.max != Node::endless && node.max < node.min)
            fail(start, at_, "the second number of repetitions is below the first");
        return problem_.message.empty();
    }

    NodePtr atom() {
        size_t begin = at_;
        Node node;
        unsigned char c = take();
        switch (c) {
        case '(':
            return group(begin);
        case '[':
            return bracket(begin);
        case '*':
        case '+':
        case '?':
        case '{':
            return fail(
                begin, at_, fmt::format("`{}` has nothing before it to repeat", static_cast<char>(c)),
                fmt::format(R"(write `\\{}` or `[{}]` for the character)", static_cast<char>(c), static_cast<char>(c)));
        case '^':
            node.kind = Node::Begin;
            return make(node);
        case '$':
            node.kind = Node::End;
            return make(node);
        case '.':
            node.bytes.set();
            break;
        case '\\':
            if (at_end())
                return fail(begin, at_, "a character is missing after the backslash",
                            R"(write `\\\\` for a backslash)");
            node.bytes.set(take());
            break;
        default:
            node.bytes.set(c);
        }
        node.kind = Node::Set;
        return make(node);
    }

    NodePtr group(size_t begin) {
        Node node;
        node.kind = Node::Group;
        node.group = groups_++;
        if (++depth_ > max_depth)
            return fail(begin, at_, fmt::format("more than {} nested groups", max_depth));
        NodePtr part = alternatives();
        depth_--;
        if (!part)
            return nullptr;
        if (at_end())
            return fail(begin, begin + 1, "`(` has no `)`", R"(write `\\(` or `[(]` for the character)");
        take();
        node.parts.push_back(std::move(part));
        return make(std::move(node));
    }

    // Parses the rest of a bracket expression after the `[`. A backslash also makes the next character an ordinary one
    // there.
    NodePtr bracket(size_t begin) {
        Node node;
        node.kind = Node::Set;
        bool negated = peek() == '^' && take();
        for (bool first = true; first || peek() != ']'; first = false) {
            if (at_end())
                return fail(begin, begin + 1, "`[` has no `]`", R"(write `\\[` or `[[]` for the character)");
            size_t start = at_;
            bool whole_class = is("[:") || is("[=");
            int low = element(node.bytes, begin);
            if (low < 0)
                return nullptr;
            // `-` is an ordinary character at either end.
            if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
                take();
                bool end_class = is("[:") || is("[=");
                int high = element(node.bytes, begin);
                if (high < 0)
                    return nullptr;
                if (whole_class || end_class)
                    return fail(start, at_, "a class of characters cannot bound a range");
                if (high < low)
                    return fail(start, at_,
                                fmt::format("the range `{}` runs backwards", text_.substr(start, at_ - start)));
                for (int c = low; c <= high; c++)
                    node.bytes.set(static_cast<size_t>(c));
            }
        }
        take();
        if (negated)
            node.bytes.flip();
        return make(node);
    }

    // Parses an element of a bracket expression and adds it to the bytes. Returns the character; for a class, some
    // other number; -1 after a report.
    int element(Bytes& bytes, size_t bracket) {
        size_t start = at_;
        if (!is("[:") && !is("[=") && !is("[.")) {
            if (at_end()) {
                fail(bracket, bracket + 1, "`[` has no `]`");
                return -1;
            }
            unsigned char c = take();
            if (c == '\\') {
                if (at_end()) {
                    fail(bracket, bracket + 1, "`[` has no `]`");
                    return -1;
                }
                c = take();
            }
            bytes.set(c);
            return c;
        }
        char kind = text_[at_ + 1];
        size_t close = text_.find(std::string{kind, ']'}, at_ + 2);
        if (close == std::string_view::npos) {
            fail(start, start + 2, fmt::format("`[{}` has no `{}]`", kind, kind));
            return -1;
        }
        std::string_view name = text_.substr(at_ + 2, close - at_ - 2);
        at_ = close + 2;
        if (kind != ':') {
            if (name.size() != 1) {
                fail(start, at_, fmt::format("`{}` is not a single character", name));
                return -1;
            }
            bytes.set(static_cast<unsigned char>(name[0]));
            return static_cast<unsigned char>(name[0]);
        }
        for (const ClassName& row : class_names)
            if (row.name == name) {
                for (int c = 0; c < 256; c++)
                    if (row.has(c))
                        bytes.set(static_cast<size_t>(c));
                return 0;
            }
        std::string names;
        for (const ClassName& row : class_names)
            names += (names.empty() ? "" : ", ") + std::string(row.name);
        fail(start, at_, fmt::format("the class `{}` does not exist", name), "the classes are " + names);
        return -1;
    }

    std::string_view text_;
    Problem& problem_;
    size_t at_ = 0;
    uint32_t groups_ = 1;
    int depth_ = 0;
};

} // namespace

std::optional<Pattern> parse(std::string_view text, Problem& problem) {
    problem = {};
    return Parser(text, problem).run();
}

} // namespace sonde::regex
