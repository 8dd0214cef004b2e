// Regular expressions: the compiler and the routines that execute its programs, compared with POSIX's regcomp and with
// a matcher that applies the definition; and expressions that are invalid or too large.
#include <gtest/gtest.h>

#include <regex.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/regex.h"
#include "codegen/lower/regex_image.h"
#include "codegen/rtlib/regex.h"

extern "C" {
extern const unsigned sonde_rt_max = 128;
extern const unsigned char sonde_rt_zeros[256] = {};
long long sonde_rt_regex_test(const unsigned char* slot, const sonde_regex* regex, sonde_regex_test* test);
long long sonde_rt_regex_match(sonde_regex_state* state, const unsigned char* src, const sonde_regex* regex);
unsigned long long sonde_rt_regex_group(unsigned char* slot, sonde_regex_state* state, unsigned long long n);
}

namespace sonde {
namespace {

using regex::Node;
using regex::NodePtr;

// Bounds of the whole and of the groups. Empty without a match; {-1, -1} for a group without a match.
using Bounds = std::vector<std::pair<int, int>>;

std::string show(const Bounds& bounds) {
    std::string out;
    for (auto [begin, end] : bounds)
        out += begin < 0 ? "(?)" : fmt::format("({},{})", begin, end);
    return out.empty() ? "none" : out;
}

struct Compiled {
    std::string with_groups, without;
    regex::Problem problem;
    std::optional<regex::Pattern> pattern;
    bool good = false;

    explicit Compiled(const std::string& text) {
        pattern = regex::parse(text, problem);
        if (!pattern)
            return;
        std::optional<regex::Program> first = regex::compile(*pattern, true, problem);
        if (!first)
            return;
        std::optional<regex::Program> second = regex::compile(*pattern, false, problem);
        if (!second)
            return;
        with_groups = regex_image(*first);
        without = regex_image(*second);
        good = true;
    }

    bool test(const std::string& text) const {
        unsigned char slot[256] = {};
        sonde_regex_test state;
        std::copy(text.begin(), text.end(), slot);
        return sonde_rt_regex_test(slot, reinterpret_cast<const sonde_regex*>(without.data()), &state);
    }

    Bounds match(const std::string& text) const {
        struct {
            sonde_regex_state state;
            unsigned char text[256], marks[128];
        } memory;
        std::memset(&memory, 0xa5, sizeof(memory));
        std::string copy = text; // NUL-terminated
        if (!sonde_rt_regex_match(&memory.state, reinterpret_cast<const unsigned char*>(copy.c_str()),
                                  reinterpret_cast<const sonde_regex*>(with_groups.data())))
            return {};
        Bounds out;
        for (unsigned i = 0; i < memory.state.groups; i++) {
            unsigned begin = memory.state.begin[i], end = memory.state.end[i];
            out.emplace_back(begin == SONDE_REGEX_NONE ? -1 : static_cast<int>(begin),
                             begin == SONDE_REGEX_NONE ? -1 : static_cast<int>(end));
            alignas(8) unsigned char slot[256];
            sonde_rt_regex_group(slot, &memory.state, i);
            std::string want = begin == SONDE_REGEX_NONE ? "" : text.substr(begin, end - begin);
            EXPECT_EQ(reinterpret_cast<const char*>(slot), want);
        }
        return out;
    }
};

// ---- the definition, applied without automata --------------------------------------------------------------------

class Definition {
  public:
    Definition(const regex::Pattern& pattern, const std::string& text) : pattern_(pattern), text_(text) {}

    Bounds match() {
        for (int begin = 0; begin <= size(); begin++)
            for (int end = size(); end >= begin; end--)
                if (is(pattern_.root, begin, end)) {
                    out_.assign(pattern_.groups, {-1, -1});
                    out_[0] = {begin, end};
                    groups(pattern_.root, begin, end);
                    return out_;
                }
        return {};
    }

  private:
    int size() const { return static_cast<int>(text_.size()); }

