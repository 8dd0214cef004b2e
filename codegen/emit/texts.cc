// Constant texts that are chosen at run time.
//
// Handlers cannot format texts, but can copy them. So texts are constant tables, and the number of a row or site
// selects one. All cells of a table have the same size, which makes the address a multiplication. Texts of rows
// determine this size. Messages of sites that are longer than a cell are cut.
//
// Texts of keys are different: there can be thousands, of any length. They are stored one after the other, and a second
// table has their offsets (numbered_text()).
//
// The verifier does not know which numbers occur. It only knows the mask, and checks that even the largest masked
// number is inside of the table. So tables have a power of two as their length, and are filled up with zeros.
#include "codegen/emit/texts.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include <llvm/IR/Constants.h>

#include "codegen/emit/emitter.h"
#include "codegen/emit/shared_stacks.h"
#include "runtime/plan/numbering.h"

namespace sonde {
namespace {

constexpr uint64_t site_text_bytes = 64; // so messages of sites have at most 63 characters before their number

// Declares a table whose contents are added by define_constants(), when all sites and rows are known.
llvm::GlobalVariable* declare_table(llvm::Module& module, llvm::Type* type, const char* name) {
    if (llvm::GlobalVariable* old = module.getNamedGlobal(name))
        return old;
    return new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr, name);
}

// The number of cells in the tables of rows' texts: a power of two.
uint64_t row_cells(Emitter& e) { return std::bit_ceil(std::max<uint64_t>(e.state().plan.rows.size(), 1)); }

// The texts of rows: for each row, one of each kind (hir::PointText).
std::vector<std::string> row_texts(const plan::Plan& plan) {
    std::vector<std::string> out;
    for (const plan::Point& row : plan.rows) {
        out.push_back(row.pp);
        out.push_back(row.pn);
        out.push_back(row.function);
        out.push_back("");
    }
    for (const plan::Probe& probe : plan.probes)
        for (const plan::Point& point : probe.points)
            out[4 * point.row + 3] = plan::type_at(probe.kind, point);
    return out;
}

// The size of a cell that has room for each text of a row, or for the longest string that a script can have.
uint64_t row_text_bytes(const plan::Plan& plan) {
    uint64_t most = least_row_text;
    for (const plan::Point& row : plan.rows)
        for (const std::string* text : {&row.pp, &row.pn, &row.function})
            most = std::max<uint64_t>(most, text->size() + 1);
    return std::min<uint64_t>((most + 7) / 8 * 8, std::max<uint64_t>(plan.max_string, least_row_text));
}

// A table of texts, each in a cell of constant size.
llvm::Constant* cells(Emitter& e, const std::vector<std::string>& texts, uint64_t cell) {
    std::string all;
    for (std::string text : texts) {
        text.resize(std::min<size_t>(text.size(), cell - 1));
        text.resize(cell, '\0');
        all += text;
    }
    return llvm::ConstantDataArray::getString(e.getContext(), all, true);
}

} // namespace

llvm::Value* site_message(Emitter& e, llvm::Value* site) {
    llvm::Value* table = declare_table(e.module(), e.getInt8Ty(), "sonde_site_texts");
    llvm::Value* safe = e.masked(site, 0xffff);
    return e.CreateGEP(e.getInt8Ty(), table, e.CreateMul(safe, e.number(site_text_bytes)));
}

llvm::Value* row_text(Emitter& e, llvm::Value* row, hir::PointText text) {
    llvm::Value* table = declare_table(e.module(), e.getInt8Ty(), "sonde_row_texts");
    llvm::Value* safe = e.masked(e.CreateZExt(row, e.i64()), row_cells(e) - 1);
    const auto cell = static_cast<int64_t>(row_text_bytes(e.state().plan));
    llvm::Value* at =
        e.CreateAdd(e.CreateMul(safe, e.number(4 * cell)), e.number((static_cast<int64_t>(text) - 1) * cell));
    return e.CreateGEP(e.getInt8Ty(), table, at);
}

uint32_t number_of_text(const PlanState& state, const std::string& text) {
    const std::vector<std::string>& texts = state.program.texts;
    std::string cut = text.substr(0, state.plan.max_string - 1);
    auto found = std::lower_bound(texts.begin(), texts.end(), cut);
    return found == texts.end() || *found != cut ? 0 : static_cast<uint32_t>(found - texts.begin());
}

llvm::Value* table_entry(Emitter& e, const std::vector<uint32_t>& table, llvm::Value* index) {
    std::string bytes(reinterpret_cast<const char*>(table.data()), table.size() * sizeof table[0]);
    llvm::Value* entry = e.CreateGEP(e.getInt32Ty(), e.literal(bytes), index);
    return e.CreateZExt(e.CreateLoad(e.getInt32Ty(), entry), e.i64());
}

