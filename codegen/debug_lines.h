// Which lines of the script code comes from, as debug information of the module.
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

class DebugLines {
  public:
    DebugLines(llvm::IRBuilder<>& builder, llvm::Module& module, const Sources& sources);
    ~DebugLines();
    // The function is made of what the script says there; a second time changes nothing.
    void describe(llvm::Function* function, Range range);
    // The builder's next instructions come from there.
    void locate(Range range);
    // What the kernel checks a program's callers by: for each parameter the bytes that it points at; 0: a number.
    void describe_parameters(llvm::Function* function, llvm::ArrayRef<uint64_t> bytes);

    // For what describes types and variables besides.
    llvm::DIBuilder& builder() { return *di_; }
    llvm::DICompileUnit* unit(FileId of); // the module's only one; its file, if there is none yet, is `of`
    llvm::DIFile* file(FileId file);

  private:
    llvm::IRBuilder<>& ir_;
    const Sources& sources_;
    std::unique_ptr<llvm::DIBuilder> di_;
    llvm::DICompileUnit* unit_ = nullptr;
    std::map<FileId, llvm::DIFile*> files_;
};

} // namespace sonde