    bool is(const NodePtr& node, int begin, int end) {
        auto key = std::tuple(node.get(), begin, end);
        if (auto known = known_.find(key); known != known_.end())
            return known->second;
        return known_[key] = find(*node, begin, end);
    }
    bool find(const Node& node, int begin, int end) {
        switch (node.kind) {
        case Node::Empty:
            return begin == end;
        case Node::Set:
            return end == begin + 1 && node.bytes[static_cast<unsigned char>(text_[static_cast<size_t>(begin)])];
        case Node::Begin:
            return begin == end && begin == 0;
        case Node::End:
            return begin == end && end == size();
        case Node::Group:
            return is(node.parts[0], begin, end);
        case Node::Concat:
            return sequence(node.parts, 0, begin, end);
        case Node::Alternatives:
            for (const NodePtr& part : node.parts)
                if (is(part, begin, end))
                    return true;
            return false;
        case Node::Repeat:
            return repeated(node.parts[0], node.min, node.max, begin, end);
        }
        return false;
    }
    bool sequence(const std::vector<NodePtr>& parts, size_t first, int begin, int end) {
        if (first + 1 == parts.size())
            return is(parts[first], begin, end);
        for (int at = begin; at <= end; at++)
            if (is(parts[first], begin, at) && sequence(parts, first + 1, at, end))
                return true;
        return false;
    }
    static int less(int max) { return max == Node::endless ? max : max - 1; }
    bool repeated(const NodePtr& part, int min, int max, int begin, int end) {
        if (begin == end)
            return min == 0 || (max != 0 && is(part, begin, end));
        if (max == 0)
            return false;
        if (min > 0 && is(part, begin, begin) && repeated(part, min - 1, less(max), begin, end))
            return true;
        for (int at = begin + 1; at <= end; at++)
            if (is(part, begin, at) && repeated(part, std::max(min - 1, 0), less(max), at, end))
                return true;
        return false;
    }

    void unset(const Node& node) {
        if (node.kind == Node::Group)
            out_[node.group] = {-1, -1};
        for (const NodePtr& part : node.parts)
            unset(*part);
    }
    void groups(const NodePtr& node, int begin, int end) {
        switch (node->kind) {
        case Node::Group:
            out_[node->group] = {begin, end};
            groups(node->parts[0], begin, end);
            break;
        case Node::Concat:
            for (size_t i = 0; i + 1 < node->parts.size(); i++) {
                int at = end;
                while (!(is(node->parts[i], begin, at) && sequence(node->parts, i + 1, at, end)))
                    at--;
                groups(node->parts[i], begin, at);
                begin = at;
            }
            groups(node->parts.back(), begin, end);
            break;
        case Node::Alternatives:
            for (const NodePtr& part : node->parts)
                if (is(part, begin, end)) {
                    groups(part, begin, end);
                    break;
                }
            break;
        case Node::Repeat: {
            const NodePtr& part = node->parts[0];
            int min = node->min, max = node->max;
            for (bool first = true; max != 0; first = false) {
                if (min == 0 && begin == end && !(first && is(part, begin, end)))
                    break;
                int at = end;
                while (!(is(part, begin, at) && repeated(part, std::max(min - 1, 0), less(max), at, end)))
                    at--;
                unset(*part);
                groups(part, begin, at);
                begin = at;
                min = std::max(min - 1, 0);
                max = less(max);
            }
            break;
        }
        default:
            break;
        }
    }

    const regex::Pattern& pattern_;
    const std::string& text_;
    std::map<std::tuple<const Node*, int, int>, bool> known_;
    Bounds out_;
};

Bounds posix(const regex_t& compiled, const std::string& text) {
    std::vector<regmatch_t> found(compiled.re_nsub + 1);
    if (regexec(&compiled, text.c_str(), found.size(), found.data(), 0) != 0)
        return {};
    Bounds out;
    for (const regmatch_t& one : found)
        out.emplace_back(one.rm_so, one.rm_eo);
    return out;
}

// ---- what is generated -------------------------------------------------------------------------------------------

class Random {
  public:
    Random(unsigned seed, bool anchors) : engine_(seed), anchors_(anchors) {}
    unsigned below(unsigned n) { return static_cast<unsigned>(engine_() % n); }

    std::string text() {
        std::string out;
        for (unsigned i = below(9); i > 0; i--)
            out += "aabbc-A"[below(7)];
        return out;
    }
    std::string pattern(int depth) {
        std::string out = concatenation(depth);
        for (unsigned i = below(4); i > 2; i--)
            out += "|" + concatenation(depth);
        return out;
    }

