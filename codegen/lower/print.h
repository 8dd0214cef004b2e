// printf and its family: a record for the runtime to format, or a string built here.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// What a record has after its longs: a string, a block of `size` bytes, or bytes in a slot with their count.
struct Piece {
    llvm::Value* pointer;
    uint64_t size = 0;
    llvm::Value* length = nullptr;
};

llvm::Value* lower_print(Lowerer& l, const hir::Print& expr);
// The text of one that gives a string, in that slot.
void print_into(Lowerer& l, const hir::Print& expr, llvm::Value* slot);
// The record of a hit (plan::Format::is_hit).
void send_hit(Lowerer& l);
// A Print record, with what CodegenOptions::tells_context adds.
void send_print(Lowerer& l, plan::Format format, std::vector<llvm::Value*> longs, std::vector<Piece> rest);
// A record: header, longs, then the rest (strings with their NUL, or blocks of a known size). `type` is a
// plan::RecordType, `format` a number of PlanState::add_format or 0.
void send_record(Lowerer& l, uint32_t type, uint32_t format, const std::vector<llvm::Value*>& longs,
                 const std::vector<Piece>& rest);

} // namespace sonde
