// Builds the printf family, and statistics (everything written with @extractors).
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

// Builds printf, print, sprint and the rest of the family.
hir::Expr* build_print(Body& b, const ast::PrintExpr& expr);
// Builds an extractor, such as `@count(x)`. Histograms are only allowed in the places below, and in print.
hir::Expr* build_statistic(Body& b, const ast::StatisticExpr& expr);
// Builds `@hist_log(x)[i]`.
hir::Expr* build_bucket(Body& b, const ast::HistIndexExpr& expr);
// Builds `n in @hist_log(x)`: whether n is the number of a bucket.
hir::Expr* build_in_histogram(Body& b, const ast::StatisticExpr& histogram, const ast::Expr& number, Range range);
// Builds `x` in `x <<< 1` and `@count(x)`: a global scalar or an element. Returns null after reporting an error.
hir::Expr* build_stats_source(Body& b, const ast::Expr& expr);
// Records which histogram the global keeps, and returns its parameters. A global can keep only one.
plan::StatsNeeds need_histogram(Body& b, hir::Expr& source, const ast::StatisticExpr& expr);

} // namespace sonde
