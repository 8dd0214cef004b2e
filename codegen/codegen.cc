// From HIR to a Plan: lay out the globals, lower every handler, link the routines, optimise, emit objects.
#include "codegen/codegen.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Internalize.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "codegen/bpf/loop_callbacks.h"
#include "codegen/bpf/sink_addresses.h"
#include "codegen/bpf/wiped_scratch.h"
#include "codegen/lower/lower.h"
#include "codegen/rtlib/rtlib.h"
#include "codegen/rtlib/scan.h"
#include "codegen/texts.h"
#include "runtime/attach/watched_programs.h"
#include "runtime/wrap.h"

namespace sonde {
namespace {

uint64_t round_up(uint64_t value) { return (value + 7) & ~7ull; }

plan::Value plan_value(hir::ValueType type) {
    return type == hir::ValueType::String  ? plan::Value::String
           : type == hir::ValueType::Stats ? plan::Value::Stats
                                           : plan::Value::Long;
}

// The kernel hashes words of 4 bytes, so a number takes no more of them than it needs. Narrow ones lie behind the
// others, which are words of 8 to everything else.
void lay_out_key(const hir::Global& global, const CodegenOptions& options, plan::Global& out) {
    for (size_t i = 0; i < global.keys.size(); i++) {
        const hir::KeyBound& bound = global.key_bounds[i];
        plan::KeyPart part{plan_value(global.keys[i])};
        if (part.type == plan::Value::String) {
            uint64_t size = round_up(bound.length + 1);
            part.size =
                size <= SONDE_SHORT_KEY && size < options.max_string ? static_cast<uint32_t>(size) : options.max_string;
        } else {
            part.is_text = bound.is_text;
            part.is_signed = bound.low < 0;
            bool is_narrow =
                part.is_signed ? bound.low >= INT32_MIN && bound.high <= INT32_MAX : bound.high <= UINT32_MAX;
            part.size = is_narrow ? 4 : 8;
        }
        out.keys.push_back(part);
    }
    for (bool narrow : {false, true})
        for (plan::KeyPart& part : out.keys)
            if ((part.size == 4) == narrow) {
                part.offset = out.key_size;
                out.key_size += part.size;
            }
}

constexpr uint64_t lock_bytes = 64;

void lay_out_globals(const hir::Program& program, const CodegenOptions& options, plan::Plan& plan) {
    // Each lock in a cache line of its own.
    uint64_t next = sizeof(plan::SessionWords) + lock_bytes * program.locks;
    for (const hir::Global* global : program.globals) {
        plan::Global out;
        out.name = global->name;
        out.type = plan_value(global->type);
        out.stats = global->stats;
        out.initial_long = global->initial_long;
        out.initial_string = global->initial_string;
        out.address_of = global->address_of;
        out.auto_print = global->auto_print;
        out.is_settable = global->is_settable && !global->is_array();
        out.print_as_pointer = global->print_as_pointer;
        out.capacity = global->capacity;
        out.wrap = global->wrap;
        uint64_t block = sizeof(plan::StatsBlock) + 8ull * global->stats.buckets();
        if (global->is_array()) {
            lay_out_key(*global, options, out);
            uint64_t payload = out.type == plan::Value::Long     ? 8
                               : out.type == plan::Value::String ? options.max_string
                                                                 : block;
            out.value_size = static_cast<uint32_t>(8 + payload);
            out.in_kernel = global->used_in_kernel;
            if (out.in_kernel)
                out.map = fmt::format("g{}", global->index);
            if (out.in_kernel && out.wrap) {
                out.offset = next;
                next += sizeof(sonde_wrap);
            }
        } else {
            out.offset = next;
            // A string's slot has slack behind it (codegen/rtlib/rt.h).
            next += round_up(out.type == plan::Value::Long     ? 8
                             : out.type == plan::Value::String ? 2ull * options.max_string
                                                               : block);
        }
        plan.globals.push_back(std::move(out));
    }
    plan.data_size = next;
    plan.texts = program.texts;
}

void add_probes(const hir::Program& program, const Sources& sources, plan::Plan& plan) {
    for (const hir::Handler* handler : program.handlers) {
        plan::Probe probe;
        probe.name = handler->name;
        probe.symbol = handler->name;
        probe.place = handler->range.valid() ? sources.place(handler->range) : "";
        probe.kind = handler->kind;
        probe.at_instruction = handler->at_return;
        probe.reads_registers = handler->reads_registers;
        probe.in_kernel = handler->in_kernel;
        probe.order = handler->order;
        if (handler->lock >= 0)
            probe.lock = sizeof(plan::SessionWords) + lock_bytes * static_cast<uint64_t>(handler->lock);
        probe.locked_for = handler->locked_for;
        probe.timer = handler->timer;
        for (plan::Point point : handler->points) {
            point.row = static_cast<uint32_t>(plan.rows.size());
            plan.rows.push_back(point);
            probe.points.push_back(std::move(point));
        }
        plan.probes.push_back(std::move(probe));
    }
}

// Behind all else that lies there.
void lay_out_marks(plan::Plan& plan) {
    if (std::none_of(plan.probes.begin(), plan.probes.end(), [](const plan::Probe& probe) { return probe.in_kernel; }))
        return;
    plan.marks = plan.data_size;
    plan.data_size += plan::mark_kinds * plan.marks_size();
}

// Links the routines that the module calls. Only what is needed stays.
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

bool wants_routines(const llvm::Module& module) {
    return std::any_of(module.begin(), module.end(), [](const llvm::Function& f) {
        return f.isDeclaration() && f.getName().starts_with("sonde_rt_");
    });
}

// A routine that walks over a map gets a copy for each map: the verifier remembers which one the walk's call was for,
// and kernels before 6.10 refuse it for a second one.
void separate_walks(llvm::Module& module) {
    for (const char* name : {"sonde_rt_scan_begin", "sonde_rt_scan_visit", "sonde_rt_scan_contains",
                             "sonde_rt_scan_delete", "sonde_rt_insert_wrapped"}) {
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
            if (fresh && copies.size() > 1) {
                llvm::ValueToValueMapTy values;
                copy->second = llvm::CloneFunction(routine, values);
                copy->second->setName(fmt::format("{}_{}", name, copies.size()));
                // libbpf finds what it makes static by the name in the debug information.
                constexpr unsigned name_operand = 2;
                if (llvm::DISubprogram* described = copy->second->getSubprogram();
                    described != routine->getSubprogram())
                    described->replaceOperandWith(name_operand,
                                                  llvm::MDString::get(module.getContext(), copy->second->getName()));
            }
            call->setCalledFunction(copy->second);
        }
    }
}

// Gives the routines' parameters that are slots the size that slots have in this script: the verifier goes by the types
// of global functions (rt.h, ONCE).
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

// cpu: BPF's version of its instructions, or the processor.
std::unique_ptr<llvm::TargetMachine> make_machine(bool bpf, const char* cpu, std::string& error) {
    if (bpf) {
        LLVMInitializeBPFTargetInfo();
        LLVMInitializeBPFTarget();
        LLVMInitializeBPFTargetMC();
        LLVMInitializeBPFAsmPrinter();
        LLVMInitializeBPFAsmParser(); // inline assembly
    } else {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
    }
    std::string triple = bpf ? "bpfel" : "x86_64-pc-linux-gnu";
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!target)
        return nullptr;
    llvm::TargetOptions options;
    // Large: the runtime may load the object anywhere; addresses of what it calls are 64 bits wide.
    return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
        triple, cpu, "", options, llvm::Reloc::Static, bpf ? llvm::CodeModel::Small : llvm::CodeModel::Large,
        bpf ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::Less));
}

