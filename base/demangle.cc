// C++'s names are left to the C++ runtime. Rust's are read here: the older scheme is C++'s with escapes, and v0 a
// grammar of its own (RFC 2603, "Syntax of mangled names").
#include "base/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <vector>

namespace sonde {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, uint32_t c) {
    auto part = [&](unsigned shift, uint32_t mark, uint32_t mask) {
        out += static_cast<char>(mark | ((c >> shift) & mask));
    };
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        part(6, 0xc0, 0x1f), part(0, 0x80, 0x3f);
    } else if (c < 0x10000) {
        part(12, 0xe0, 0xf), part(6, 0x80, 0x3f), part(0, 0x80, 0x3f);
    } else {
        part(18, 0xf0, 7), part(12, 0x80, 0x3f), part(6, 0x80, 0x3f), part(0, 0x80, 0x3f);
    }
}

// ---- the older scheme: _ZN 4shop 4Item 5total 17h0123456789abcdef E ----------------------------------------------

bool is_hash(std::string_view part) {
    return part.size() == 17 && part[0] == 'h' &&
           std::all_of(part.begin() + 1, part.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string unescape(std::string_view part) {
    struct Escape {
        std::string_view code, text;
    };
    static constexpr Escape escapes[] = {{"LT", "<"}, {"GT", ">"}, {"RF", "&"}, {"BP", "*"},
                                         {"C", ","},  {"LP", "("}, {"RP", ")"}, {"SP", "@"}};
    std::string out;
    if (part.starts_with("_$"))
        part.remove_prefix(1);
    while (!part.empty()) {
        size_t end = part[0] == '$' ? part.find('$', 1) : std::string_view::npos;
        if (end != std::string_view::npos) {
            std::string_view code = part.substr(1, end - 1);
            auto known = std::find_if(std::begin(escapes), std::end(escapes),
                                      [&](const Escape& one) { return one.code == code; });
            uint32_t number = 0;
            if (known != std::end(escapes))
                out += known->text;
            else if (code.starts_with('u') &&
                     std::from_chars(code.data() + 1, code.data() + code.size(), number, 16).ec == std::errc())
                append_utf8(out, number);
            part.remove_prefix(end + 1);
        } else if (part.starts_with("..")) {
            out += "::";
            part.remove_prefix(2);
        } else {
            out += part[0];
            part.remove_prefix(1);
        }
    }
    return out;
}

std::optional<std::string> demangle_legacy(std::string_view symbol) {
    if (!symbol.starts_with("_ZN"))
        return std::nullopt;
    symbol.remove_prefix(3);
    std::vector<std::string_view> parts;
    while (!symbol.empty() && is_digit(symbol[0])) {
        size_t length = 0;
        auto [end, error] = std::from_chars(symbol.data(), symbol.data() + symbol.size(), length);
        symbol.remove_prefix(static_cast<size_t>(end - symbol.data()));
        if (error != std::errc() || length > symbol.size())
            return std::nullopt;
        parts.push_back(symbol.substr(0, length));
        symbol.remove_prefix(length);
    }
    if (!symbol.starts_with('E') || parts.size() < 2 || !is_hash(parts.back()))
        return std::nullopt;
    parts.pop_back();
    std::string out;
    for (std::string_view part : parts) {
        std::string text = unescape(part);
        constexpr std::string_view impl = "<impl ";
        // An impl block that stands in another module than its type; the names do not depend on that.
        if (text.starts_with(impl) && text.ends_with('>')) {
            text = text.substr(impl.size(), text.size() - impl.size() - 1);
            size_t middle = text.find(" for ");
            out = middle == std::string::npos ? text
                                              : "<" + text.substr(middle + 5) + " as " + text.substr(0, middle) + ">";
        } else {
            out += (out.empty() ? "" : "::") + text;
        }
    }
    return out;
}

// ---- v0 -------------------------------------------------------------------------------------------------------------

class V0 {
  public:
    explicit V0(std::string_view text) : text_(text) {}

    std::optional<std::string> run() {
        path(true);
        return failed_ ? std::nullopt : std::optional(std::move(out_));
    }

  private:
    static constexpr int max_depth = 200;
    static constexpr size_t max_length = 16384;

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c) {
        if (peek() != c)
            return false;
        at_++;
        return true;
    }
    char next() {
        char c = peek();
        at_ += c != '\0';
        failed_ = failed_ || c == '\0';
        return c;
    }
    void put(std::string_view text) {
        if (quiet_ == 0)
            out_ += text;
        failed_ = failed_ || out_.size() > max_length;
    }

    // "_" is 0, "0_" is 1 ...
    uint64_t base62() {
        if (take('_'))
            return 0;
        uint64_t value = 0;
        while (!failed_ && !take('_')) {
            char c = next();
            uint64_t digit = is_digit(c)            ? static_cast<uint64_t>(c - '0')
                             : c >= 'a' && c <= 'z' ? static_cast<uint64_t>(c - 'a') + 10
                             : c >= 'A' && c <= 'Z' ? static_cast<uint64_t>(c - 'A') + 36
                                                    : 62;
            if (digit == 62 || __builtin_mul_overflow(value, 62, &value) ||
                __builtin_add_overflow(value, digit, &value))
                failed_ = true;
        }
        return value + 1;
    }
    // Of names that would be equal otherwise; 0 is the first.
    uint64_t disambiguator() { return take('s') ? base62() + 1 : 0; }

    // A letter for a name, and what is numbered among equal ones.
    std::string identifier(uint64_t& number) {
        number = disambiguator();
        bool punycode = take('u');
        size_t length = 0;
        if (!is_digit(peek()))
            failed_ = true;
        while (!failed_ && is_digit(peek()) && length < max_length) {
            length = length * 10 + static_cast<size_t>(next() - '0');
            if (length == 0)
                break; // no leading zeros
        }
        take('_');
        if (failed_ || length > text_.size() - at_) {
            failed_ = true;
            return "";
        }
        std::string name(text_.substr(at_, length));
        at_ += length;
        return punycode ? decode(name) : name;
    }

    // RFC 3492, with `_` for `-`.
    std::string decode(const std::string& text) {
        size_t split = text.rfind('_');
        std::vector<uint32_t> letters;
        for (size_t i = 0; split != std::string::npos && i < split; i++)
            letters.push_back(static_cast<unsigned char>(text[i]));
        uint64_t n = 128, bias = 72, position = 0;
        bool first = true;
        for (size_t at = split == std::string::npos ? 0 : split + 1; at < text.size() && !failed_;) {
            uint64_t before = position, weight = 1;
            for (uint64_t k = 36; !failed_; k += 36) {
                char c = at < text.size() ? text[at++] : '\0';
                uint64_t digit = c >= 'a' && c <= 'z' ? static_cast<uint64_t>(c - 'a')
                                 : is_digit(c)        ? static_cast<uint64_t>(c - '0') + 26
                                                      : 36;
                uint64_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
                failed_ = failed_ || digit >= 36 || weight > UINT32_MAX;
                position += digit * weight;
                if (digit < threshold)
                    break;
                weight *= 36 - threshold;
            }
            uint64_t count = letters.size() + 1;
            uint64_t delta = (position - before) / (first ? 700 : 2);
            first = false;
            delta += delta / count;
            uint64_t k = 0;
            for (; delta > 455; k += 36)
                delta /= 35;
            bias = k + 36 * delta / (delta + 38);
            n += position / count;
            position %= count;
            if (failed_ || n > 0x10ffff) {
                failed_ = true;
                break;
            }
            letters.insert(letters.begin() + static_cast<std::ptrdiff_t>(position++), static_cast<uint32_t>(n));
        }
        std::string out;
        for (uint32_t letter : letters)
            append_utf8(out, letter);
        return out;
    }

    template <typename Read> void back_reference(Read read) {
        uint64_t target = base62();
        if (failed_ || target >= at_) {
            failed_ = true;
            return;
        }
        size_t saved = at_;
        at_ = static_cast<size_t>(target);
        if (quiet_ == 0)
            read();
        at_ = saved;
    }

    // The path of the impl block, which is no part of the name.
    void skip_impl_path() {
        disambiguator();
        quiet_++;
        path(false);
        quiet_--;
    }

    struct Deeper {
        explicit Deeper(V0& reader) : reader_(reader) {
            reader_.failed_ = reader_.failed_ || ++reader_.depth_ > max_depth;
        }
        ~Deeper() { reader_.depth_--; }
        V0& reader_;
    };

    void path(bool is_value) {
        Deeper deeper(*this);
        if (failed_)
            return;
        uint64_t number = 0;
        switch (char kind = next()) {
        case 'C':
            put(identifier(number));
            break;
        case 'M': { // of a type itself: its name, without brackets where it is a path
            skip_impl_path();
            bool plain = peek() == 'N' || peek() == 'C' || peek() == 'I' || peek() == 'B';
            put(plain ? "" : "<");
            type();
            put(plain ? "" : ">");
            break;
        }
        case 'X':
        case 'Y':
            if (kind == 'X')
                skip_impl_path();
            put("<");
            type();
            put(" as ");
            path(false);
            put(">");
            break;
        case 'N': {
            char space = next();
            path(is_value);
            std::string name = identifier(number);
            if (space >= 'A' && space <= 'Z') {
                put("::{");
                put(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string(1, space));
                put(name.empty() ? "" : ":" + name);
                put("#" + std::to_string(number) + "}");
            } else if (!name.empty()) {
                put("::" + name);
            }
            break;
        }
        case 'I':
            path(is_value);
            put("<");
            list([&] { generic_argument(); });
            put(">");
            break;
        case 'B':
            back_reference([&] { path(is_value); });
            break;
        default:
            failed_ = true;
        }
    }

    // Up to `E`, with commas between.
    template <typename Read> size_t list(Read read) {
        size_t count = 0;
        for (; !failed_ && !take('E'); count++) {
            put(count ? ", " : "");
            read();
        }
        return count;
    }

    void generic_argument() {
        if (take('L'))
            lifetime(base62());
        else if (take('K'))
            constant();
        else
            type();
    }

    void lifetime(uint64_t index) {
        if (index == 0)
            return put("'_");
        uint64_t number = lifetimes_ - index;
        put(index > lifetimes_ ? std::string("'?")
            : number < 26      ? std::string("'") + static_cast<char>('a' + number)
                               : "'_" + std::to_string(number));
    }

    // `for<'a>` in front of a function's or a trait's type.
    uint64_t binder() {
        uint64_t count = take('G') ? base62() + 1 : 0;
        if (count > 64)
            failed_ = true;
        if (failed_ || count == 0)
            return 0;
        put("for<");
        for (uint64_t i = 0; i < count; i++) {
            put(i ? ", " : "");
            lifetimes_++;
            lifetime(1);
        }
        put("> ");
        return count;
    }

    void type() {
        Deeper deeper(*this);
        if (failed_)
            return;
        static constexpr std::string_view basic[] = {
            "i8",   "bool", "char", "f64", "str", "f32", "",    "u8", "isize", "usize", "",    "i32", "u32",
            "i128", "u128", "_",    "",    "",    "i16", "u16", "()", "...",   "",      "i64", "u64", "!"};
        char c = peek();
        if (c >= 'a' && c <= 'z') {
            std::string_view name = basic[c - 'a'];
            failed_ = failed_ || name.empty();
            at_++;
            return put(name);
        }
        switch (c) {
        case 'A':
            at_++;
            put("[");
            type();
            put("; ");
            constant();
            return put("]");
        case 'S':
            at_++;
            put("[");
            type();
            return put("]");
        case 'T': {
            at_++;
            put("(");
            size_t count = list([&] { type(); });
            return put(count == 1 ? ",)" : ")");
        }
        case 'R':
        case 'Q':
            at_++;
            put("&");
            if (take('L'))
                if (uint64_t index = base62(); index != 0) {
                    lifetime(index);
                    put(" ");
                }
            put(c == 'Q' ? "mut " : "");
            return type();
        case 'P':
        case 'O':
            at_++;
            put(c == 'P' ? "*const " : "*mut ");
            return type();
        case 'F':
            at_++;
            return function_type();
        case 'D':
            at_++;
            return dynamic_type();
        case 'B':
            at_++;
            return back_reference([&] { type(); });
        default:
            path(false);
        }
    }

    void function_type() {
        uint64_t bound = binder();
        if (take('U'))
            put("unsafe ");
        if (take('K')) {
            uint64_t number = 0;
            std::string abi = take('C') ? "C" : identifier(number);
            std::replace(abi.begin(), abi.end(), '_', '-');
            put("extern \"" + abi + "\" ");
        }
        put("fn(");
        list([&] { type(); });
        put(")");
        if (!take('u')) {
            put(" -> ");
            type();
        }
        lifetimes_ -= bound;
    }

    void dynamic_type() {
        put("dyn ");
        uint64_t bound = binder();
        for (bool first = true; !failed_ && !take('E'); first = false) {
            put(first ? "" : " + ");
            path(false);
            // Associated types stand inside the trait's own brackets.
            bool open = quiet_ == 0 && out_.ends_with('>');
            bool any = false;
            while (!failed_ && take('p')) {
                if (open && !any)
                    out_.pop_back();
                put(any || open ? ", " : "<");
                any = true;
                uint64_t number = 0;
                put(identifier(number));
                put(" = ");
                type();
            }
            put(any ? ">" : "");
        }
        lifetimes_ -= bound;
        if (!take('L'))
            failed_ = true;
        else if (uint64_t index = base62(); index != 0) {
            put(" + ");
            lifetime(index);
        }
    }

    void constant() {
        Deeper deeper(*this);
        if (failed_)
            return;
        if (take('p'))
            return put("_");
        if (take('B'))
            return back_reference([&] { constant(); });
        char kind = next();
        std::string sign = take('n') ? "-" : "";
        size_t begin = at_;
        while (!failed_ && peek() != '_')
            next();
        std::string_view digits = text_.substr(begin, at_ - begin);
        take('_');
        uint64_t value = 0;
        bool fits = digits.size() <= 16;
        if (fits && !digits.empty() &&
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr !=
                digits.data() + digits.size())
            failed_ = true;
        if (kind == 'b')
            put(value ? "true" : "false");
        else if (kind == 'c') {
            put("'");
            std::string letter;
            append_utf8(letter, static_cast<uint32_t>(value));
            put(letter + "'");
        } else
            put(sign + (fits ? std::to_string(value) : "0x" + std::string(digits)));
    }

    std::string_view text_;
    size_t at_ = 0;
    std::string out_;
    bool failed_ = false;
    int quiet_ = 0;
    int depth_ = 0;
    uint64_t lifetimes_ = 0;
};

std::optional<std::string> demangle_rust(std::string_view symbol) {
    if (symbol.starts_with("_R") && symbol.size() > 2 && symbol[2] >= 'A' && symbol[2] <= 'Z')
        return V0(symbol.substr(2)).run();
    return demangle_legacy(symbol);
}

} // namespace

