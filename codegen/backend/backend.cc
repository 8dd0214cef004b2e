// LLVM's optimizer and back end.
//
// Compiling takes most of the time until a session starts, so the passes depend on the size:
//
//     BPF                              O2
//     BPF, hundreds of handlers        the passes of O2 that matter, once
//     host code                        a few cheap passes
//
// O2 is not only for speed. The verifier rejects programs with too many branches or too much stack, and O2 often makes
// the difference.
//
// LLVM has two ways to report an error. Errors in the module, such as a stack of more than 512 bytes, go to a
// diagnostic handler. For others LLVM ends the process (report_fatal_error()). without_dying() turns these into
// messages, because the user would otherwise see a crash without the place in the script.
//
// Messages name an LLVM function, such as `probe_0`. The plan knows the probe's place, and explain_stack() and
// explain_fatal() replace the one by the other.
#include "codegen/backend/backend.h"

#include <fmt/format.h>

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "arch/architecture.h"
#include "codegen/backend/passes.h"
#include "codegen/bpf/jumps.h"
#include "codegen/bpf/kernel_calls.h"
#include "codegen/bpf/sink_addresses.h"
#include "codegen/bpf/wiped_scratch.h"
#include "codegen/emit/environment.h"

namespace sonde {
namespace {

// A script with more instructions than this before optimization has hundreds of handlers. The user is waiting for it.
constexpr unsigned many_instructions = 10'000;

// O2 processes everything several times. These are the passes of O2 that make handlers small, run once after inlining.
// They take half the time, and the code does not get larger: `syscall.*` with argstr has 89,700 instructions, and
// 94,300 with O2.
constexpr const char* passes_for_many =
    "always-inline,globaldce,ipsccp,"
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,jump-threading,simplifycfg,gvn,dse,"
    "instcombine<no-verify-fixpoint>,simplifycfg<bonus-inst-threshold=1;forward-switch-cond;hoist-common-insts;"
    "sink-common-insts>),"
    "deadargelim,globaldce,globalopt,constmerge";

// `host`: null for BPF. `cpu`: the version of BPF's instruction set, or the processor.
std::unique_ptr<llvm::TargetMachine> make_machine(const Architecture* host, const char* cpu, std::string& error) {
    if (!host) {
        LLVMInitializeBPFTargetInfo();
        LLVMInitializeBPFTarget();
        LLVMInitializeBPFTargetMC();
        LLVMInitializeBPFAsmPrinter();
        LLVMInitializeBPFAsmParser(); // for inline assembly
    } else {
#define LLVM_TARGET(name, architecture)                                                                                \
    if (host->names()[0] == #architecture) {                                                                           \
        LLVMInitialize##name##TargetInfo();                                                                            \
        LLVMInitialize##name##Target();                                                                                \
        LLVMInitialize##name##TargetMC();                                                                              \
        LLVMInitialize##name##AsmPrinter();                                                                            \
    }
#include "llvm_targets.def" // made by CMake from arch/host/architecture.cmake
#undef LLVM_TARGET
    }
    std::string triple = host ? host->llvm_triple() : "bpfel";
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!target)
        return nullptr;
    llvm::TargetOptions options;
    // Large code model: the runtime may load the object anywhere, so addresses of called functions have 64 bits.
    return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
        triple, cpu, "", options, llvm::Reloc::Static, host ? llvm::CodeModel::Large : llvm::CodeModel::Small,
        host ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default));
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

// Runs a function in which LLVM may end the process on an error. Returns LLVM's message, or "" if there was no error.
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

llvm::SmallVector<char, 0> emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    machine.addPassesToEmitFile(passes, stream, nullptr, type);
    passes.run(module);
    return bytes;
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
                             "sonde inlines functions into handlers; split the handler into several probes",
                             largest ? largest->place : plan.script));
}

