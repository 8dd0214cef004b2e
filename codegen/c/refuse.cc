// Reports C that BPF cannot run; refuse.h describes the stages.
//
// A report needs a place in the script. Instructions have debug locations. After inlining, the location of an
// instruction from the prelude is a chain: the line in the prelude, and the line of each caller. place_of() takes the
// innermost line that is in the script. Global variables have only a line, so find_name() searches the name in that
// line.
//
// Some reports are lists of permitted things instead of forbidden ones, for example is_possible(). Each release of LLVM
// adds intrinsics, and a new one must not reach the back end without a message.
#include "codegen/c/refuse.h"

#include <bit>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/c/clang_positions.h"
#include "codegen/c/constants.h"
#include "codegen/emit/c_code.h"

namespace sonde {
namespace {

// The kernel keeps a program's constants in an array map with one element of limited size.
constexpr uint64_t largest_constant = 1 << 20;

constexpr const char* own_calls = "sonde_"; // calls in the prelude, which memory.cc replaces

// Whether this intrinsic may remain after optimization, because LLVM's BPF back end can compile it.
bool is_possible(llvm::Intrinsic::ID id) {
    switch (id) {
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::annotation:
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::bitreverse:
    case llvm::Intrinsic::bswap:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::dbg_assign:
    case llvm::Intrinsic::dbg_declare:
    case llvm::Intrinsic::dbg_label:
    case llvm::Intrinsic::dbg_value:
    case llvm::Intrinsic::debugtrap:
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::expect_with_probability:
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
    case llvm::Intrinsic::is_constant:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memcpy_inline:
    case llvm::Intrinsic::memmove:
    case llvm::Intrinsic::memset:
    case llvm::Intrinsic::memset_inline:
    case llvm::Intrinsic::objectsize:
    case llvm::Intrinsic::prefetch:
    case llvm::Intrinsic::ptr_annotation:
    case llvm::Intrinsic::ptrmask:
    case llvm::Intrinsic::sadd_with_overflow:
    case llvm::Intrinsic::sideeffect:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smul_with_overflow:
    case llvm::Intrinsic::ssub_with_overflow:
    case llvm::Intrinsic::stackrestore:
    case llvm::Intrinsic::stacksave:
    case llvm::Intrinsic::trap:
    case llvm::Intrinsic::uadd_with_overflow:
    case llvm::Intrinsic::ubsantrap:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umul_with_overflow:
    case llvm::Intrinsic::usub_with_overflow:
    case llvm::Intrinsic::var_annotation:
        return true;
    default:
        return false;
    }
}

// Debug information has only a variable's line, so search the name in that line.
Range find_name(Range line, const std::string& name, const Sources& sources) {
    const std::string_view text = sources.line_text(line.file, sources.line_column(line.file, line.begin).line);
    auto is_word = [&](size_t at) {
        return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
    };
    for (size_t at = text.find(name); !name.empty() && at != std::string_view::npos; at = text.find(name, at + 1))
        if (!(at && is_word(at - 1)) && !is_word(at + name.size())) {
            const auto begin = static_cast<uint32_t>(text.data() - sources.text(line.file).data() + at);
            return {line.file, begin, begin + static_cast<uint32_t>(name.size())};
        }
    return line;
}

Range place_of(const llvm::GlobalVariable& global, const Sources& sources, Range otherwise) {
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> described;
    global.getDebugInfo(described);
    if (!described.empty()) {
        const llvm::DIGlobalVariable& variable = *described[0]->getVariable();
        if (std::optional<Range> found = c_place(sources, variable.getFilename().str(), variable.getLine(), 0))
            return find_name(*found, variable.getName().str(), sources);
    }
    return otherwise;
}

void report_kept(const llvm::GlobalVariable& global, Diagnostics& diags, Range whole) {
    diags
        .report(DiagId::EmbeddedCode, place_of(global, diags.sources(), whole),
                fmt::format("`{}` would keep its value between calls, which C in BPF does not support",
                            written_name(global.getName().str())))
        .help("keep the value in a global of the script, and pass it as an argument");
}

// Whether the variable is written by its name. For writes through pointers, see refuse_variables().
bool is_written(const llvm::Constant& global) {
    return llvm::any_of(global.users(), [&](const llvm::User* user) {
        if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user))
            return store->getPointerOperand() == &global;
        if (const auto* part = llvm::dyn_cast<llvm::ConstantExpr>(user))
            return is_written(*part);
        return llvm::isa<llvm::GetElementPtrInst>(user) && llvm::any_of(user->users(), [&](const llvm::User* one) {
                   const auto* store = llvm::dyn_cast<llvm::StoreInst>(one);
                   return store && store->getPointerOperand() == user;
               });
    });
}

