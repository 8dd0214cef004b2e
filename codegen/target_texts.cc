// Texts as numbers, and tables of numbers.
#include <algorithm>
#include <bit>

#include "codegen/target.h"

namespace sonde {

uint32_t Target::number_of_text(const std::string& text) const {
    const std::vector<std::string>& texts = state_.program.texts;
    std::string cut = text.substr(0, state_.options.max_string - 1);
    auto found = std::lower_bound(texts.begin(), texts.end(), cut);
    return found == texts.end() || *found != cut ? 0 : static_cast<uint32_t>(found - texts.begin());
}

llvm::Value* Target::table_entry(const std::vector<uint32_t>& table, llvm::Value* index) {
    std::string bytes(reinterpret_cast<const char*>(table.data()), table.size() * sizeof table[0]);
    llvm::Value* entry = ir_.CreateGEP(ir_.getInt32Ty(), literal(bytes), index);
    return ir_.CreateZExt(ir_.CreateLoad(ir_.getInt32Ty(), entry), i64());
}

llvm::Value* Target::row_text_number(llvm::Value* row, hir::PointText text) {
    // Rows of handlers whose texts no key holds have none.
    std::vector<uint32_t> table(row_cells());
    std::transform(state_.plan.rows.begin(), state_.plan.rows.end(), table.begin(),
                   [&](const plan::Point& point) { return number_of_text(hir::point_text(text, point)); });
    return table_entry(table, masked(ir_.CreateZExt(row, i64()), table.size() - 1));
}

llvm::Value* Target::text(llvm::Value* number) {
    // One behind the other, each with its NUL, and where each begins. The verifier sees that no pointer leaves them.
    std::string all;
    std::vector<uint32_t> begins(std::bit_ceil(state_.program.texts.size()));
    for (size_t i = 0; i < state_.program.texts.size(); i++) {
        begins[i] = static_cast<uint32_t>(all.size());
        all += state_.program.texts[i] + '\0';
    }
    all.resize(std::bit_ceil(all.size()));
    llvm::Value* begin = table_entry(begins, masked(number, begins.size() - 1));
    return ir_.CreateGEP(ir_.getInt8Ty(), literal(all), masked(begin, all.size() - 1));
}

} // namespace sonde
