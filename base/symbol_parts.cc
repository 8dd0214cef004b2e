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

} // namespace sonde
