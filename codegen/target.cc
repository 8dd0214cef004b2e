// What both targets share: constants, debug locations, calls of routines.
#include "codegen/target.h"

#include <algorithm>
#include <bit>

#include "codegen/bpf/loop_callbacks.h"
#include "codegen/bpf/wiped_scratch.h"
#include "runtime/numbering.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>

#include <fmt/format.h>

#include "base/check.h"

namespace sonde {

uint32_t PlanState::add_format(const plan::Format& format) {
    plan.formats.push_back(format);
    return static_cast<uint32_t>(plan.formats.size() - 1);
}

namespace {
std::string near(const Sources& sources, const std::string& text, Range range) {
    const bool name = !text.empty() && (isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_' ||
                                        text[0] == '$' || text[0] == '@');
    return fmt::format("{} '{}' at {}", name ? "identifier" : "operator", text, sources.place(range));
}
} // namespace

uint32_t PlanState::add_site(const std::string& message, Range range) {
    plan::Site site;
    site.message = message;
    if (range.valid()) {
        std::string text(sources.text(range));
        if (text.size() > 40)
            text.resize(40);
        for (char& c : text)
            if (c == '\n')
                c = ' ';
        site.near = near(sources, text, range);
    }
    plan.sites.push_back(site);
    return static_cast<uint32_t>(plan.sites.size() - 1);
}

uint32_t PlanState::add_call(const std::string& callee, Range range) {
    // The range has the arguments too.
    std::string_view text = sources.text(range);
    const auto is_part = [](unsigned char c) { return isalnum(c) || c == '_' || c == '$' || c == '@'; };
    const auto end = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_part) - text.begin());
    const std::string place = near(sources, end ? std::string(text.substr(0, end)) : callee, range);
    auto [entry, fresh] = calls.try_emplace(place, static_cast<uint32_t>(plan.calls.size() + 1));
    if (fresh)
        plan.calls.push_back(place);
    return std::min(entry->second, plan::unknown_call);
}

Target::Target(PlanState& state, const char* module_name)
    : state_(state), context_(std::make_unique<llvm::LLVMContext>()),
      module_(std::make_unique<llvm::Module>(module_name, *context_)), ir_(*context_), di_(*module_) {}

Target::~Target() = default;

std::unique_ptr<llvm::Module> Target::take_module() { return std::move(module_); }

llvm::Value* Target::literal(const std::string& text) {
    auto [entry, fresh] = literals_.try_emplace(text, nullptr);
    if (fresh) {
        llvm::Constant* bytes = llvm::ConstantDataArray::getString(*context_, text, true);
        entry->second = new llvm::GlobalVariable(*module_, bytes->getType(), true, llvm::GlobalValue::InternalLinkage,
                                                 bytes, fmt::format("text.{}", literals_.size()));
        if (is_bpf())
            entry->second->setSection(".rodata");
        entry->second->setAlignment(llvm::Align(8));
    }
    return entry->second;
}

llvm::Value* Target::zeros(uint64_t size) {
    zeros_size_ = std::max(zeros_size_, size);
    llvm::GlobalVariable* zeros = module_->getNamedGlobal("sonde_rt_zeros");
    if (!zeros)
        zeros = new llvm::GlobalVariable(*module_, ir_.getInt8Ty(), true, llvm::GlobalValue::ExternalLinkage, nullptr,
                                         "sonde_rt_zeros");
    return zeros;
}

llvm::Value* Target::routine(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* arg : args)
        types.push_back(arg->getType());
    llvm::FunctionCallee callee = module_->getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
    return ir_.CreateCall(callee, args);
}

void Target::stat_add(llvm::Value* stats, const plan::StatsNeeds& needs, llvm::Value* value) {
    routine("sonde_rt_stat_add", i64(), {stats, value});
    if (needs.variance)
        routine("sonde_rt_stat_square", i64(), {stats, value});
    if (needs.histogram == plan::StatsNeeds::None)
        return;
    llvm::Value* bucket = needs.histogram == plan::StatsNeeds::Log
                              ? routine("sonde_rt_log_bucket", i64(), {value})
                              : routine("sonde_rt_linear_bucket", i64(),
                                        {value, number(needs.low), number(needs.high), number(needs.width)});
    llvm::Function* function = ir_.GetInsertBlock()->getParent();
    llvm::BasicBlock* inside = llvm::BasicBlock::Create(*context_, "bucket", function);
    llvm::BasicBlock* end = llvm::BasicBlock::Create(*context_, "counted", function);
    ir_.CreateCondBr(ir_.CreateICmpULT(bucket, number(needs.buckets())), inside, end);
    ir_.SetInsertPoint(inside);
    llvm::Value* at = ir_.CreateGEP(i64(), offset(stats, sizeof(plan::StatsBlock)), bucket);
    ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at, number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    ir_.CreateBr(end);
    ir_.SetInsertPoint(end);
}

