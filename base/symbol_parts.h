// Suffixes that compilers append to the name of a symbol, and their meaning.
//
// GCC and LLVM move blocks out of a function (`f.cold`, `f.__part.1`). They inline the beginning of a function and keep
// the rest (`f.part.0`). They split a coroutine into parts that resume and destroy its frame. The debug information
// often calls all of these `f`. In most languages, only symbols from compilers contain a period. Go is an exception: do
// not use these functions there.
#pragma once

#include <string_view>

namespace sonde {

// Returns the symbol of the function that a block was moved out of: "f" for "f.cold.1". Returns "" if the symbol is not
// such a block. These blocks are never called.
std::string_view moved_from(std::string_view symbol);
inline bool is_moved_part(std::string_view symbol) { return !moved_from(symbol).empty(); }

// Whether the symbol is the rest of a function whose beginning was inlined. Its callers have already begun the
// function.
inline bool is_later_part(std::string_view symbol) { return symbol.find(".part.") != std::string_view::npos; }

// Returns ".resume", ".destroy", ".cleanup" (LLVM) or ".actor" (GCC) if the symbol is such a part of a coroutine, else
// "".
std::string_view coroutine_part(std::string_view symbol);

// Whether the symbol is a thunk: it adjusts the object's address or the result, and jumps to a virtual function.
inline bool is_thunk(std::string_view symbol) {
    return symbol.starts_with("_ZTh") || symbol.starts_with("_ZTv") || symbol.starts_with("_ZTc");
}

} // namespace sonde