// Visits the whole module once, before anything is inlined. Each problem is reported where it occurs, except floating
// point numbers, which are reported only once: one such variable causes many instructions.
class Refusals {
  public:
    Refusals(llvm::Module& module, const std::set<std::string>& variables, uint64_t largest, Range whole,
             Diagnostics& diags)
        : module_(module), variables_(variables), largest_(largest), whole_(whole), diags_(diags) {}

    void run() {
        if (!module_.getModuleInlineAsm().empty())
            report(whole_, "C in BPF cannot contain assembly");
        for (const llvm::GlobalVariable& global : module_.globals())
            check(global);
        for (llvm::Function& function : module_) {
            check(function);
            for (llvm::BasicBlock& block : function)
                for (llvm::Instruction& instruction : block)
                    check(instruction);
        }
        for (llvm::Function& function : module_)
            find_recursion(function);
    }

  private:
    DiagBuilder report(Range range, const std::string& message) {
        return diags_.report(DiagId::EmbeddedCode, range, message);
    }
    Range place(const llvm::Instruction& at) const { return place_of(at.getDebugLoc(), diags_.sources(), whole_); }

    void check(const llvm::Function& function) {
        const llvm::DISubprogram* described = function.getSubprogram();
        Range range = whole_;
        if (described)
            range = c_place(diags_.sources(), described->getFilename().str(), described->getLine(), 0).value_or(whole_);
        if (function.hasSection())
            report_section(range, function.getName().str());
        if (function.hasFnAttribute(llvm::Attribute::Naked))
            report(range, "C in BPF cannot contain assembly");
    }
    void report_section(Range range, const std::string& name) {
        report(range, fmt::format("`{}` has a section, which C in a script does not support", name))
            .help("remove the attribute `section`");
    }

    void check(const llvm::GlobalVariable& global) {
        const std::string name = global.getName().str();
        if (name == "llvm.global_ctors" || name == "llvm.global_dtors") {
            report(whole_, "C in a script cannot have functions that run by themselves")
                .help("remove the attribute `constructor`, and call the function");
            return;
        }
        if (name.starts_with("llvm."))
            return;
        if (global.hasSection() && !global.use_empty())
            report_section(place_of(global, diags_.sources(), whole_), name);
        if (global.isConstant() && !global.isDeclaration()) {
            const uint64_t size = module_.getDataLayout().getTypeAllocSize(global.getValueType());
            if (size > largest_constant && !global.use_empty())
                report(place_of(global, diags_.sources(), whole_),
                       fmt::format("`{}` takes {} bytes, but constants of C in BPF can have at most {}", name, size,
                                   largest_constant));
            return;
        }
        if (global.use_empty() || (global.isDeclaration() && variables_.contains(global.getName().str())))
            return;
        const Range range = place_of(global, diags_.sources(), whole_);
        if (global.isDeclaration())
            report(range,
                   fmt::format("the address of the kernel's variable `{}` is not known in C", global.getName().str()))
                .help("pass the address to the function: `&@var(\"name\")` in the script");
        else if (is_written(global))
            report_kept(global, diags_, whole_);
    }

