// Finds where a function ends: its return instructions, and its tail calls. A tail call is a jump to another function,
// which then returns in place of this one.
//
// A return probe can be a breakpoint at each of these places. It sees every return that a uretprobe would see, and does
// not change the return address on the stack. (A changed return address breaks programs that read their own stack.)
//
// This works only if no place is missing and none is wrong: a missing one loses a return, and a wrong one reports a
// return that does not happen. Therefore the search fails if it does not understand the code: unknown bytes, parts of
// the function that no table describes, indirect jumps that may go anywhere.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unwind_table.h"
#include "frontend/machine/code_map.h"

namespace sonde {

class CodeLayout;
class ProgramFile;
class SymbolTables;

class FunctionExits {
  public:
    using Parts = std::vector<std::pair<Address, Address>>;

    FunctionExits(ProgramFile& file, SymbolTables& symbols, UnwindTable& unwind, CodeLayout& code)
        : file_(file), symbols_(symbols), unwind_(unwind), code_(code) {}

    // Finds the exits of the function whose code is in `parts`. It follows jumps to parts that the compiler has moved
    // elsewhere (`.cold`). `name` is for messages. An empty list means that the function never ends, or ends only by an
    // exception.
    //
    // If `whole` is false, `parts` has one element, which begins with the function, and the end of the function is not
    // known. Then only code is read that is reached from the first instruction. `is_go`: Go's compiler made the
    // function.
    Result<std::vector<FunctionExit>> find(const std::string& name, Parts parts, bool whole, bool is_go);

  private:
    struct Part;
    struct Walk;

    Result<Part> read_part(const Walk& walk, Address low, Address high);
    Result<void> add_exits(Walk& walk, size_t part);
    Result<void> add_return(Walk& walk, Address at);
    Result<void> add_direct_jump(Walk& walk, Address at, const Instruction& jump, Address target);
    Result<void> add_indirect_jump(Walk& walk, Address at, const Instruction& jump, bool after_add, bool after_element);
    Result<void> add_part(Walk& walk, Address jump, Address target);
    bool is_table_of(const Walk& walk, const Instruction& jump);
    bool has_unreached_code(const Walk& walk);
    std::optional<Instruction> instruction_at(const Part& part, Address at) const;
    bool is_import(Address target);
    bool is_split_off(Address target);
    bool begins_function(Address target);

    ProgramFile& file_;
    SymbolTables& symbols_;
    UnwindTable& unwind_;
    CodeLayout& code_;
};

} // namespace sonde
