// Describes libstdc++'s strings in programs whose debug information only declares them.
//
// clang omits types that the library should contain: those with `extern template class basic_string<char>` before
// C++20, or classes inside (-fno-standalone-debug, constructor homing). On Debian, the library has no debug information
// either. But the layout is part of libstdc++'s ABI and does not change under these names.
#pragma once

#include "frontend/types/type.h"

namespace sonde {

class TypeReader;

// Adds the size and members to a declared record whose name and scope are known. Returns false if the record is not
// such a string.
bool describe_library_string(TypeReader& types, Type& record);

} // namespace sonde
