// Suffixes that compilers append to the name of a symbol, and their meaning.
//
// GCC and LLVM move blocks out of a function (`f.cold`, `f.__part.1`). They inline the beginning of a function and keep
// the rest (`f.part.0`). They split a coroutine into parts that resume and destroy its frame. The debug information
// often calls all of these `f`. In most languages, only symbols from compilers contain a period. Go is an exception: do
// not use these functions there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
// Returns the symbol of a thunk's function: "_ZN1C1fEv" for "_ZThn16_N1C1fEv". Returns "" for other symbols.
std::string thunk_target(std::string_view symbol);

// A C++ compiler emits several variants of a constructor or destructor, and some of them run another one: the deleting
// destructor (D0) runs D1 or D2, and the variants for complete objects (C1, D1) may run those for base classes (C2,
// D2). With -Os, gcc gives the code to one variant (C4, D4), which all others run. Returns the symbols of the variants
// that this one may run; nothing for other functions.
std::vector<std::string> variants_run_by(std::string_view symbol);

} // namespace sonde
