// Texts that are known at compile time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

constexpr uint32_t name_cell = 32; // bytes of a name in a table, padded with NULs

// If the expression is a local that always has the same text, returns that text.
const hir::Expr* see_through(const hir::Expr* expr);
// The value of a text of the probe point, if it is the same wherever this code runs.
std::optional<std::string> known_point_text(const Lowerer& l, hir::PointText text);

// Splits a literal into the names between `|`. Returns nothing after a report.
std::vector<std::string> names_of(Lowerer& l, const hir::Expr& names, const std::string& primitive);
// A table of these names, 32 bytes each. Its size is a power of two, with at least one empty name at the end. Null
// after a report.
llvm::Value* name_table(Lowerer& l, const hir::Expr& names, const std::string& primitive, size_t& count);
// The number, limited to the indices of such a table.
llvm::Value* index_of_name(Lowerer& l, llvm::Value* number, size_t count);
// Converts an address to a number. The verifier forgets that it was a pointer, because it goes through memory after the
// slot's text. Global functions accept only pointers to writable memory, so addresses of constants are passed as
// numbers.
llvm::Value* number_of(Lowerer& l, llvm::Value* address, llvm::Value* slot);

} // namespace sonde
