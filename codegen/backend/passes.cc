#include "codegen/backend/passes.h"

#include <string_view>

#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>

namespace sonde {

void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* passes) {
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
    // parsePassPipeline("default<O2>") would turn vectorization on again (PassBuilder::parseModulePass()), which BPF
    // does not support.
    if (std::string_view(passes) == "default<O2>")
        pipeline = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
    else
        llvm::cantFail(builder.parsePassPipeline(pipeline, passes));
    pipeline.run(module, modules);
}

} // namespace sonde
