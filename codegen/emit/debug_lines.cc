// Debug information that maps the generated code to the script's lines.
//
// It has three readers:
// * The kernel: its BTF names the functions and types of parameters, and global functions are checked by them.
// * libbpf: it finds the maps' attributes in it (codegen/bpf/maps.cc).
// * Users: the verifier's log shows the script's lines. LLVM copies the text of each line into BTF, and takes it from
//   the source in the DIFile. So the script's file is not read again.
//
// A function's code can come from several texts: the script, and the library. DWARF gives a function one file. For
// lines of another file, a lexical block with its own file is inserted (locate()).
#include "codegen/emit/debug_lines.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include <llvm/IR/DIBuilder.h>

namespace sonde {

DebugLines::DebugLines(llvm::IRBuilder<>& builder, llvm::Module& module, const Sources& sources)
    : ir_(builder), sources_(sources), di_(std::make_unique<llvm::DIBuilder>(module)) {}

DebugLines::~DebugLines() = default;

llvm::DIFile* DebugLines::file(FileId file) {
    auto [entry, fresh] = files_.try_emplace(file, nullptr);
    if (fresh) {
        std::string name = file ? std::string(sources_.name(file)) : "sonde";
        std::optional<llvm::StringRef> source;
        if (file)
            source = llvm::StringRef(sources_.text(file).data(), sources_.text(file).size());
        entry->second = di_->createFile(name, "", std::nullopt, source);
    }
    return entry->second;
}

llvm::DICompileUnit* DebugLines::unit(FileId of) {
    if (!unit_)
        unit_ = di_->createCompileUnit(llvm::dwarf::DW_LANG_C11, file(of), "sonde", true, "", 0);
    return unit_;
}

void DebugLines::describe(llvm::Function* function, Range range) {
    unit(range.file);
    if (function->getSubprogram())
        return;
    auto* type = di_->createSubroutineType(
        di_->getOrCreateTypeArray({di_->createBasicType("int", 32, llvm::dwarf::DW_ATE_signed)}));
    unsigned line = range.valid() ? sources_.line_column(range.file, range.begin).line : 1;
    auto flags = llvm::DISubprogram::SPFlagDefinition;
    if (function->hasLocalLinkage()) // the verifier uses the types of global functions to check their callers
        flags |= llvm::DISubprogram::SPFlagLocalToUnit;
    auto* sub = di_->createFunction(file(range.file), function->getName(), "", file(range.file), line, type, line,
                                    llvm::DINode::FlagZero, flags);
    function->setSubprogram(sub);
    ir_.SetCurrentDebugLocation(llvm::DILocation::get(ir_.getContext(), line, 0, sub));
}

void DebugLines::describe_parameters(llvm::Function* function, llvm::ArrayRef<uint64_t> bytes) {
    llvm::DIType* number = di_->createBasicType("long", 64, llvm::dwarf::DW_ATE_signed);
    llvm::DIType* byte = di_->createBasicType("char", 8, llvm::dwarf::DW_ATE_signed_char);
    llvm::DIFile* file = function->getSubprogram()->getFile();
    llvm::SmallVector<llvm::Metadata*, 8> types = {number};
    for (const uint64_t size : bytes) {
        if (size == 0) {
            types.push_back(number);
            continue;
        }
        llvm::DIType* all = di_->createArrayType(
            8 * size, 8, byte, di_->getOrCreateArray({di_->getOrCreateSubrange(0, static_cast<int64_t>(size))}));
        auto* room = di_->createStructType(file, fmt::format("room_{}", size), file, 0, 8 * size, 8,
                                           llvm::DINode::FlagZero, nullptr, {});
        di_->replaceArrays(room, di_->getOrCreateArray({di_->createMemberType(room, "bytes", file, 0, 8 * size, 8, 0,
                                                                              llvm::DINode::FlagZero, all)}));
        types.push_back(di_->createPointerType(room, 64));
    }
    llvm::DISubprogram* sub = function->getSubprogram();
    sub->replaceType(di_->createSubroutineType(di_->getOrCreateTypeArray(types)));
    // The kernel requires a name for each parameter.
    for (unsigned i = 1; i < types.size(); i++)
        di_->createParameterVariable(sub, fmt::format("p{}", i), i, file, sub->getLine(),
                                     llvm::cast<llvm::DIType>(types[i]), true);
    di_->finalizeSubprogram(sub);
}

void DebugLines::locate(Range range) {
    if (!range.valid())
        return;
    llvm::DISubprogram* sub = ir_.GetInsertBlock()->getParent()->getSubprogram();
    LineColumn at = sources_.line_column(range.file, range.begin);
    llvm::DIScope* scope = sub;
    if (sub->getFile() != file(range.file))
        scope = di_->createLexicalBlockFile(sub, file(range.file));
    ir_.SetCurrentDebugLocation(llvm::DILocation::get(ir_.getContext(), at.line, at.column, scope));
}

} // namespace sonde
