// Texts that are known while the script is translated.
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

constexpr uint32_t name_cell = 32; // of a table of names: bytes of each, padded with NULs

// A local that stands for a text is that text.
const hir::Expr* see_through(const hir::Expr* expr);
// What a text of the probe point is, if it is the same wherever this code runs.
std::optional<std::string> known_point_text(const Lowerer& l, hir::PointText text);

// A literal, names separated by `|`; none after a report.
std::vector<std::string> names_of(Lowerer& l, const hir::Expr& names, const std::string& primitive);
// As cells of 32 bytes, a power of two of them and at least one without a name at the end; null after a report.
llvm::Value* name_table(Lowerer& l, const hir::Expr& names, const std::string& primitive, size_t& count);
// Within such a table, whatever the number is.
llvm::Value* index_of_name(Lowerer& l, const hir::Expr& number, size_t count);
// An address as a number, which the verifier takes for one too: it goes through memory after the slot's text, of which
// the verifier remembers nothing.
// Routines that it checks once take pointers to what can be written only.
llvm::Value* number_of(Lowerer& l, llvm::Value* address, llvm::Value* slot);

} // namespace sonde
