// Demangles the symbols of Rust.
//
// Rust has two schemes. The older one looks like C++'s: _ZN, then parts with their lengths, and as the last part a
// hash:
//
//     _ZN4shop4Item5total17h0123456789abcdefE    shop::Item::total
//
// Characters that C++ does not allow are escaped, for example `$LT$` for `<`. Neither LLVM nor the C++ runtime decodes
// these. The newer one (v0) begins with _R, and LLVM decodes it.
//
// Both are converted to the names that Rust's debug information uses, because a script names functions in that form.
#include "base/demangle_rust.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <llvm/Demangle/Demangle.h>

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
        // An impl block in another module than its type. Names do not contain that module.
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

// Converts a name to the form in Rust's debug information, which scripts use, too: `f<i32>` for `f::<i32>`,
// `shop::Item::total` for `<shop::Item>::total`.
std::string as_in_debug_information(std::string_view text) {
    struct Open {
        size_t at;      // in `out`
        bool is_path;   // begins a path: `<T as Trait>::`, `<T>::`
        bool has_trait; // the first of these forms
    };
    std::string out;
    std::vector<Open> open;
    for (size_t at = 0; at < text.size(); at++) {
        const char c = text[at];
        const char before = at > 0 ? text[at - 1] : ' ';
        if (c == '<') {
            const bool turbofish = out.ends_with("::");
            if (turbofish)
                out.resize(out.size() - 2);
            open.push_back(
                {out.size(),
                 !turbofish && !std::isalnum(static_cast<unsigned char>(before)) && before != '_' && before != '}',
                 false});
        } else if (c == '>' && before != '-' && !open.empty()) { // not the end of `->`
            const Open path = open.back();
            open.pop_back();
            if (path.is_path && !path.has_trait && text.substr(at + 1).starts_with("::")) {
                out.erase(path.at, 1);
                continue;
            }
        } else if (!open.empty() && text.substr(at).starts_with(" as ")) {
            open.back().has_trait = true;
        }
        out += c;
    }
    return out;
}

std::optional<std::string> demangle_v0(std::string_view symbol) {
    symbol = symbol.substr(0, symbol.find('.')); // remove a suffix of the compiler: ".llvm.1234"
    std::unique_ptr<char, decltype(&std::free)> text(llvm::rustDemangle(symbol), &std::free);
    return text ? std::optional(as_in_debug_information(text.get())) : std::nullopt;
}

} // namespace

std::optional<std::string> demangle_rust(std::string_view symbol) {
    return symbol.starts_with("_R") ? demangle_v0(symbol) : demangle_legacy(symbol);
}

std::optional<std::string> demangle_cxx_by_llvm(std::string_view symbol) {
    std::unique_ptr<char, decltype(&std::free)> text(llvm::itaniumDemangle(symbol), &std::free);
    return text ? std::optional<std::string>(text.get()) : std::nullopt;
}

} // namespace sonde
