// From HIR to a plan.
//
// For each of the two targets, if it has any handlers:
//
// 1. Lower all handlers to LLVM IR (codegen/lower/).
// 2. Link the script's C, if it has any (codegen/c/).
// 3. On kernels without may_goto: replace loops by callbacks (codegen/bpf/loop_callbacks.h).
// 4. Link the routines (codegen/rtlib), and define the tables that they use.
// 5. Adapt routines to the script (codegen/routines.h), inline, optimize.
// 6. Emit an object file, which the plan contains as bytes.
//
// The order matters. Tables of texts need all sites and rows, so they come after the lowering. Callbacks come before
// the routines, which have no such loops. Waiting and non-waiting reads are separated after inlining, since a read's
// argument becomes a constant only there.
#include "codegen/codegen.h"

#include <algorithm>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/backend/backend.h"
#include "codegen/bpf/jumps.h"
#include "codegen/bpf/loop_callbacks.h"
#include "codegen/c/link.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/out_of_memory.h"
#include "codegen/emit/shared_stacks.h"
#include "codegen/emit/target.h"
#include "codegen/emit/texts.h"
#include "codegen/layout.h"
#include "codegen/lower/lower.h"
#include "codegen/routines.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// Keeps functions that are compiled once and called often as functions of their own; inlined, they were half of the
// code. Such a function can have only five arguments, which BPF passes in registers. It must not have the argument that
// says whether a read may wait, because that must be a constant at the read (separate_waits()).
void keep_shared_functions(Backend& backend, llvm::Module& module) {
    constexpr size_t most_arguments = 5, often = 4, many_instructions = 10;
    if (llvm::none_of(module, [](const llvm::Function& function) {
            return function.hasWeakAnyLinkage() && function.getName().starts_with(once_prefix);
        }))
        return;
    backend.run(module, "ipsccp,deadargelim");
    for (llvm::Function& function : module) {
        const bool knows_all = llvm::none_of(
            function.args(), [](const llvm::Argument& argument) { return argument.getName() == can_wait_name; });
        if (function.hasFnAttribute(llvm::Attribute::AlwaysInline) && function.hasLocalLinkage() && knows_all &&
            function.getName().starts_with("fn_") && function.getName().find('.') == llvm::StringRef::npos &&
            function.arg_size() <= most_arguments && function.hasNUsesOrMore(often) &&
            function.getInstructionCount() >= many_instructions) {
            function.removeFnAttr(llvm::Attribute::AlwaysInline);
            function.addFnAttr(llvm::Attribute::NoInline);
        }
    }
}

// Lowers all handlers of one target and returns the bytes of the object.
Result<std::vector<uint8_t>> compile(bool bpf, PlanState& state, CodegenDumps* dumps) {
    Backend backend(bpf ? nullptr : &state.architecture);
    llvm::LLVMContext context;
    Emitter emitter(context, state, bpf ? "bpf" : "host", bpf);
    std::unique_ptr<Target> target = bpf ? make_bpf_target(emitter) : make_host_target(emitter);
    llvm::Module& module = emitter.module();
    if (Result<void> begun = backend.begin(module); !begun)
        return std::move(begun).error();

    if (Result<void> lowered = lower_handlers(emitter, *target); !lowered)
        return std::move(lowered).error();
    if (std::string cannot = target->programs().finish(); !cannot.empty())
        return Error(cannot);
    if (bpf && state.facts.c_code) {
        constexpr unsigned many_reads = 200; // smaller functions do not need this
        Result<unsigned> linked = link_c_code(emitter, *state.facts.c_code);
        if (!linked)
            return std::move(linked).error();
        if (*linked > many_reads)
            backend.keep_order();
    }
    if (bpf && module.getFunction(loop_mark)) {
        // The values that a loop passes to its iterations take stack, of which BPF has 512 bytes. These passes remove
        // arguments that are the same at every call, and variables that need no memory.
        backend.run(module, "ipsccp,deadargelim,function(sroa)");
        make_loop_callbacks(module);
    }
    // No handler is added after this point, so routines and tables can be linked.
    if (Result<void> linked = link_routines(emitter); !linked)
        return std::move(linked).error();
    define_constants(emitter);
    fit_routines(emitter);
    std::string broken;
    llvm::raw_string_ostream broken_stream(broken);
    if (llvm::verifyModule(module, &broken_stream))
        return Error("internal: bad IR: " + broken_stream.str());

    if (bpf) {
        keep_shared_functions(backend, module);
        backend.run(module, "always-inline");
        separate_waits(module);
    }
    backend.optimise(module);
    if (bpf && state.translate.arrangement > 0)
        rearrange(module, state.translate.arrangement);
    backend.suit_size(module, state.facts.may_goto);
    if (dumps && dumps->want_ir) {
        llvm::raw_string_ostream stream(dumps->ir);
        module.print(stream, nullptr);
    }
    Result<std::vector<uint8_t>> object = backend.emit_object(module, state.plan);
    if (object && dumps && dumps->want_bpf && bpf)
        dumps->bpf = backend.emit_assembly(module);
    return object;
}

} // namespace

Result<plan::Plan> generate(const hir::Program& program, const Sources& sources, const Translate& translate,
                            const CodegenFacts& facts, const TaskArrays& in_tasks, CodegenDumps* dumps,
                            const plan::SharedGlobals* shared) {
    const EndsWithoutMemory ends_without_memory;
    const auto any_in = [&](bool kernel) {
        return std::ranges::any_of(program.handlers,
                                   [&](const hir::Handler* handler) { return handler->in_kernel == kernel; });
    };
    plan::Plan plan;
    plan.machine = facts.architecture->machine();
    plan.translate = translate;
    plan.origin = facts.origin;
    plan.kernel = facts.kernel;
    plan.script = facts.script;
    plan.module = facts.module;
    plan.counters = program.counters;
    plan.pythons = program.pythons;
    plan.files = program.files;
    plan.max_string = translate.string_size();
    plan.groups = facts.groups;
    plan.filter_target = translate.filters_target && any_in(true);
    plan.filter_groups = !facts.groups.empty() && any_in(true);
    lay_out_plan(program, sources, in_tasks, shared, plan);
    PlanState state{program, sources, translate, facts, plan};
    state.holders_of_shared = find_holders_of_shared(program, plan);
    for (bool bpf : {false, true}) {
        if (!any_in(bpf))
            continue;
        Result<std::vector<uint8_t>> object = compile(bpf, state, dumps);
        if (!object)
            return std::move(object).error();
        (bpf ? plan.bpf_object : plan.host_object) = *std::move(object);
    }
    return plan;
}

} // namespace sonde
