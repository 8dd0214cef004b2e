// Languages by their DW_LANG_ codes, and their properties.
#pragma once

#include <dwarf.h>

namespace sonde {

// DWARF 6 defines the codes for C++17, C++20 and C17.
constexpr int language_c17 = 0x2c, language_cxx17 = 0x2b, language_cxx20 = 0x2e;

constexpr bool is_c_language(int language) {
    return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 || language == DW_LANG_C11 ||
           language == language_c17;
}

constexpr bool is_cxx_language(int language) {
    return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
           language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 || language == language_cxx17 ||
           language == language_cxx20;
}

// Whether errors in the language unwind the stack.
constexpr bool has_exceptions(int language) {
    return is_cxx_language(language) || language == DW_LANG_ObjC_plus_plus || language == DW_LANG_Rust ||
           language == DW_LANG_D;
}

} // namespace sonde
