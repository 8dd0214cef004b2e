// Updates statistics in memory (plan::StatsBlock).
#pragma once

#include "runtime/plan/plan.h"

namespace llvm {
class Value;
}

namespace sonde {

class Emitter;

// Adds a value to a StatsBlock and to the buckets that follow it in memory.
void add_to_statistic(Emitter& e, llvm::Value* stats, const plan::StatsNeeds& needs, llvm::Value* value);

} // namespace sonde
