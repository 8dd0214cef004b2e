// LLVM's builder of instructions, with what the code of both places is made of: numbers, constants, memory on the
// stack, calls of routines.
//
// Values: a long is an i64; a string is a `ptr` to NUL-terminated memory. Memory that handlers build strings in are
// slots (codegen/rtlib/rt.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/debug_lines.h"
#include "codegen/plan_state.h"

namespace sonde {

// What scratch memory is called in the module, where passes look for it; wiped: all zeros but while it is used.
constexpr const char* scratch_name = "scratch";
constexpr const char* wiped_name = "scratch.wiped";

class Emitter : public llvm::IRBuilder<> {
  public:
    Emitter(llvm::LLVMContext& context, PlanState& state, const char* module_name, bool in_kernel);
    ~Emitter();

    llvm::Module& module() { return *module_; }
    PlanState& state() { return state_; }
    // Whether this is BPF code.
    bool in_kernel() const { return in_kernel_; }
    // Which lines code comes from.
    DebugLines& lines() { return lines_; }

    llvm::Type* i64() { return getInt64Ty(); }
    llvm::Type* ptr() { return getPtrTy(); }
    uint64_t slot_size() const { return 2ull * state_.options.max_string + 64; }

    llvm::Value* number(int64_t value) { return getInt64(static_cast<uint64_t>(value)); }
    llvm::Value* null() { return llvm::ConstantPointerNull::get(getPtrTy()); }
    // A NUL-terminated constant.
    llvm::Value* literal(const std::string& text);
    // Read-only zeros, at least `size` of them.
    llvm::Value* zeros(uint64_t size);
    // How many of them are asked for.
    uint64_t zeros_size() const { return zeros_size_; }

    // A block of the function that is being built.
    llvm::BasicBlock* block(const char* name);
    // A routine of codegen/rtlib.
    llvm::Value* routine(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args);
    llvm::Value* offset(llvm::Value* pointer, uint64_t bytes);
    // The number, of whose origin the optimiser knows nothing: what is compared is what is computed with.
    llvm::Value* opaque(llvm::Value* value);
    // value & mask, also where the optimiser knows that this changes nothing: the verifier may not know it.
    llvm::Value* masked(llvm::Value* value, uint64_t mask);

    // An alloca at the function's entry: for variables that live in registers after optimisation.
    llvm::AllocaInst* stack(uint64_t bytes);
    // Memory whose address is passed on, written and used at once: every use of a tag in a function shares it, whatever
    // its size (BPF has 512 bytes of stack). It is wiped if the tag begins with "wiped".
    llvm::Value* scratch(const std::string& tag, uint64_t bytes);
    bool is_scratch(const llvm::AllocaInst& variable) const;
    // Everything is lowered: each tag's memory becomes one, under the names above.
    void merge_scratch();

  private:
    PlanState& state_;
    const bool in_kernel_;
    std::unique_ptr<llvm::Module> module_;
    DebugLines lines_;
    uint64_t zeros_size_ = 0;
    std::map<std::string, llvm::GlobalVariable*> literals_;
    // By size: while functions are lowered, pointers to what is there already are in use.
    std::map<std::pair<llvm::Function*, std::string>, std::map<uint64_t, llvm::AllocaInst*>> scratch_;
};

} // namespace sonde