  private:
    std::string concatenation(int depth) {
        std::string out;
        for (unsigned i = 1 + below(3); i > 0; i--)
            out += piece(depth);
        return out;
    }
    std::string piece(int depth) {
        static const char* const atoms[] = {
            "a", "b", "c", ".", "[ab]", "[^a]", "\\.", "[a-c-]", "[[:alpha:]]", "[[:upper:]b]", "[]a]", "b"};
        unsigned which = below(16);
        if (which == 15 && anchors_)
            return below(2) ? "^" : "$";
        std::string out = which >= 10 && depth > 0 ? "(" + pattern(depth - 1) + ")" : atoms[below(12)];
        static const char* const repeats[] = {"*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{0,1}", "{1,3}", "*"};
        unsigned repeat = below(22);
        return repeat < 10 ? out + repeats[repeat] : out;
    }
    std::mt19937 engine_;
    bool anchors_;
};

TEST(Regex, FindsWhatPosixFinds) {
    // glibc has errors with anchors in repetitions.
    Random random(1, false);
    int matches = 0, too_large = 0;
    for (int i = 0; i < 800; i++) {
        std::string text = random.pattern(2);
        text = (i % 8 == 1 ? "^(" + text + ")" : text) + (i % 16 < 2 ? "$" : "");
        Compiled compiled(text);
        ASSERT_TRUE(compiled.pattern) << text << ": " << compiled.problem.message;
        too_large += !compiled.good;
        if (!compiled.good)
            continue;
        regex_t other;
        ASSERT_EQ(regcomp(&other, text.c_str(), REG_EXTENDED), 0) << text;
        for (int k = 0; k < 12; k++) {
            std::string subject = random.text();
            Bounds ours = compiled.match(subject), theirs = posix(other, subject);
            ASSERT_EQ(ours.size(), theirs.size()) << text << " on " << subject;
            ASSERT_EQ(compiled.test(subject), !ours.empty()) << text << " on " << subject;
            if (ours.empty())
                continue;
            ASSERT_EQ(ours[0], theirs[0]) << text << " on " << subject;
            matches++;
        }
        regfree(&other);
    }
    EXPECT_GT(matches, 2000);
    EXPECT_LT(too_large, 20);
}

TEST(Regex, GroupsFollowTheDefinition) {
    Random random(2, true);
    int too_large = 0;
    for (int i = 0; i < 800; i++) {
        std::string text = random.pattern(3);
        Compiled compiled(text);
        ASSERT_TRUE(compiled.pattern) << text << ": " << compiled.problem.message;
        too_large += !compiled.good;
        if (!compiled.good)
            continue;
        for (int k = 0; k < 8; k++) {
            std::string subject = random.text();
            ASSERT_EQ(show(compiled.match(subject)), show(Definition(*compiled.pattern, subject).match()))
                << text << " on " << subject;
        }
    }
    EXPECT_LT(too_large, 40);
}

// Handwritten cases for which POSIX's rule matters.
TEST(Regex, Groups) {
    struct Row {
        const char *pattern, *text, *bounds;
    } rows[] = {
        {"(a|ab)(c|bcd)(d*)", "abcd", "(0,4)(0,2)(2,3)(3,4)"},
        {"(a|ab)(bcd|c)(d*)", "abcd", "(0,4)(0,2)(2,3)(3,4)"},
        {"(a*)(ab)*(b*)", "abb", "(0,3)(0,1)(?)(1,3)"},
        {"(a*)(a|b)*", "aab", "(0,3)(0,2)(2,3)"},
        {"((a)|b)*", "ab", "(0,2)(1,2)(?)"},
        {"(a*)*", "b", "(0,0)(0,0)"},
        {"(a*)+", "aa", "(0,2)(0,2)"},
        {"(a|b)*", "-", "(0,0)(?)"},
        {"(a*){2}", "aa", "(0,2)(2,2)"},
        {"a|(b)", "a", "(0,1)(?)"},
        {"x([0-9]+)(ms|s)?$", "t=x15ms", "(2,7)(3,5)(5,7)"},
        {"()", "abc", "(0,0)(0,0)"},
        {"(^a|b)(c$|d)", "bc", "(0,2)(0,1)(1,2)"},
        {"[^/]*$", "/usr/bin/ls", "(9,11)"},
        {"$", "ab", "(2,2)"},
        {"^", "", "(0,0)"},
        {"a^b", "ab", "none"},
        {"([[:digit:]]+)[.]([[:digit:]]+)", "v 10.25", "(2,7)(2,4)(5,7)"},
        {"\xc3\xa9+", "caf\xc3\xa9", "(3,5)"},
    };
    for (const Row& row : rows)
        EXPECT_EQ(show(Compiled(row.pattern).match(row.text)), row.bounds) << row.pattern << " on " << row.text;
}

TEST(Regex, SaysWhereItIsWrong) {
    struct Row {
        const char* pattern;
        size_t begin, end;
        const char* message;
    } rows[] = {
        {"a(b", 1, 2, "`(` has no `)`"},
        {"x[abc", 1, 2, "`[` has no `]`"},
        {"x[a-", 1, 2, "`[` has no `]`"},
        {"x[]", 1, 2, "`[` has no `]`"},
        {"[z-a]", 1, 4, "the range `z-a` runs backwards"},
        {"[[:alhpa:]]", 1, 10, "the class `alhpa` does not exist"},
        {"[[:alpha]]", 1, 3, "`[:` has no `:]`"},
        {"[[=ab=]]", 1, 7, "`ab` is not a single character"},
        {"[[:alpha:]-z]", 1, 12, "a class of characters cannot bound a range"},
        {"*a", 0, 1, "`*` has nothing before it to repeat"},
        {"a|+", 2, 3, "`+` has nothing before it to repeat"},
        {"(?a)", 1, 2, "`?` has nothing before it to repeat"},
        {"^*a", 0, 2, "`*` repeats an anchor"},
        {"a{", 1, 2, "`{` is not followed by a number of repetitions and `}`"},
        {"a{x}", 1, 2, "`{` is not followed by a number of repetitions and `}`"},
        {"a{1,2", 1, 5, "`{` is not followed by a number of repetitions and `}`"},
        {"a{2,1}", 1, 6, "the second number of repetitions is below the first"},
        {"a{1001}", 1, 7, "more than 1000 repetitions"},
        {"a{99999999999999}", 1, 17, "more than 1000 repetitions"},
        {"ab\\", 2, 3, "a character is missing after the backslash"},
        {"[a\\]", 0, 1, "`[` has no `]`"},
        {"[\\", 0, 1, "`[` has no `]`"},
    };
    for (const Row& row : rows) {
        regex::Problem problem;
        EXPECT_FALSE(regex::parse(row.pattern, problem)) << row.pattern;
        EXPECT_EQ(problem.message, row.message) << row.pattern;
        EXPECT_EQ(std::pair(problem.begin, problem.end), std::pair(row.begin, row.end)) << row.pattern;
    }
}

TEST(Regex, IsBounded) {
    const char* too_large = "the regular expression is too large: it needs too many states";
    std::string deep = std::string(150, '(') + "a" + std::string(150, ')'), stars = "a" + std::string(100, '*');
    for (const auto& [pattern, message] : std::vector<std::pair<std::string, std::string>>{
             {"^(a|b)*a(a|b){12}$", too_large},
             {"((a{255}){255}){255}", too_large},
             {"((((a{200})*b){200})*c){200}", too_large},
             {"(.{0,255}){0,255}x", too_large},
             {deep, "the regular expression is too large: it needs too many groups"},
             {std::string(300, '(') + std::string(300, ')'), "more than 200 nested groups"},
             {stars, "more than 16 nested repetitions"},
         })
        EXPECT_EQ(Compiled(pattern).problem.message, message) << pattern;
    EXPECT_TRUE(Compiled("(a{255}){2}(x|y){1,100}").good);
    EXPECT_EQ(show(Compiled("foo([^x]{20})bar").match("foofoo0123foo5678901234567bar")), "(3,29)(6,26)");
    EXPECT_TRUE(Compiled("[ab]{12}c$").test("abababababababc"));
    EXPECT_FALSE(Compiled("a[ab]{12}$").test("babbbbbbbbbbbbb"));
    EXPECT_TRUE(Compiled("^([0-9]{1,3}\\.){3}[0-9]{1,3}$").test("127.0.0.1"));
}

} // namespace
} // namespace sonde
