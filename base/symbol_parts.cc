// Suffixes that compilers append to the name of a symbol; symbol_parts.h lists them.
//
// Thunks have a prefix instead. C++ needs a thunk where a class has several bases: it subtracts the distance of the
// base from the object's address, and jumps to the function. In _ZThn16_N1C1fEv, `h` means a fixed distance, `n16` is
// -16, and the rest is the name of the function (Itanium C++ ABI, section 5.1.4.4).
#include "base/symbol_parts.h"

namespace sonde {

std::string_view moved_from(std::string_view symbol) {
    // ".cold.1" is one of several parts.
    const size_t end = symbol.find_last_not_of("0123456789");
    std::string_view name = symbol.substr(0, end == std::string_view::npos ? 0 : end + 1);
    name.remove_suffix(name.size() < symbol.size() && name.ends_with('.') ? 1 : 0);
    for (std::string_view part : {".cold", ".__part"})
        if (name.ends_with(part))
            return name.substr(0, name.size() - part.size());
    constexpr std::string_view exceptions = ".eh";
    return symbol.ends_with(exceptions) ? symbol.substr(0, symbol.size() - exceptions.size()) : std::string_view();
}

std::string_view coroutine_part(std::string_view symbol) {
    if (!symbol.starts_with("_Z"))
        return {};
    for (std::string_view part : {".resume", ".destroy", ".cleanup", ".actor"})
        if (symbol.ends_with(part))
            return symbol.substr(symbol.size() - part.size());
    return {};
}

namespace {

// Removes a call offset of a thunk's symbol ("hn16_", "v0_n24_"). Returns false if the text does not begin with one.
// Source: Itanium C++ ABI, section 5.1.4.4.
bool remove_call_offset(std::string_view& text) {
    if (!text.starts_with('h') && !text.starts_with('v'))
        return false;
    for (int numbers = text[0] == 'h' ? 1 : 2; numbers > 0; numbers--) {
        const size_t end = text.find('_');
        if (end == std::string_view::npos)
            return false;
        text.remove_prefix(end + 1);
    }
    return true;
}

} // namespace

std::string thunk_target(std::string_view symbol) {
    if (!is_thunk(symbol))
        return "";
    constexpr std::string_view prefix = "_ZT";
    std::string_view rest = symbol.substr(prefix.size());
    int offsets = 1;
    if (rest.starts_with('c')) { // the result is adjusted, too
        offsets = 2;
        rest.remove_prefix(1);
    }
    for (; offsets > 0; offsets--)
        if (!remove_call_offset(rest))
            return "";
    return "_Z" + std::string(rest);
}

std::vector<std::string> variants_run_by(std::string_view symbol) {
    std::vector<std::string> out;
    if (!symbol.starts_with("_ZN"))
        return out;
    // The text may also be a part of another name. Then the result is not the name of any function.
    for (size_t at = 3; at + 2 < symbol.size(); at++) {
        const std::string_view variant = symbol.substr(at, 2);
        const bool ends = symbol[at + 2] == 'E' || symbol[at + 2] == 'I' || symbol[at + 2] == 'B';
        if (!ends || (variant != "C1" && variant != "C2" && variant != "D0" && variant != "D1" && variant != "D2"))
            continue;
        for (char number : {'1', '2', '4'})
            if (number > variant[1]) {
                out.emplace_back(symbol);
                out.back()[at + 1] = number;
            }
    }
    return out;
}

} // namespace sonde
