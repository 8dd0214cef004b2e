// An LLVM instruction builder with the building blocks that BPF and host code share: numbers, constants, memory on the
// stack, and calls of routines.
//
// Values: a long is an i64. A string is a `ptr` to memory that ends with a NUL. Handlers build strings in memory called
// slots (codegen/rtlib/rt.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/emit/debug_lines.h"
#include "codegen/emit/plan_state.h"

namespace sonde {

// Names of scratch memory in the module, by which passes find it. Wiped memory is all zeros except while it is in use.
constexpr const char* scratch_name = "scratch";
constexpr const char* wiped_name = "scratch.wiped";

// Creates one module. Its base class has the usual functions for instructions, such as CreateAdd(); new code is added
// at its insertion point.
class Emitter : public llvm::IRBuilder<> {
  public:
    // `state` must outlive this object. `module_name` is for LLVM's messages. `in_kernel`: the module is for BPF.
    Emitter(llvm::LLVMContext& context, PlanState& state, const char* module_name, bool in_kernel);
    ~Emitter();

    llvm::Module& module() { return *module_; }
    PlanState& state() { return state_; }
    // Registers and calls of the machine that will run the code.
    const RegisterFile& registers() const { return state_.architecture.registers(); }
    const SystemCalls& system_calls() const { return state_.architecture.system_calls(); }
    // Whether this is BPF code.
    bool in_kernel() const { return in_kernel_; }
    // Maps code to the script's lines.
    DebugLines& lines() { return lines_; }

    llvm::Type* i64() { return getInt64Ty(); }
    llvm::Type* ptr() { return getPtrTy(); }
    // Bytes of a slot: room for two strings of the largest size, so that an append needs no check.
    uint64_t slot_size() const { return 2ull * state_.plan.max_string + 64; }

    llvm::Value* number(int64_t value) { return getInt64(static_cast<uint64_t>(value)); }
    llvm::Value* null() { return llvm::ConstantPointerNull::get(getPtrTy()); }
    // A constant string that ends with a NUL.
    llvm::Value* literal(const std::string& text);
    // Read-only memory of at least `size` zeros.
    llvm::Value* zeros(uint64_t size);
    // The largest size that zeros() was called with.
    uint64_t zeros_size() const { return zeros_size_; }

    // Creates a block in the current function.
    llvm::BasicBlock* block(const char* name);
    // Calls a routine of codegen/rtlib.
    llvm::Value* routine(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args);
    // The address `bytes` after `pointer`. Returns the pointer itself for 0.
    llvm::Value* offset(llvm::Value* pointer, uint64_t bytes);
    // Returns the same number, but hides its origin from the optimizer. The number that is compared with a bound is
    // then the one that is used afterwards, as the verifier requires.
    llvm::Value* opaque(llvm::Value* value);
    // Returns the address as a number, which the verifier of BPF does not take for a pointer. So a global function,
    // which is verified only once, can take it.
    llvm::Value* address_as_number(llvm::Value* pointer);
    // value & mask. The optimizer keeps the operation even where it has no effect, because the verifier may not know
    // that.
    llvm::Value* masked(llvm::Value* value, uint64_t mask);

    // A variable in the function's entry block; the optimizer can keep it in a register.
    llvm::AllocaInst* stack(uint64_t bytes);
    // Memory for a value that is written, passed by address, and used immediately. All uses of a tag in a function
    // share the memory, whatever their sizes, because BPF has only 512 bytes of stack. The memory is wiped after use if
    // the tag begins with "wiped".
    llvm::Value* scratch(const std::string& tag, uint64_t bytes);
    // Whether scratch() has created this variable.
    bool is_scratch(const llvm::AllocaInst& variable) const;
    // Call it when everything is lowered: merges the memory of each tag into one variable with one of the names above.
    void merge_scratch();

  private:
    PlanState& state_;
    const bool in_kernel_;
    std::unique_ptr<llvm::Module> module_;
    DebugLines lines_;
    uint64_t zeros_size_ = 0;
    std::map<std::string, llvm::GlobalVariable*> literals_;
    // By function and tag, then by size: pointers to the smaller variables are in use until merge_scratch().
    std::map<std::pair<llvm::Function*, std::string>, std::map<uint64_t, llvm::AllocaInst*>> scratch_;
};

// Tests the value of a saved register; returns an i1.
llvm::Value* holds(Emitter& e, const RegisterTest& test, llvm::Value* value);

} // namespace sonde
