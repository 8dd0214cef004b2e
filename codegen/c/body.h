// A C function, with all functions that it calls inlined, while it is made safe. Provides the code that ends it early.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "base/diag.h"
#include "codegen/c/memory.h"
#include "codegen/emit/c_code.h"
#include "frontend/hir/hir.h"

namespace sonde {

// The function, and the tools for its rewriting. Call make_failed() before end_if() or note_fault().
struct CBody {
    CBody(llvm::Function& function, const hir::Function& script, const CLimits& limits, Diagnostics& diags);

    // The place of an instruction in the script, for messages.
    Range place(const llvm::Instruction& at) const;
    // Reports an error at the instruction's place.
    DiagBuilder refuse(const llvm::Instruction& at, const std::string& message);
    // One of the function's last arguments, by its position from the end: c_error_argument and others
    // (codegen/emit/c_code.h).
    llvm::Argument* argument(unsigned from_end) const;

    // Returns the same number, but hides its origin from the compiler.
    llvm::Value* opaque(llvm::Value* value);
    // Returns the same value as a number. The verifier does not follow a pointer through a negation.
    llvm::Value* as_scalar(llvm::Value* value);
    // The smaller of the two numbers. Comparison and selection are one piece of assembly, which LLVM cannot take apart,
    // so the verifier knows the bound of the result.
    llvm::Value* at_most(llvm::Value* value, uint64_t most);
    // A 0 that the verifier does not know.
    llvm::Value* unknown_zero();
    // A variable for reads of this size; the same one for all reads of a size.
    llvm::AllocaInst* variable_of(uint64_t bytes);

    // Creates the block where the function ends early. If a read failed before, that error is reported. Also creates
    // and clears the variables of the first failed read, and returns the last instruction that does this.
    llvm::Instruction& make_failed();
    // Removes that block again. Call it if nothing can fail.
    void remove_failed();
    // Makes the function end early where it returns, if a read failed.
    void check_returns();
    // Makes the function end before this instruction if a read failed, because the instruction has an effect that
    // lasts.
    void check_faults(llvm::Instruction& before);
    // Adds a place where an error can occur. Returns the function's status for this error. `bits`: see
    // codegen/emit/environment.h.
    uint64_t add_place(const plan::ErrorMessage& message, Range range, int64_t bits);
    // Ends the function with this status if the condition holds at run time. `before`: the instruction that follows the
    // check.
    void end_if(llvm::Value* condition, llvm::Instruction* before, uint64_t status);
    // If `result` is negative, stores that a read failed, unless an earlier read has failed.
    void note_fault(const llvm::Instruction& at, llvm::Value* result, llvm::Value* address);

    // The function that is made safe, and the script's function that it implements.
    llvm::Function& function;
    const hir::Function& script;
    const CLimits limits;
    Diagnostics& diags;
    const llvm::DataLayout& layout;
    llvm::IRBuilder<> ir;
    std::vector<CPlace> places;
    uint64_t slots = 0;
    // The block where the function ends early, and the status with which it does: a phi with one value for each check.
    llvm::BasicBlock* early_end = nullptr;
    llvm::PHINode* early_status = nullptr;
    // Of the first failed read: status, address, and all ones.
    llvm::AllocaInst *fault_status = nullptr, *fault_address = nullptr, *has_fault = nullptr;
    unsigned reads = 0;            // number of reads of kernel memory in the code
    bool has_may_goto = false;     // loops are bounded by may_goto, not by callbacks
    bool loosens_at_heads = false; // variables of loops become unknown at the loops' heads, not only at the ends
    std::map<uint64_t, llvm::AllocaInst*> variables; // for reads, by size
    // Variables that will be in slots. The verifier does not track the bytes and the alignment of slots.
    std::set<const llvm::Value*> moved;
};

} // namespace sonde