llvm::Value* row_text_number(Emitter& e, llvm::Value* row, hir::PointText text) {
    // Rows of handlers without such keys get 0.
    std::vector<uint32_t> table(row_cells(e));
    std::transform(e.state().plan.rows.begin(), e.state().plan.rows.end(), table.begin(),
                   [&](const plan::Point& point) { return number_of_text(e.state(), hir::point_text(text, point)); });
    return table_entry(e, table, e.masked(e.CreateZExt(row, e.i64()), table.size() - 1));
}

llvm::Value* point_number(Emitter& e, llvm::Value* row) {
    std::vector<uint32_t> table(row_cells(e));
    const std::map<std::string, int64_t>& numbers = e.state().program.point_numbers;
    std::ranges::transform(e.state().plan.rows, table.begin(), [&](const plan::Point& point) {
        auto found = numbers.find(point.function);
        return found == numbers.end() ? 0 : static_cast<uint32_t>(found->second);
    });
    return table_entry(e, table, e.masked(e.CreateZExt(row, e.i64()), table.size() - 1));
}

llvm::Value* table_word(Emitter& e, const std::vector<int64_t>& table, llvm::Value* index) {
    std::vector<int64_t> words = table;
    words.resize(std::bit_ceil(table.size() + 1));
    const std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
    llvm::Value* end = e.number(static_cast<int64_t>(table.size()));
    index = e.masked(e.CreateSelect(e.CreateICmpULT(index, end), index, end), words.size() - 1);
    return e.CreateLoad(e.i64(), e.CreateGEP(e.i64(), e.literal(bytes), index));
}

llvm::Value* numbered_text(Emitter& e, llvm::Value* number) {
    // All texts, each with its NUL, and an index of their offsets. The verifier can check that pointers stay inside.
    std::string all;
    std::vector<uint32_t> begins(std::bit_ceil(e.state().program.texts.size()));
    for (size_t i = 0; i < e.state().program.texts.size(); i++) {
        begins[i] = static_cast<uint32_t>(all.size());
        all += e.state().program.texts[i] + '\0';
    }
    all.resize(std::bit_ceil(all.size()));
    llvm::Value* begin = table_entry(e, begins, e.masked(number, begins.size() - 1));
    return e.CreateGEP(e.getInt8Ty(), e.literal(all), e.masked(begin, all.size() - 1));
}

void define_constants(Emitter& e) {
    auto define = [&](const char* name, llvm::Constant* value, const char* section = ".rodata") {
        llvm::GlobalVariable* old = e.module().getNamedGlobal(name);
        if (!old)
            return;
        auto* fresh =
            new llvm::GlobalVariable(e.module(), value->getType(), true, llvm::GlobalValue::InternalLinkage, value, "");
        fresh->setAlignment(llvm::Align(8));
        if (e.in_kernel())
            fresh->setSection(section);
        old->replaceAllUsesWith(fresh);
        old->eraseFromParent();
        fresh->setName(name);
    };
    uint64_t max = e.state().plan.max_string;
    if (e.in_kernel()) // the runtime sets the value before loading
        define("sonde_numbering",
               llvm::ConstantAggregateZero::get(llvm::ArrayType::get(e.i64(), sizeof(sonde_numbering) / 8)),
               SONDE_NUMBERING_SECTION);
    if (e.module().getNamedGlobal("sonde_site_texts")) {
        std::vector<std::string> texts;
        for (const plan::Site& site : e.state().plan.sites)
            texts.push_back(site.message.text.substr(0, site.message.text.find("%#x")));
        define("sonde_site_texts", cells(e, texts, site_text_bytes));
    }
    if (e.module().getNamedGlobal("sonde_row_texts")) {
        std::vector<std::string> texts = row_texts(e.state().plan);
        // The verifier does not know a row's number, so each possible number must be within the table.
        texts.resize(4 * row_cells(e));
        define("sonde_row_texts", cells(e, texts, row_text_bytes(e.state().plan)));
    }
    define("sonde_rt_flight", e.getInt32(e.state().facts.flight_chunks != 0));
    define("sonde_rt_filter", e.getInt32(e.state().plan.filter_target));
    define("sonde_rt_max", e.getInt32(static_cast<uint32_t>(max)));
    define("sonde_rt_places", e.getInt32(shared_places(e.state().plan)));
    define("sonde_rt_zeros",
           llvm::ConstantAggregateZero::get(llvm::ArrayType::get(e.getInt8Ty(), std::max(e.zeros_size(), max) + max)));
    define("sonde_rt_blanks", llvm::ConstantDataArray::getString(e.getContext(), std::string(max, ' '), true));
    define("sonde_rt_noughts", llvm::ConstantDataArray::getString(e.getContext(), std::string(max, '0'), true));
}

} // namespace sonde