llvm::Value* Target::opaque(llvm::Value* value) {
    auto* type = llvm::FunctionType::get(i64(), {i64()}, false);
    return ir_.CreateCall(type, llvm::InlineAsm::get(type, "", "=r,0", true), {value});
}

llvm::Value* Target::masked(llvm::Value* value, uint64_t mask) {
    return ir_.CreateAnd(opaque(value), ir_.getInt64(mask));
}

llvm::Value* Target::offset(llvm::Value* pointer, uint64_t bytes) {
    return bytes ? ir_.CreateConstGEP1_64(ir_.getInt8Ty(), pointer, bytes) : pointer;
}

uint64_t Target::entry_offset(const hir::Handler& handler, size_t index) const {
    uint64_t at = 0;
    for (size_t i = 0; i < index; i++)
        at += handler.entry_values[i]->type == hir::ValueType::String ? state_.options.max_string : 8;
    return at;
}

llvm::AllocaInst* Target::stack(uint64_t bytes) {
    llvm::Function* function = ir_.GetInsertBlock()->getParent();
    llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
    llvm::AllocaInst* slot = entry.CreateAlloca(llvm::ArrayType::get(i64(), (bytes + 7) / 8));
    slot->setAlignment(llvm::Align(8));
    return slot;
}

llvm::Value* Target::scratch(const std::string& tag, uint64_t bytes) {
    llvm::AllocaInst*& slot = scratch_[{ir_.GetInsertBlock()->getParent(), tag}][bytes];
    if (!slot)
        slot = stack(bytes);
    return slot;
}

bool Target::is_scratch(const llvm::AllocaInst& variable) const {
    for (const auto& [owner, sizes] : scratch_)
        for (const auto& [size, slot] : sizes)
            if (slot == &variable)
                return true;
    return false;
}

void Target::merge_scratch() {
    for (auto& [owner, sizes] : scratch_) {
        llvm::AllocaInst* largest = sizes.rbegin()->second;
        const std::string& tag = owner.second;
        largest->setName(tag.starts_with("wiped") ? wiped_name : scratch_name);
        for (auto& [size, slot] : sizes)
            if (slot != largest) {
                slot->replaceAllUsesWith(largest);
                slot->eraseFromParent();
            }
    }
    scratch_.clear();
}

llvm::DIFile* Target::di_file(FileId file) {
    auto [entry, fresh] = files_.try_emplace(file, nullptr);
    if (fresh) {
        std::string name = file ? std::string(state_.sources.name(file)) : "sonde";
        std::optional<llvm::StringRef> source;
        if (file)
            source = llvm::StringRef(state_.sources.text(file).data(), state_.sources.text(file).size());
        entry->second = di_.createFile(name, "", std::nullopt, source);
    }
    return entry->second;
}

llvm::DISubprogram* Target::describe(llvm::Function* function, Range range) {
    if (!unit_)
        unit_ = di_.createCompileUnit(llvm::dwarf::DW_LANG_C11, di_file(range.file), "sonde", true, "", 0);
    if (llvm::DISubprogram* known = function->getSubprogram())
        return known;
    auto* type = di_.createSubroutineType(
        di_.getOrCreateTypeArray({di_.createBasicType("int", 32, llvm::dwarf::DW_ATE_signed)}));
    unsigned line = range.valid() ? state_.sources.line_column(range.file, range.begin).line : 1;
    auto* sub = di_.createFunction(di_file(range.file), function->getName(), "", di_file(range.file), line, type, line,
                                   llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
    function->setSubprogram(sub);
    ir_.SetCurrentDebugLocation(llvm::DILocation::get(*context_, line, 0, sub));
    return sub;
}

void Target::locate(Range range) {
    if (!range.valid())
        return;
    llvm::DISubprogram* sub = ir_.GetInsertBlock()->getParent()->getSubprogram();
    LineColumn at = state_.sources.line_column(range.file, range.begin);
    llvm::DIScope* scope = sub;
    if (sub->getFile() != di_file(range.file))
        scope = di_.createLexicalBlockFile(sub, di_file(range.file));
    ir_.SetCurrentDebugLocation(llvm::DILocation::get(*context_, at.line, at.column, scope));
}

namespace {
llvm::GlobalVariable* declare_table(llvm::Module& module, llvm::Type* type, const char* name) {
    if (llvm::GlobalVariable* old = module.getNamedGlobal(name))
        return old;
    return new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr, name);
}
} // namespace

