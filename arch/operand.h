// Operands in the syntax of the GNU assembler, as the notes of static markers have them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "arch/registers.h"

namespace sonde {

struct AssemblyOperand {
    enum Kind : uint8_t {
        Unknown,         // not an operand
        UnknownPlace,    // memory that a probe cannot read
        UnknownRegister, // `name`
        UnknownSymbol,   // memory at the symbol `name`, which the file does not have
        Constant,        // `number`
        Register,        // `part`
        // At the sum of `number`, the register `base`, and the register `index` times `scale`. Only the lower
        // `index_size` bytes of the index count; `extends_sign` tells how they are extended.
        Memory,
    };
    Kind kind = Unknown;
    int64_t number = 0;
    bool is_linked = false; // Memory: `number` is an address in the file
    RegisterFile::Part part{};
    int base = -1, index = -1; // -1: none
    int64_t scale = 1;
    uint32_t index_size = 8;
    bool extends_sign = false;
    std::string_view name{};
};

// Returns the address of a symbol in the file.
using FindSymbol = std::function<std::optional<uint64_t>(std::string_view)>;

// Reads a number at the beginning of the text, and removes it from the text.
std::optional<int64_t> take_number(std::string_view& text);

} // namespace sonde