// `passes` as LLVM's `opt` takes them.
void run_passes(llvm::Module& module, llvm::TargetMachine& machine, llvm::StringRef passes) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager sccs;
    llvm::ModuleAnalysisManager modules;
    llvm::PipelineTuningOptions tuning;
    tuning.LoopUnrolling = false;
    tuning.LoopVectorization = false;
    tuning.SLPVectorization = false;
    llvm::PassBuilder builder(&machine, tuning);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);
    llvm::ModulePassManager pipeline;
    llvm::cantFail(builder.parsePassPipeline(pipeline, passes));
    pipeline.run(module, modules);
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, bool bpf) {
    run_passes(module, machine,
               bpf ? "default<O2>"
                   : "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg),globaldce");
    if (bpf) {
        clear_wiped_scratch(module);
        sink_addresses(module);
    }
}

class FailureHandler final : public llvm::DiagnosticHandler {
  public:
    explicit FailureHandler(std::string& out) : out_(out) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
        if (info.getSeverity() == llvm::DS_Error && out_.empty()) {
            llvm::raw_string_ostream stream(out_);
            llvm::DiagnosticPrinterRawOStream printer(stream);
            info.print(printer);
        }
        return true;
    }

  private:
    std::string& out_;
};

// Runs what LLVM would end the process in, and gives what it said then; "" if all went well.
std::string without_dying(llvm::function_ref<void()> run) {
    std::string fatal;
    llvm::install_fatal_error_handler(
        [](void* out, const char* reason, bool) {
            *static_cast<std::string*>(out) = reason;
            llvm::CrashRecoveryContext::GetCurrent()->HandleExit(1);
        },
        &fatal);
    llvm::CrashRecoveryContext::Enable();
    llvm::CrashRecoveryContext context;
    bool done = context.RunSafely(run);
    llvm::CrashRecoveryContext::Disable();
    llvm::remove_fatal_error_handler();
    return done ? "" : fatal.empty() ? "it crashed" : fatal;
}

