// Recognizes HotSpot, the virtual machine of OpenJDK, in a library, and reads facts about it.
//
// The problem: handlers read frames, methods and compiled code from the memory of the virtual machine, whose layout
// differs between versions and builds.
//
// The idea: libjvm.so exports tables for the serviceability agent (vmStructs): types with sizes, and members with
// offsets. Pointers in the tables are relocations of the file. But most offsets are in no relocation and not in the
// file's data: the library's initializer stores them, with one instruction of x86-64 for each
// (`movq $OFFSET, TABLE+N(%rip)`). So the reader looks for these instructions in the code.
//
// Sources: OpenJDK's documentation of the serviceability agent, and the tables of Debian's builds.
#pragma once

#include <optional>

#include "base/elf_file.h"
#include "base/result.h"
#include "runtime/plan/java.h"

namespace sonde {

// Returns nullopt if the file does not contain HotSpot. Fails if it does, but sonde does not support it.
Result<std::optional<sonde_java>> read_java(const ElfFile& file);

} // namespace sonde
