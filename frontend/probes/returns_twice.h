// Functions whose return cannot be traced by changing the return address.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace sonde {

// These functions store their return address, and control can return there a second time. By then, nobody knows where a
// changed address should lead (C11, 7.13; SUSv2, getcontext and swapcontext).
inline bool returns_twice(std::string_view name) {
    static constexpr std::string_view names[] = {"setjmp",        "_setjmp",    "__setjmp",     "sigsetjmp",
                                                 "__sigsetjmp",   "getcontext", "__getcontext", "swapcontext",
                                                 "__swapcontext", "savectx"};
    return std::find(std::begin(names), std::end(names), name.substr(0, name.find('@'))) != std::end(names);
}

inline std::string why_no_return_twice(std::string_view name) {
    return fmt::format("`{}` returns more than once, and its second return would use a changed return address", name);
}

} // namespace sonde
