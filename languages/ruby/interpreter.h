// Recognizes an interpreter of Ruby (MRI) in a program or library, and reads facts about it.
//
// The problem: handlers read a Ruby program's frames from the interpreter's memory, whose layout differs between
// versions. Interpreters are stripped, so debug information cannot describe it.
//
// The idea: `ruby_api_version` selects a layout from a table. Exported symbols lead to the rest:
//
// * the current context: the thread-local variable `ruby_current_ec`. rb_errinfo() reads it first.
// * the loop: rb_vm_exec(), and the core, which executes instructions. If rb_vm_exec() is not exported, it is one of
//   the functions that rb_iseq_eval() calls. It calls the core, which has many indirect jumps.
// * the table of symbols, `ruby_global_symbols`, which has the names of methods in C. rb_id2str() jumps to a function
//   that reads the table's size. The array of symbols follows 16 bytes after the size.
//
// What would break this: a build with other structures. Handlers check the types of all objects that they read.
//
// Sources: Ruby's headers, vm_core.h, method.h, symbol.h, internal/ and include/ruby/internal/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "base/result.h"
#include "runtime/plan/ruby.h"

namespace sonde {

struct RubyInterpreter {
    sonde_ruby layout{};
    std::string version;                             // "3.1.2"
    std::vector<std::pair<uint64_t, uint64_t>> loop; // as linked, in ascending order: the core and rb_vm_exec()
    uint64_t loop_entry = 0;                         // of rb_vm_exec()
};

// Returns nullopt if the file does not contain an interpreter. Fails if it does, but sonde does not support it.
Result<std::optional<RubyInterpreter>> read_ruby(const ElfFile& file);

} // namespace sonde
