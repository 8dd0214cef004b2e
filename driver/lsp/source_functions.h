// Finds the functions of a source file of C, C++, Rust, Go or Python by its text alone, for code lenses. The file may
// be edited at the moment, so its text need not be correct. A function that is missed, or a lens too many, does no
// harm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::lsp {

enum class SourceLanguage : uint8_t { Unknown, C, Rust, Go, Python }; // C: also C++

// By the ending of its name.
SourceLanguage language_of_file(std::string_view name);

struct SourceFunction {
    uint32_t line = 0;       // of its name, from 0
    uint32_t first_line = 0; // the first line of its body that is not blank; Python: `line`
    bool operator==(const SourceFunction&) const = default;
};
// In the order of the file.
std::vector<SourceFunction> find_functions(std::string_view text, SourceLanguage language);

} // namespace sonde::lsp
