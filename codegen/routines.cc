// The routines are compiled from C to LLVM bitcode when sonde is built (codegen/rtlib), for BPF and for host code of
// each architecture. They are linked into the module of each script, and are optimized together with its handlers.
//
// In BPF, three things about the routines depend on the script. That is why they are changed after they were linked:
// - Walks over maps: kernels before 6.10 accept only one map for each call of a helper that walks over maps. A routine
//   that is called for two arrays becomes two routines (separate_walks()).
// - The size of slots: it is an option, but the verifier learns it from the types of the parameters (describe_slots()).
// - Waiting for memory: a program at a kprobe must not sleep, but one at a uprobe may (separate_waits()).
#include "codegen/routines.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "base/check.h"
#include "codegen/emit/emitter.h"
#include "codegen/rtlib/rtlib.h"
#include "runtime/plan/visited_threads.h"
#include "runtime/plan/watched_programs.h"

namespace sonde {
namespace {

// `only_needed`: link only routines that are called.
Result<void> link_bitcode(llvm::Module& module, std::span<const unsigned char> bitcode, bool only_needed) {
    llvm::StringRef bytes(reinterpret_cast<const char*>(bitcode.data()), bitcode.size());
    auto parsed = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "rtlib"), module.getContext());
    if (!parsed)
        return Error("internal: the routines' bitcode cannot be read: " + llvm::toString(parsed.takeError()));
    (*parsed)->setTargetTriple(module.getTargetTriple());
    (*parsed)->setDataLayout(module.getDataLayout());
    if (llvm::Linker::linkModules(module, std::move(*parsed),
                                  only_needed ? llvm::Linker::LinkOnlyNeeded : llvm::Linker::None))
        return Error("internal: the routines cannot be linked");
    return {};
}

const Routines& routines_for(const Architecture& architecture) {
    const auto found = std::ranges::find(all_routines(), architecture.names()[0], &Routines::architecture);
    CHECK(found != all_routines().end());
    return *found;
}

bool wants_routines(const llvm::Module& module) {
    return std::any_of(module.begin(), module.end(), [](const llvm::Function& f) {
        return f.isDeclaration() && f.getName().starts_with("sonde_rt_");
    });
}

llvm::Function* copy_routine(llvm::Function& routine, const std::string& name) {
    llvm::ValueToValueMapTy values;
    llvm::Function* copy = llvm::CloneFunction(&routine, values);
    copy->setName(name);
    // libbpf makes functions static by their names in the debug information, so the copy's name must change there, too.
    constexpr unsigned name_operand = 2;
    if (llvm::DISubprogram* described = copy->getSubprogram(); described != routine.getSubprogram())
        described->replaceOperandWith(name_operand, llvm::MDString::get(routine.getContext(), copy->getName()));
    return copy;
}

// Makes a copy of each routine with a map walk for each map. The verifier remembers the map of a call that walks over
// it, and kernels before 6.10 reject a second map for the same call.
void separate_walks(llvm::Module& module) {
    for (const char* name : {"sonde_rt_scan_begin", "sonde_rt_scan_visit", "sonde_rt_scan_contains",
                             "sonde_rt_scan_delete", "sonde_rt_insert_wrapped", "sonde_rt_copy_calls"}) {
        llvm::Function* routine = module.getFunction(name);
        if (!routine || routine->isDeclaration())
            continue;
        std::map<llvm::Value*, llvm::Function*> copies;
        std::vector<llvm::User*> users(routine->user_begin(), routine->user_end());
        for (llvm::User* user : users) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(user);
            if (!call || call->getCalledFunction() != routine)
                continue;
            auto [copy, fresh] = copies.try_emplace(call->getArgOperand(0), routine);
            if (fresh && copies.size() > 1)
                copy->second = copy_routine(*routine, fmt::format("{}_{}", name, copies.size()));
            call->setCalledFunction(copy->second);
        }
    }
}

