// What compilers append to a symbol's name, and what it says about the code there.
//
// GCC and LLVM move blocks out of a function (`f.cold`, `f.__part.1`), inline its beginning and keep the rest
// (`f.part.0`), and cut coroutines into the parts that resume and destroy a frame. Debug information often calls all of
// them `f`. Only symbols that compilers make have a dot, but for Go's: ask about those of other languages only.
#pragma once

#include <string_view>

namespace sonde {

// Blocks of a function that stand elsewhere. Nobody calls them.
bool is_moved_part(std::string_view symbol);

// The rest of a function whose beginning is inlined: its callers have begun the function already.
inline bool is_later_part(std::string_view symbol) { return symbol.find(".part.") != std::string_view::npos; }

// ".resume", ".destroy", ".cleanup" (LLVM) or ".actor" (GCC): the part of a coroutine that has this symbol. Empty: it
// is none.
std::string_view coroutine_part(std::string_view symbol);

// Adjusts the object's address or the result, and goes on to a virtual function.
inline bool is_thunk(std::string_view symbol) {
    return symbol.starts_with("_ZTh") || symbol.starts_with("_ZTv") || symbol.starts_with("_ZTc");
}

} // namespace sonde