Error explain_fatal(const std::string& fatal, const llvm::Module& module, const plan::Plan& plan) {
    if (fatal.find("Branch target out of insn range") == std::string::npos)
        return Error("internal: LLVM: " + fatal);
    const plan::Probe* largest = nullptr;
    unsigned most = 0;
    for (const plan::Probe& probe : plan.probes)
        if (const llvm::Function* function = module.getFunction(probe.symbol);
            function && function->getInstructionCount() > most) {
            largest = &probe;
            most = function->getInstructionCount();
        }
    return Error(fmt::format("the handler at {} is too large: BPF cannot jump over more than 32,767 instructions, and "
                             "functions become part of the handlers that call them. Make several probes of it",
                             largest ? largest->place : plan.script));
}

// may_goto has no form with 32 bits, and LLVM leaves assembly alone: it jumps to a long jump behind it.
void lengthen_may_goto(llvm::Module& module) {
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            if (auto* branch = llvm::dyn_cast<llvm::CallBrInst>(block.getTerminator()))
                branch->setCalledOperand(llvm::InlineAsm::get(branch->getFunctionType(),
                                                              "may_goto +1\n\tgoto +1\n\tgotol ${0:l}", "!i", true));
}

// Puts an instruction without an effect into some blocks, so that jumps have other distances.
void rearrange(llvm::Module& module, uint32_t arrangement) {
    const uint32_t every = 16 * arrangement;
    uint32_t number = 0;
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false);
    llvm::InlineAsm* filler = llvm::InlineAsm::get(type, "r0 = 0", "~{r0}", true);
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            if (++number % every == 0)
                llvm::IRBuilder<>(block.getTerminator()).CreateCall(filler);
}

