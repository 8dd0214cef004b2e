#include "codegen/statistics.h"

#include "codegen/emitter.h"

namespace sonde {

void add_to_statistic(Emitter& e, llvm::Value* stats, const plan::StatsNeeds& needs, llvm::Value* value) {
    e.routine("sonde_rt_stat_add", e.i64(), {stats, value});
    if (needs.variance)
        e.routine("sonde_rt_stat_square", e.i64(), {stats, value});
    if (needs.histogram == plan::StatsNeeds::None)
        return;
    llvm::Value* bucket = needs.histogram == plan::StatsNeeds::Log
                              ? e.routine("sonde_rt_log_bucket", e.i64(), {value})
                              : e.routine("sonde_rt_linear_bucket", e.i64(),
                                          {value, e.number(needs.low), e.number(needs.high), e.number(needs.width)});
    llvm::BasicBlock *inside = e.block("bucket"), *end = e.block("counted");
    e.CreateCondBr(e.CreateICmpULT(bucket, e.number(needs.buckets())), inside, end);
    e.SetInsertPoint(inside);
    llvm::Value* at = e.CreateGEP(e.i64(), e.offset(stats, sizeof(plan::StatsBlock)), bucket);
    e.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at, e.number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    e.CreateBr(end);
    e.SetInsertPoint(end);
}

} // namespace sonde
