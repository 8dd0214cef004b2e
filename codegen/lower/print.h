// printf and similar functions. Output becomes a record that the runtime formats, or a string that is built here.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// A part of a record after its longs: a string, a block of `size` bytes, or bytes in a slot with their number in
// `length`.
struct Piece {
    llvm::Value* pointer;
    uint64_t size = 0;
    llvm::Value* length = nullptr;
};

// Returns the string of a print that makes one (sprintf()). Otherwise sends a record, and returns 0.
llvm::Value* lower_print(Lowerer& l, const hir::Print& expr);
// Builds the text of a print that returns a string, in this slot.
void print_into(Lowerer& l, const hir::Print& expr, llvm::Value* slot);
// Sends the record of a hit (plan::Format::is_hit).
void send_hit(Lowerer& l);
// Sends a Print record, with the context that plan::Plan::tells_context requests.
// `in_place`: as for send_record().
void send_print(Lowerer& l, plan::Format format, std::vector<llvm::Value*> longs, std::vector<Piece> rest,
                llvm::Value* in_place = nullptr);
// Sends a record: header, longs, and `rest` (strings with their NUL, or blocks of a known size). `type`: a
// plan::RecordType. `format`: a number of PlanState::add_format, or 0. `in_place`: memory of the record in which the
// only part of `rest`, a string, already has its place; null: the record is composed elsewhere.
void send_record(Lowerer& l, uint32_t type, uint32_t format, const std::vector<llvm::Value*>& longs,
                 const std::vector<Piece>& rest, llvm::Value* in_place = nullptr);

} // namespace sonde