// Lowers what runs in one place; gives the object's bytes.
Result<std::vector<uint8_t>> compile(bool bpf, PlanState& state, CodegenDumps* dumps) {
    std::string failure;
    std::unique_ptr<llvm::TargetMachine> machine = make_machine(bpf, bpf ? "v3" : "x86-64", failure);
    if (!machine)
        return Error("internal: " + failure);
    llvm::LLVMContext context;
    Emitter emitter(context, state, bpf ? "bpf" : "host", bpf);
    std::unique_ptr<Target> target = bpf ? make_bpf_target(emitter) : make_host_target(emitter);
    llvm::Module& module = emitter.module();
    module.setTargetTriple(machine->getTargetTriple().str());
    module.setDataLayout(machine->createDataLayout());
    context.setDiagnosticHandler(std::make_unique<FailureHandler>(failure));

    if (Result<void> lowered = lower_handlers(emitter, *target); !lowered)
        return std::move(lowered).error();
    if (std::string cannot = target->programs().finish(); !cannot.empty())
        return Error(cannot);
    if (bpf && !state.options.may_goto) {
        // What a loop hands over takes stack, of which there are 512 bytes: arguments that are the same at every call
        // and variables that need no memory are not handed over.
        run_passes(module, *machine, "ipsccp,deadargelim,function(sroa)");
        make_loop_callbacks(module);
    }
    // Beyond this point no handler is added: the routines and tables can be linked.
    if (wants_routines(module))
        if (Result<void> linked = link_bitcode(module, bpf ? rtlib_bpf_bitcode() : rtlib_host_bitcode(), true); !linked)
            return std::move(linked).error();
    if (bpf && state.options.filter_target)
        if (Result<void> linked = link_bitcode(module, follow_bpf_bitcode(), false); !linked)
            return std::move(linked).error();
    if (bpf && (state.plan.tables & plan::looked_up))
        if (Result<void> linked = link_bitcode(module, ask_bpf_bitcode(), false); !linked)
            return std::move(linked).error();
    if (bpf && state.plan.has_subjects())
        if (Result<void> linked = link_bitcode(module, tasks_bpf_bitcode(), false); !linked)
            return std::move(linked).error();
    if (bpf && !state.plan.counters.empty())
        if (Result<void> linked = link_bitcode(module, counters_bpf_bitcode(), false); !linked)
            return std::move(linked).error();
    if (bpf && watches_programs(state.plan))
        if (Result<void> linked = link_bitcode(module, watch_bpf_bitcode(), false); !linked)
            return std::move(linked).error();
    define_constants(emitter);
    if (bpf) {
        separate_walks(module);
        describe_slots(module, emitter.slot_size());
    } else {
        for (llvm::Function& function : module)
            if (!function.isDeclaration() && function.getName().starts_with("sonde_rt_"))
                function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    std::string broken;
    llvm::raw_string_ostream broken_stream(broken);
    if (llvm::verifyModule(module, &broken_stream))
        return Error("internal: bad IR: " + broken_stream.str());

    optimise(module, *machine, bpf);
    if (bpf && state.options.arrangement > 0)
        rearrange(module, state.options.arrangement);
    // The last passes take most of the time, and a script that long wants to start.
    constexpr unsigned many_instructions = 20'000;
    if (!bpf && module.getInstructionCount() > many_instructions)
        machine->setOptLevel(llvm::CodeGenOptLevel::None);
    // Jumps of 16 bits may not reach over a function of so many. A kernel that has may_goto (6.9) has those of 32 bits
    // too (6.6, "bpf: Support new 32bit offset jmp instruction"), which LLVM takes where it has to.
    constexpr unsigned far = 8'000;
    if (bpf && state.options.may_goto &&
        llvm::any_of(module, [](const llvm::Function& function) { return function.getInstructionCount() > far; })) {
        machine = make_machine(bpf, "v4", failure);
        lengthen_may_goto(module);
    }
    if (dumps && dumps->want_ir) {
        llvm::raw_string_ostream stream(dumps->ir);
        module.print(stream, nullptr);
    }
    auto emit = [&](llvm::CodeGenFileType type) {
        llvm::SmallVector<char, 0> bytes;
        llvm::raw_svector_ostream stream(bytes);
        llvm::legacy::PassManager passes;
        machine->addPassesToEmitFile(passes, stream, nullptr, type);
        passes.run(module);
        return std::vector<uint8_t>(bytes.begin(), bytes.end());
    };
    std::vector<uint8_t> object;
    std::string fatal = without_dying([&] { object = emit(llvm::CodeGenFileType::ObjectFile); });
    if (!fatal.empty())
        return explain_fatal(fatal, module, state.plan);
    if (!failure.empty())
        return Error(failure);
    if (dumps && dumps->want_bpf && bpf) {
        std::vector<uint8_t> text = emit(llvm::CodeGenFileType::AssemblyFile);
        dumps->bpf.assign(text.begin(), text.end());
    }
    return object;
}

} // namespace

Result<plan::Plan> generate(const hir::Program& program, const Sources& sources, const CodegenOptions& given,
                            CodegenDumps* dumps) {
    CodegenOptions options = given;
    uint32_t power = 8;
    while (power < options.max_string)
        power *= 2;
    options.max_string = power;
    plan::Plan plan;
    plan.script = options.script;
    plan.module = options.module;
    plan.counters = program.counters;
    plan.files = program.files;
    plan.max_string = options.max_string;
    plan.max_action = options.max_action;
    plan.max_action_interruptible = options.max_action_interruptible;
    plan.max_nesting = options.max_nesting;
    plan.max_backtrace = options.max_backtrace;
    plan.max_errors = options.max_errors;
    plan.max_skipped = options.max_skipped;
    plan.ring_bytes = options.ring_bytes;
    plan.timing = options.timing;
    plan.suppress_errors = options.suppress_errors;
    lay_out_globals(program, options, plan);
    add_probes(program, sources, plan);
    lay_out_marks(plan);
    PlanState state{program, sources, options, plan};
    for (bool bpf : {false, true}) {
        bool any = std::any_of(program.handlers.begin(), program.handlers.end(),
                               [&](const hir::Handler* handler) { return handler->in_kernel == bpf; });
        if (!any)
            continue;
        Result<std::vector<uint8_t>> object = compile(bpf, state, dumps);
        if (!object)
            return std::move(object).error();
        (bpf ? plan.bpf_object : plan.host_object) = *std::move(object);
        if (bpf)
            plan.filter_target = options.filter_target;
    }
    return plan;
}

} // namespace sonde