    void check(llvm::Instruction& at) {
        if (at.getType()->isFPOrFPVectorTy() ||
            llvm::any_of(at.operands(), [](const llvm::Use& use) { return use->getType()->isFPOrFPVectorTy(); })) {
            if (!said_float_)
                report(place(at), "BPF has no floating point numbers");
            said_float_ = true;
        }
        if (const bool divides = at.isIntDivRem();
            (divides || at.getOpcode() == llvm::Instruction::Mul) && at.getType()->getScalarSizeInBits() > 64)
            report(place(at),
                   fmt::format("BPF cannot {} numbers of more than 64 bits", divides ? "divide" : "multiply"));
        if (at.isAtomic())
            report(place(at), "C in BPF has no atomic operations").help("count in a global of the script");
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&at))
            check_size(*variable);
        auto* call = llvm::dyn_cast<llvm::CallBase>(&at);
        if (!call)
            return;
        if (call->isMustTailCall())
            report(place(at), "C in BPF has no tail calls").help("remove the attribute `musttail`");
        if (call->isInlineAsm()) {
            report(place(at), "C in BPF cannot contain assembly");
        } else if (const llvm::Function* callee = call->getCalledFunction()) {
            const std::string name = callee->getName().str();
            if (name.starts_with("llvm.preserve."))
                report(place(at), "`preserve_access_index` is not supported: the offsets already match the kernel")
                    .help("remove the attribute `preserve_access_index`");
            else if (at.getType()->isStructTy() && name.find("mul.with.overflow.i") != std::string::npos &&
                     call->getArgOperand(0)->getType()->getScalarSizeInBits() > 32)
                report(place(at), "BPF cannot detect the overflow of a multiplication of 64-bit numbers")
                    .help("divide the limit by one of the numbers first");
            else if (callee->isIntrinsic() && !is_possible(callee->getIntrinsicID()))
                report(place(at), "BPF does not support this function of the compiler");
            if (callee->isDeclaration() && !callee->isIntrinsic() && !name.starts_with(own_calls))
                report_unknown_function(diags_, place(at), name);
        }
    }

    void check_size(llvm::AllocaInst& variable) {
        std::optional<llvm::TypeSize> size = variable.getAllocationSize(module_.getDataLayout());
        if (size && size->getFixedValue() <= largest_)
            return;
        Range range = place(variable);
        std::string name = "this variable";
        for (const llvm::DbgVariableRecord* described : llvm::findDVRDeclares(&variable)) {
            range = place_of(described->getDebugLoc(), diags_.sources(), range);
            name = fmt::format("`{}`", described->getVariable()->getName().str());
        }
        if (!size)
            report(range, "BPF does not support variables of a size that is not constant");
        else
            report(range, fmt::format("{} takes {} bytes, but a variable of C in BPF can have at most {}", name,
                                      size->getFixedValue(), largest_))
                .help(fmt::format(
                    "read only the members that you need, or allow larger variables with `-D MAXSTRINGLEN={}`",
                    std::bit_ceil(size->getFixedValue() / 2)));
    }

    // Recursive functions are never inlined.
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
                            report(place(at), fmt::format("`{}` calls itself; C in BPF cannot be recursive",
                                                          written_name(callee->getName().str())))
                                .help("use a loop, or write the function in the script's language");
                        else
                            find_recursion(*callee);
                    }
        states_[&function] = Done;
    }

    llvm::Module& module_;
    const std::set<std::string>& variables_;
    const uint64_t largest_;
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

namespace {

bool takes_labels(const llvm::Function& function) {
    return llvm::any_of(function, [](const llvm::BasicBlock& block) { return block.hasAddressTaken(); });
}

// The place of the function's first instruction that is in the script.
Range first_place(const llvm::Function& function, const Sources& sources, Range otherwise) {
    for (const llvm::BasicBlock& block : function)
        for (const llvm::Instruction& at : block)
            if (const Range range = place_of(at.getDebugLoc(), sources, {}); range.valid())
                return range;
    return otherwise;
}

void report_computed_jump(Range range, Diagnostics& diags) {
    diags.report(DiagId::EmbeddedCode, range, "C in BPF cannot jump to a computed label").help("use `switch`");
}

} // namespace

void refuse_what_stays(llvm::Function& function, Range whole, Diagnostics& diags) {
    for (llvm::BasicBlock& block : function)
        for (llvm::Instruction& at : block) {
            auto* call = llvm::dyn_cast<llvm::CallBase>(&at);
            const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
            const Range range = place_of(at.getDebugLoc(), diags.sources(), whole);
            if (callee && !callee->isDeclaration() && takes_labels(*callee))
                report_computed_jump(first_place(*callee, diags.sources(), range), diags);
            else if (callee && !callee->isDeclaration())
                diags.report(DiagId::EmbeddedCode, range,
                             fmt::format("`{}` cannot be inlined into its callers, which C in BPF requires",
                                         written_name(callee->getName().str())));
            else if (llvm::isa<llvm::IndirectBrInst>(at))
                report_computed_jump(range, diags);
        }
}

void refuse_variables(llvm::Module& module, Range whole, Diagnostics& diags) {
    for (llvm::GlobalVariable& global : module.globals())
        if (!global.isConstant() && !global.isDeclaration() && !global.use_empty() &&
            !global.getName().starts_with("llvm."))
            report_kept(global, diags, whole);
}

void refuse_addresses(llvm::Module& module, Range whole, Diagnostics& diags) {
    for (llvm::GlobalVariable& global : module.globals()) {
        global.removeDeadConstantUsers();
        if (!global.isDeclaration() && !global.use_empty() && holds_address(*global.getInitializer()))
            diags
                .report(DiagId::EmbeddedCode, place_of(global, diags.sources(), whole),
                        fmt::format("`{}` contains addresses, which constants in BPF do not support",
                                    written_name(global.getName().str())))
                .help("a constant can contain addresses of constants and functions of the script if each is read "
                      "separately");
    }
}

void refuse_what_cannot_be(llvm::Module& module, const std::set<std::string>& variables, uint64_t largest, Range whole,
                           Diagnostics& diags) {
    Refusals(module, variables, largest, whole, diags).run();
}

} // namespace sonde
