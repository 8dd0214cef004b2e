#include "codegen/emit/statistics.h"

#include "codegen/emit/emitter.h"

namespace sonde {
namespace {

// Adds 1 to the bucket with this number. `offset`: of the first bucket in `stats`; `buckets`: their count. Ignores
// larger numbers.
void count_in(Emitter& e, llvm::Value* stats, uint64_t offset, llvm::Value* bucket, uint32_t buckets) {
    llvm::BasicBlock *inside = e.block("bucket"), *end = e.block("counted");
    e.CreateCondBr(e.CreateICmpULT(bucket, e.number(buckets)), inside, end);
    e.SetInsertPoint(inside);
    llvm::Value* at = e.CreateGEP(e.i64(), e.offset(stats, offset), bucket);
    e.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at, e.number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    e.CreateBr(end);
    e.SetInsertPoint(end);
}

} // namespace

void add_to_statistic(Emitter& e, llvm::Value* stats, const plan::StatsNeeds& needs, llvm::Value* value) {
    e.routine("sonde_rt_stat_add", e.i64(), {stats, value});
    if (needs.variance)
        e.routine("sonde_rt_stat_square", e.i64(), {stats, value});
    if (needs.histogram == plan::StatsNeeds::Log)
        count_in(e, stats, sizeof(plan::StatsBlock), e.routine("sonde_rt_log_bucket", e.i64(), {value}),
                 needs.buckets());
    if (needs.histogram == plan::StatsNeeds::Linear)
        count_in(e, stats, sizeof(plan::StatsBlock),
                 e.routine("sonde_rt_linear_bucket", e.i64(),
                           {value, e.number(needs.low), e.number(needs.high), e.number(needs.width)}),
                 needs.buckets());
    if (needs.quantiles)
        count_in(e, stats, plan::quantiles_at(needs), e.routine("sonde_rt_quantile_bucket", e.i64(), {value}),
                 SONDE_QUANTILE_BUCKETS);
}

} // namespace sonde
