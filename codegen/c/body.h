// One function in C with all that it calls inlined, while it is made safe: where it can end early, and the code for
// that.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "base/diag.h"
#include "codegen/c/c_code.h"
#include "codegen/c/memory.h"
#include "frontend/hir/hir.h"

namespace sonde {

struct CBody {
    CBody(llvm::Function& function, const hir::Function& script, const CLimits& limits, Diagnostics& diags);

    Range place(const llvm::Instruction& at) const;
    DiagBuilder refuse(const llvm::Instruction& at, const std::string& message);
    llvm::Argument* argument(unsigned from_end) const;

    // The value, of whose origin the compiler knows nothing.
    llvm::Value* opaque(llvm::Value* value);
    // The value, a number to the verifier too, which follows no pointer through a negation.
    llvm::Value* as_scalar(llvm::Value* value);
    // The smaller of the two. Comparison and result are one piece of assembly, which LLVM cannot take apart: the
    // verifier knows the bound of the register that comes out.
    llvm::Value* at_most(llvm::Value* value, uint64_t most);
    // 0, as the verifier cannot know it.
    llvm::Value* unknown_zero();
    // That reads go to; one for each size.
    llvm::AllocaInst* variable_of(uint64_t bytes);

    // Where the function ends early. A read that failed before is what is told then.
    void make_failed();
    void remove_failed();
    // Reads that failed end the function at the latest where it returns.
    void check_returns();
    // The status of an error there. `bits`: codegen/lower/errors.h
    uint64_t add_place(const std::string& message, Range range, int64_t bits);
    // Where the condition holds when it runs, the function ends there. `before`: what then comes after the check.
    void end_if(llvm::Value* condition, llvm::Instruction* before, uint64_t status);
    // Keeps that a read failed, if `result` is negative, and it is the first one.
    void note_fault(const llvm::Instruction& at, llvm::Value* result, llvm::Value* address);

    llvm::Function& function;
    const hir::Function& script;
    const CLimits limits;
    Diagnostics& diags;
    const llvm::DataLayout& layout;
    llvm::IRBuilder<> ir;
    std::vector<CPlace> places;
    uint64_t slots = 0;
    llvm::BasicBlock* early_end = nullptr;
    llvm::PHINode* early_status = nullptr;
    // Of the first read that failed: the status, the address, and all ones.
    llvm::AllocaInst *fault_status = nullptr, *fault_address = nullptr, *has_fault = nullptr;
    unsigned reads = 0;            // of the kernel's memory, in the code
    bool has_may_goto = false;     // its loops are bounded by may_goto, and not callbacks
    bool loosens_at_heads = false; // what a loop changes is unknown to the verifier at its head, not only at its end
    std::map<uint64_t, llvm::AllocaInst*> variables; // that reads go to, by their size
    // That become slots in the end: the verifier knows no bytes of those, and nothing of their alignment.
    std::set<const llvm::Value*> moved;
};

} // namespace sonde