std::optional<std::string> demangle(std::string_view symbol) {
    if (std::optional<std::string> rust = demangle_rust(symbol))
        return rust;
    if (!symbol.starts_with("_Z"))
        return std::nullopt;
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? std::optional<std::string>(text.get()) : std::nullopt;
}

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Where the word `operator` begins at `at`, after which spaces and brackets belong to the name.
bool is_operator(std::string_view text, size_t at) {
    constexpr std::string_view word = "operator";
    return text.substr(at).starts_with(word) && (at == 0 || !is_word(text[at - 1])) &&
           (at + word.size() == text.size() || !is_word(text[at + word.size()]));
}

// A template function's symbol says what it returns, so that overloads by their results differ, and so does one of
// something inside (Itanium ABI, section 5.1.5.3, function signatures). The name begins behind the last space outside
// of brackets that is not the one in `f() const::{lambda()#1}`.
size_t name_begin(std::string_view text) {
    std::string open;
    size_t begin = 0;
    for (size_t at = 0; at < text.size() && !(open.empty() && is_operator(text, at)); at++) {
        char c = text[at];
        if (c == '<' || c == '(' || c == '{' || c == '[')
            open += c;
        else if ((c == '>' && open.ends_with('<')) || (c == ')' && open.ends_with('(')) ||
                 (c == '}' && open.ends_with('{')) || (c == ']' && open.ends_with('[')))
            open.pop_back();
        else if (c == ' ' && open.empty() &&
                 !(at > 0 && text[at - 1] == ')' && text.substr(at + 1).find("::") < text.substr(at + 1).find(' ') &&
                   (text.substr(at).starts_with(" const") || text.substr(at).starts_with(" volatile"))))
            begin = at + 1;
    }
    // `int (*f<int>())(char)` returns a pointer to a function: left as it is.
    return text.substr(begin).starts_with("(*") || text.substr(begin).starts_with("(&") ? 0 : begin;
}

} // namespace

std::string readable_symbol(std::string_view symbol) {
    std::optional<std::string> text =
        symbol.starts_with("_Z") || symbol.starts_with("_R") ? demangle(symbol) : std::nullopt;
    if (!text)
        return std::string(symbol);
    // Thunks and their like are described by words.
    bool may_have_result = !symbol.starts_with("_ZT") && !symbol.starts_with("_ZG") && !demangle_rust(symbol);
    // The last parentheses that are closed hold the parameters; behind them stand `const` and the like.
    size_t close = text->rfind(')');
    if (symbol.starts_with("_R") || close == std::string::npos || text->find("::", close) != std::string::npos)
        return *text;
    int depth = 0;
    for (size_t at = close + 1; at-- > 0;) {
        depth += (*text)[at] == ')' ? 1 : (*text)[at] == '(' ? -1 : 0;
        if (depth != 0 || (*text)[at] != '(' || at == 0)
            continue;
        std::string name = text->substr(0, at);
        return may_have_result ? name.substr(name_begin(name)) : name;
    }
    return *text;
}

} // namespace sonde
