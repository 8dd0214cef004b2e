// Links the script's C into the module of its handlers.
//
// The C code calls functions of the script, and handlers call functions of the C code. Both must be in one module, so
// that everything can be inlined: a BPF function can have only five arguments, and a C function has four hidden ones
// (codegen/emit/c_code.h).
#include "codegen/c/link.h"

#include <algorithm>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>

#include "codegen/emit/emitter.h"

namespace sonde {

Result<unsigned> link_c_code(Emitter& emitter, const CCode& code) {
    llvm::Module& module = emitter.module();
    auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(code.bitcode, "C"), module.getContext());
    if (!parsed)
        return Error("internal: the bitcode of the script's C cannot be read: " + llvm::toString(parsed.takeError()));
    (*parsed)->setTargetTriple(module.getTargetTriple());
    (*parsed)->setDataLayout(module.getDataLayout());
    if (llvm::Linker::linkModules(module, std::move(*parsed), llvm::Linker::LinkOnlyNeeded))
        return Error("internal: the script's C cannot be linked");
    unsigned most = 0;
    for (llvm::Function& function : module)
        if (!function.isDeclaration() &&
            (function.getName().starts_with(c_symbol("")) || function.getName().starts_with(script_symbol("")))) {
            function.setLinkage(llvm::GlobalValue::InternalLinkage);
            function.addFnAttr(llvm::Attribute::AlwaysInline);
            most = std::max(most, function.getInstructionCount());
        }
    return most;
}

} // namespace sonde
