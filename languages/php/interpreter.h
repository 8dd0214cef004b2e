// Recognizes an interpreter of PHP in a program or library, and reads facts about it.
//
// The problem: handlers read a PHP program's frames from the interpreter's memory, whose layout differs between
// versions. Interpreters are stripped, so debug information cannot describe it.
//
// The idea: the text with which PHP identifies the interface for extensions (ZEND_MODULE_BUILD_ID, such as
// `API20220829,NTS`) selects a layout from a table. Extensions are compiled with these structures, so all builds with
// the same text have the same layout. PHP exports `executor_globals` and the loop, `execute_ex`.
//
// Sources: PHP's headers, zend_compile.h, zend_globals.h, zend_generators.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "base/result.h"
#include "runtime/plan/php.h"

namespace sonde {

struct PhpInterpreter {
    sonde_php layout{};
    std::vector<std::pair<uint64_t, uint64_t>> loop; // as linked, in ascending order: execute_ex(), and its moved parts
    uint64_t loop_entry = 0;
};

// Returns nullopt if the file does not contain an interpreter. Fails if it does, but sonde does not support it.
Result<std::optional<PhpInterpreter>> read_php(const ElfFile& file);

} // namespace sonde
