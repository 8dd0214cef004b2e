// libstdc++'s strings where a program's debug information only declares them.
//
// clang leaves out what the library is said to have: `extern template class basic_string<char>` before C++20, or one
// class inside of it (-fno-standalone-debug, constructor homing). Debian's library has no debug information either. The
// layout is a part of libstdc++'s ABI, which does not change under these names.
#pragma once

#include "frontend/types/type.h"

namespace sonde {

class TypeReader;

// Gives a declared record, whose name and scope are known, its size and members; false: it is no such string.
bool describe_library_string(TypeReader& types, Type& record);

} // namespace sonde
