// The list that `generate` prints, laid out as a file of code.
#pragma once

#include <vector>

#include "tests/encodings/machine.h"

namespace encodings {

// The instructions of a list; `code` becomes the file's contents, `hlt` but for the instructions.
std::vector<Instruction> read_encodings(const char* path, std::vector<uint8_t>& code);

} // namespace encodings
