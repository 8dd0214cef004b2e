#include "codegen/c/refuse.h"

#include <functional>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/c/place.h"

namespace sonde {
namespace {

// BPF has 512 bytes of stack for a handler and all that is inlined there.
constexpr uint64_t largest_local = 256;

constexpr const char* own_calls = "sonde_"; // that the prelude makes, and memory.cc replaces

Range place_of(const llvm::GlobalVariable& global, const Sources& sources, Range otherwise) {
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> described;
    global.getDebugInfo(described);
    if (!described.empty()) {
        const llvm::DIGlobalVariable& variable = *described[0]->getVariable();
        if (std::optional<Range> found = c_place(sources, variable.getFilename().str(), variable.getLine(), 0))
            return *found;
    }
    return otherwise;
}

bool holds_address(const llvm::Constant& value) {
    if (llvm::isa<llvm::GlobalValue>(value))
        return true;
    return llvm::any_of(value.operands(),
                        [](const llvm::Use& part) { return holds_address(*llvm::cast<llvm::Constant>(part.get())); });
}

class Refusals {
  public:
    Refusals(llvm::Module& module, const std::set<std::string>& variables, Range whole, Diagnostics& diags)
        : module_(module), variables_(variables), whole_(whole), diags_(diags) {}

    void run() {
        if (!module_.getModuleInlineAsm().empty())
            report(whole_, "C in BPF has no assembly");
        for (const llvm::GlobalVariable& global : module_.globals())
            check(global);
        for (llvm::Function& function : module_)
            for (llvm::BasicBlock& block : function)
                for (llvm::Instruction& instruction : block)
                    check(instruction);
        for (llvm::Function& function : module_)
            find_recursion(function);
    }

  private:
    DiagBuilder report(Range range, const std::string& message) {
        return diags_.report(DiagId::EmbeddedCode, range, message);
    }
    Range place(const llvm::Instruction& at) const { return place_of(at.getDebugLoc(), diags_.sources(), whole_); }

    void check(const llvm::GlobalVariable& global) {
        if (global.isConstant() && !global.isDeclaration())
            return;
        if (global.use_empty() || (global.isDeclaration() && variables_.contains(global.getName().str())))
            return;
        const Range range = place_of(global, diags_.sources(), whole_);
        if (global.isDeclaration())
            report(range, fmt::format("the kernel's variable `{}` has no address here", global.getName().str()))
                .help("give the function its address: `&@var(\"name\")` in the script");
        else
            report(range,
                   fmt::format("`{}` would be kept between calls, which C in BPF cannot", global.getName().str()))
                .help("keep it in a global of the script, and pass it as an argument");
    }

    void check(llvm::Instruction& at) {
        if (at.getType()->isFPOrFPVectorTy() ||
            llvm::any_of(at.operands(), [](const llvm::Use& use) { return use->getType()->isFPOrFPVectorTy(); })) {
            if (!said_float_)
                report(place(at), "BPF has no floating point numbers");
            said_float_ = true;
        }
        if (at.isAtomic())
            report(place(at), "C in BPF has no atomic operations").help("count in a global of the script");
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&at))
            check_size(*variable);
        auto* call = llvm::dyn_cast<llvm::CallBase>(&at);
        if (!call)
            return;
        if (call->isInlineAsm()) {
            report(place(at), "C in BPF has no assembly");
        } else if (const llvm::Function* callee = call->getCalledFunction()) {
            const std::string name = callee->getName().str();
            if (callee->isDeclaration() && !callee->isIntrinsic() && !name.starts_with(own_calls))
                report_unknown_function(diags_, place(at), name);
        }
    }

    void check_size(llvm::AllocaInst& variable) {
        std::optional<llvm::TypeSize> size = variable.getAllocationSize(module_.getDataLayout());
        if (size && size->getFixedValue() <= largest_local)
            return;
        Range range = place(variable);
        std::string name = "this variable";
        for (const llvm::DbgVariableRecord* described : llvm::findDVRDeclares(&variable)) {
            range = place_of(described->getDebugLoc(), diags_.sources(), range);
            name = fmt::format("`{}`", described->getVariable()->getName().str());
        }
        if (!size)
            report(range, "BPF has no variables whose size is known only when they are made");
        else
            report(range, fmt::format("{} takes {} bytes, and BPF has {} for all variables of a function", name,
                                      size->getFixedValue(), largest_local))
                .help("`STAP_RETVALUE` of a string has room for MAXSTRINGLEN bytes");
    }

    // What calls itself is never inlined.
    void find_recursion(llvm::Function& function) {
        enum { Open = 1, Done };
        int& state = states_[&function];
        if (state)
            return;
        state = Open;
        for (llvm::BasicBlock& block : function)
            for (llvm::Instruction& at : block)
                if (auto* call = llvm::dyn_cast<llvm::CallBase>(&at))
                    if (llvm::Function* callee = call->getCalledFunction(); callee && !callee->isDeclaration()) {
                        if (states_[callee] == Open)
                            report(place(at),
                                   fmt::format("`{}` calls itself, which C in BPF cannot", callee->getName().str()))
                                .help("make a loop of it, or write it in the script's language");
                        else
                            find_recursion(*callee);
                    }
        states_[&function] = Done;
    }

    llvm::Module& module_;
    const std::set<std::string>& variables_;
    const Range whole_;
    Diagnostics& diags_;
    std::map<const llvm::Function*, int> states_;
    bool said_float_ = false;
};

} // namespace

Range place_of(const llvm::DebugLoc& at, const Sources& sources, Range otherwise) {
    for (const llvm::DILocation* one = at.get(); one; one = one->getInlinedAt())
        if (std::optional<Range> found = c_place(sources, one->getFilename().str(), one->getLine(), one->getColumn()))
            return *found;
    return otherwise;
}

void refuse_addresses(llvm::Module& module, Range whole, Diagnostics& diags) {
    for (llvm::GlobalVariable& global : module.globals()) {
        global.removeDeadConstantUsers();
        if (!global.isDeclaration() && !global.use_empty() && holds_address(*global.getInitializer()))
            diags
                .report(DiagId::EmbeddedCode, place_of(global, diags.sources(), whole),
                        fmt::format("`{}` holds addresses, which constants in BPF cannot", global.getName().str()))
                .help("choose by `switch`, or make it an array of arrays: `static const char names[][8] = ...`");
    }
}

void refuse_what_cannot_be(llvm::Module& module, const std::set<std::string>& variables, Range whole,
                           Diagnostics& diags) {
    Refusals(module, variables, whole, diags).run();
}

} // namespace sonde