llvm::Value* Target::site_message(llvm::Value* site) {
    llvm::Value* table = declare_table(*module_, ir_.getInt8Ty(), "sonde_site_texts");
    llvm::Value* safe = masked(site, 0xffff);
    return ir_.CreateGEP(ir_.getInt8Ty(), table, ir_.CreateMul(safe, number(site_text_bytes)));
}

llvm::Value* Target::row_text(llvm::Value* row, hir::PointText text) {
    llvm::Value* table = declare_table(*module_, ir_.getInt8Ty(), "sonde_row_texts");
    llvm::Value* safe = masked(ir_.CreateZExt(row, i64()), row_cells() - 1);
    llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(safe, number(4 * row_text_bytes)),
                                    number((static_cast<int64_t>(text) - 1) * static_cast<int64_t>(row_text_bytes)));
    return ir_.CreateGEP(ir_.getInt8Ty(), table, at);
}

uint64_t Target::row_cells() const { return std::bit_ceil(std::max<uint64_t>(state_.plan.rows.size(), 1)); }

// One text after the other, each in a cell of constant size.
llvm::Constant* Target::cells(const std::vector<std::string>& texts, uint64_t cell) {
    std::string all;
    for (std::string text : texts) {
        text.resize(std::min<size_t>(text.size(), cell - 1));
        text.resize(cell, '\0');
        all += text;
    }
    return llvm::ConstantDataArray::getString(*context_, all, true);
}

void Target::define_constants() {
    auto define = [&](const char* name, llvm::Constant* value, const char* section = ".rodata") {
        llvm::GlobalVariable* old = module_->getNamedGlobal(name);
        if (!old)
            return;
        auto* fresh =
            new llvm::GlobalVariable(*module_, value->getType(), true, llvm::GlobalValue::InternalLinkage, value, "");
        fresh->setAlignment(llvm::Align(8));
        if (is_bpf())
            fresh->setSection(section);
        old->replaceAllUsesWith(fresh);
        old->eraseFromParent();
        fresh->setName(name);
    };
    uint64_t max = state_.options.max_string;
    if (is_bpf()) // the runtime knows better
        define("sonde_numbering",
               llvm::ConstantAggregateZero::get(llvm::ArrayType::get(i64(), sizeof(sonde_numbering) / 8)),
               SONDE_NUMBERING_SECTION);
    if (module_->getNamedGlobal("sonde_site_texts")) {
        std::vector<std::string> texts;
        for (const plan::Site& site : state_.plan.sites)
            texts.push_back(site.message.substr(0, site.message.find("%#x")));
        define("sonde_site_texts", cells(texts, site_text_bytes));
    }
    if (module_->getNamedGlobal("sonde_row_texts")) {
        std::vector<std::string> texts;
        for (const plan::Point& row : state_.plan.rows) {
            texts.push_back(row.pp);
            texts.push_back(row.pn);
            texts.push_back(row.function);
            texts.push_back("");
        }
        for (const plan::Probe& probe : state_.plan.probes)
            for (const plan::Point& point : probe.points)
                texts[4 * point.row + 3] = plan::type_at(probe.kind, point);
        // Whatever a number of a row may be for all that the verifier knows, it is in the table.
        texts.resize(4 * row_cells());
        define("sonde_row_texts", cells(texts, row_text_bytes));
    }
    define("sonde_rt_filter", ir_.getInt32(state_.options.filter_target));
    define("sonde_rt_max", ir_.getInt32(static_cast<uint32_t>(max)));
    define("sonde_rt_zeros",
           llvm::ConstantAggregateZero::get(llvm::ArrayType::get(ir_.getInt8Ty(), std::max(zeros_size_, max) + max)));
    define("sonde_rt_blanks", llvm::ConstantDataArray::getString(*context_, std::string(max, ' '), true));
    define("sonde_rt_noughts", llvm::ConstantDataArray::getString(*context_, std::string(max, '0'), true));
}

} // namespace sonde