// Example of `failure`: "FILE:LINE:COLUMN: in function probe_0 i32 (ptr): Looks like the BPF stack limit is exceeded.
// ..."
std::string explain_stack(const std::string& failure, const plan::Plan& plan) {
    constexpr std::string_view sign = "in function ";
    const size_t name = failure.find(sign) + sign.size();
    const std::string symbol = failure.substr(name, failure.find(' ', name) - name);
    std::string place = plan.script;
    for (const plan::Probe& probe : plan.probes)
        if (probe.symbol == symbol)
            place = probe.place;
    return fmt::format("the handler at {} and its functions in C need more than BPF's 512 bytes of stack; use smaller "
                       "or fewer variables",
                       place);
}

// Whether the module consists of many programs, or mostly of functions that are compiled once. A single large handler
// needs O2, which leaves fewer branches: the verifier accepts at most 8,192 in a row.
bool is_of_many_parts(const llvm::Module& module) {
    constexpr int many_programs = 64;
    int programs = 0;
    unsigned in_functions = 0;
    for (const llvm::Function& function : module) {
        programs += function.hasSection() && !function.isDeclaration();
        if (function.getName().starts_with(once_prefix))
            in_functions += function.getInstructionCount();
    }
    return programs > many_programs || in_functions > module.getInstructionCount() / 2;
}

} // namespace

Backend::Backend(const Architecture* host) : host_(host), bpf_(!host) {}

Backend::~Backend() = default;

Result<void> Backend::begin(llvm::Module& module) {
    machine_ = make_machine(host_, host_ ? host_->llvm_processor() : "v3", failure_);
    if (!machine_)
        return Error("internal: " + failure_);
    module.setTargetTriple(machine_->getTargetTriple().str());
    module.setDataLayout(machine_->createDataLayout());
    module.getContext().setDiagnosticHandler(std::make_unique<FailureHandler>(failure_));
    return {};
}

void Backend::run(llvm::Module& module, const char* passes) { run_passes(module, *machine_, passes); }

void Backend::optimise(llvm::Module& module) {
    const bool many = module.getInstructionCount() > many_instructions && is_of_many_parts(module);
    run(module, bpf_ ? many ? passes_for_many : "default<O2>"
                     : "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg),globaldce");
    if (bpf_) {
        clear_wiped_scratch(module);
        sink_addresses(module);
    }
}

void Backend::keep_order() {
    // LLVM's scheduler can only be chosen by a command-line option.
    constexpr const char* name = "pre-RA-sched";
    llvm::cl::Option* option = llvm::cl::getRegisteredOptions().lookup(name);
    if (option && option->getNumOccurrences() == 0)
        option->addOccurrence(0, name, "source");
}

void Backend::suit_size(llvm::Module& module, bool may_goto) {
    // The last passes take most of the time.
    if (!bpf_ && module.getInstructionCount() > many_instructions)
        machine_->setOptLevel(llvm::CodeGenOptLevel::None);
    // A 16-bit jump may not be long enough for such a large function. Kernels with may_goto (6.9) also have 32-bit
    // jumps (6.6, "bpf: Support new 32bit offset jmp instruction"). LLVM uses these where it needs to.
    constexpr unsigned far = 8'000;
    if (bpf_ && may_goto &&
        llvm::any_of(module, [](const llvm::Function& function) { return function.getInstructionCount() > far; })) {
        machine_ = make_machine(nullptr, "v4", failure_);
        lengthen_may_goto(module);
    }
}

Result<std::vector<uint8_t>> Backend::emit_object(llvm::Module& module, const plan::Plan& plan) {
    llvm::SmallVector<char, 0> object;
    std::string fatal = without_dying([&] { object = emit(module, *machine_, llvm::CodeGenFileType::ObjectFile); });
    if (!fatal.empty())
        return explain_fatal(fatal, module, plan);
    if (failure_.find("BPF stack limit") != std::string::npos)
        return Error(explain_stack(failure_, plan));
    if (!failure_.empty())
        return Error(failure_);
    std::vector<uint8_t> out(object.begin(), object.end());
    if (bpf_)
        aim_kernel_calls(out);
    return out;
}

std::string Backend::emit_assembly(llvm::Module& module) {
    llvm::SmallVector<char, 0> text = emit(module, *machine_, llvm::CodeGenFileType::AssemblyFile);
    return std::string(text.begin(), text.end());
}

} // namespace sonde
