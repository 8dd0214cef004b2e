// Where a function's code leaves it: return instructions, and jumps to other functions that return in its place (tail
// calls).
//
// A probe at each of these sees every return that a changed return address would have shown, and nothing on the stack
// changes. That holds only if none is missed and none is invented, so the walk ends with an error where it does not
// understand the code: unknown bytes, parts that nothing describes, indirect jumps that may lead anywhere.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unwind_table.h"
#include "frontend/types/code_map.h"

namespace sonde {

class CodeLayout;
class ProgramFile;
class SymbolTables;

class FunctionExits {
  public:
    using Parts = std::vector<std::pair<Address, Address>>;

    FunctionExits(ProgramFile& file, SymbolTables& symbols, UnwindTable& unwind, CodeLayout& code)
        : file_(file), symbols_(symbols), unwind_(unwind), code_(code) {}

    // Of the function whose code is in `parts`, and in those that the compiler has moved elsewhere and that are jumped
    // to from there. `name` is for messages. The list may be empty: the function never ends, or only by an exception.
    // Not `whole`: the function begins the only part, and where it ends is not known; then only code is read that its
    // first instruction leads to. `is_go`: Go's compiler made it.
    Result<std::vector<FunctionExit>> find(const std::string& name, Parts parts, bool whole, bool is_go);

  private:
    struct Part;
    struct Walk;

    Result<Part> read_part(const Walk& walk, Address low, Address high);
    Result<void> add_exits(Walk& walk, size_t part);
    Result<void> add_return(Walk& walk, Address at);
    Result<void> add_direct_jump(Walk& walk, Address at, const X86Instruction& jump, Address target);
    Result<void> add_indirect_jump(Walk& walk, Address at, const X86Instruction& jump, bool after_add);
    Result<void> add_part(Walk& walk, Address jump, Address target);
    bool is_table_of(const Walk& walk, const X86Instruction& jump);
    bool has_unreached_code(const Walk& walk);
    X86Mode mode() const;
    std::optional<X86Instruction> instruction_at(const Part& part, Address at) const;
    bool is_import(Address target);
    bool is_split_off(Address target);
    bool begins_function(Address target);

    ProgramFile& file_;
    SymbolTables& symbols_;
    UnwindTable& unwind_;
    CodeLayout& code_;
};

} // namespace sonde