// Sets the size of slots in this script for all routines' parameters that are slots. The verifier uses these types to
// check global functions (rt.h, ONCE).
void describe_slots(llvm::Module& module, uint64_t bytes) {
    constexpr const char* slot = "sonde_slot";
    auto pointed = [](llvm::Metadata* type) {
        auto* pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type);
        return pointer && pointer->getTag() == llvm::dwarf::DW_TAG_pointer_type
                   ? llvm::dyn_cast_or_null<llvm::DICompositeType>(pointer->getBaseType())
                   : nullptr;
    };
    llvm::DIBuilder types(module, false);
    llvm::DIType* sized = nullptr;
    for (llvm::Function& function : module) {
        llvm::DISubprogram* described = function.getSubprogram();
        if (!described || !described->getType())
            continue;
        llvm::SmallVector<llvm::Metadata*, 8> signature;
        bool has_slots = false;
        for (llvm::Metadata* type : described->getType()->getTypeArray()->operands()) {
            if (auto* to = pointed(type); to && to->getName() == slot) {
                if (!sized)
                    sized = types.createPointerType(
                        types.createStructType(to->getScope(), slot, to->getFile(), to->getLine(), 8 * bytes, 8,
                                               llvm::DINode::FlagZero, nullptr, to->getElements()),
                        64);
                type = sized;
                has_slots = true;
            }
            signature.push_back(type);
        }
        if (has_slots)
            described->replaceType(types.createSubroutineType(types.getOrCreateTypeArray(signature)));
    }
}

} // namespace

Result<void> link_routines(Emitter& e) {
    llvm::Module& module = e.module();
    const plan::Plan& plan = e.state().plan;
    const Routines& routines = routines_for(e.state().architecture);
    if (wants_routines(module))
        if (Result<void> linked = link_bitcode(module, e.in_kernel() ? routines.rtlib_bpf : routines.rtlib_host, true);
            !linked)
            return linked;
    if (!e.in_kernel())
        return {};
    const std::pair<bool, std::span<const unsigned char>> programs[] = {
        {e.state().plan.filter_target, routines.follow_bpf},
        {plan.names_groups || !e.state().plan.groups.empty(), routines.groups_bpf},
        {plan.tables & plan::looked_up, routines.ask_bpf},
        {visits_threads(plan), routines.thread_bpf},
        {plan.has_subjects(), routines.tasks_bpf},
        {!plan.counters.empty(), routines.counters_bpf},
        {watches_programs(plan), routines.watch_bpf},
        {plan.follows_moved_text(), routines.moved_bpf},
    };
    for (const auto& [wanted, bitcode] : programs)
        if (wanted)
            if (Result<void> linked = link_bitcode(module, bitcode, false); !linked)
                return linked;
    return {};
}

void separate_waits(llvm::Module& module) {
    for (const char* name : {"sonde_rt_read_user", "sonde_rt_read_user_block", "sonde_rt_read_user_string",
                             "sonde_rt_read_user_wide", "sonde_rt_python_value"}) {
        llvm::Function* routine = module.getFunction(name);
        if (!routine || routine->isDeclaration())
            continue;
        llvm::Function* copy = nullptr;
        bool always_waits = true; // all other calls
        const std::vector<llvm::User*> users(routine->user_begin(), routine->user_end());
        for (llvm::User* user : users) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(user);
            if (!call || call->getCalledFunction() != routine)
                continue;
            auto* wait = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(call->arg_size() - 1));
            always_waits = always_waits && wait;
            if (!wait || !wait->isZero())
                continue;
            if (!copy) {
                copy = copy_routine(*routine, fmt::format("{}_now", name));
                llvm::Argument* argument = copy->getArg(static_cast<unsigned>(copy->arg_size() - 1));
                argument->replaceAllUsesWith(llvm::ConstantInt::get(argument->getType(), 0));
            }
            call->setCalledFunction(copy);
        }
        if (always_waits) {
            llvm::Argument* argument = routine->getArg(static_cast<unsigned>(routine->arg_size() - 1));
            argument->replaceAllUsesWith(llvm::ConstantInt::get(argument->getType(), 1));
        }
    }
}

void fit_routines(Emitter& e) {
    if (e.in_kernel()) {
        separate_walks(e.module());
        describe_slots(e.module(), e.slot_size());
        return;
    }
    for (llvm::Function& function : e.module())
        if (!function.isDeclaration() && function.getName().starts_with("sonde_rt_"))
            function.setLinkage(llvm::GlobalValue::InternalLinkage);
}

} // namespace sonde
