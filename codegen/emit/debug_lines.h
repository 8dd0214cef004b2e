// Debug information that maps the generated code to the script's lines.
#pragma once

#include <map>
#include <memory>

#include <llvm/IR/IRBuilder.h>

#include "base/source.h"

namespace llvm {
class DIBuilder;
class DICompileUnit;
class DIFile;
} // namespace llvm

namespace sonde {

// One object for each module. DWARF's line table belongs to a function, so describe() must come before locate().
class DebugLines {
  public:
    DebugLines(llvm::IRBuilder<>& builder, llvm::Module& module, const Sources& sources);
    ~DebugLines();
    // Gives the function a description: its code comes from this range of the script. A second call for the same
    // function has no effect.
    void describe(llvm::Function* function, Range range);
    // Sets the place in the script for the instructions that the builder creates next.
    void locate(Range range);
    // Describes the parameters of a global function, so that the kernel can check its callers. `bytes`: for each
    // parameter the size of the memory that it points to; 0 means a number.
    void describe_parameters(llvm::Function* function, llvm::ArrayRef<uint64_t> bytes);

    // For code that adds descriptions of types and variables.
    llvm::DIBuilder& builder() { return *di_; }
    llvm::DICompileUnit* unit(FileId of); // the module's only compile unit; the first call creates it for this file
    llvm::DIFile* file(FileId file);

  private:
    llvm::IRBuilder<>& ir_;
    const Sources& sources_;
    std::unique_ptr<llvm::DIBuilder> di_;
    llvm::DICompileUnit* unit_ = nullptr;
    std::map<FileId, llvm::DIFile*> files_;
};

} // namespace sonde
