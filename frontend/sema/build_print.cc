// Builds the printf family, and statistics (everything written with @extractors).
//
// A print becomes a list of directives and a list of arguments. Only the list of arguments is evaluated in the kernel;
// the session formats them later. The directives must therefore not depend on values.
//
// A statistic keeps only what the script asks for: a count, a sum, one histogram, one shift for the variance. The first
// use decides, and a contradicting later one is an error, because the kernel updates a single record for each value.
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "frontend/ast/walk.h"
#include "frontend/hir/walk.h"
#include "frontend/parse/format.h"
#include "frontend/sema/build_call.h"
#include "frontend/sema/build_expr.h"
#include "frontend/sema/build_print.h"

namespace sonde {

using plan::Directive;

namespace {

bool is_histogram(const ast::Expr& expr) {
    return expr.kind == ast::ExprKind::Statistic &&
           ast::as<ast::StatisticExpr>(expr).extractor >= ast::Extractor::HistLog;
}

// The ending of a counted noun.
const char* plural(size_t count) { return count == 1 ? "" : "s"; }

} // namespace

// Builds a print statement as a list of directives and arguments. printf has them in its format. print, println and
// printd get one directive for each argument, whose conversion follows from the argument's type.
hir::Expr* build_print(Body& b, const ast::PrintExpr& expr) {
    plan::Format format;
    std::vector<hir::Expr*> args;
    bool histogram = false;
    auto literal = [&](const std::string& text) {
        if (text.empty())
            return;
        Directive d;
        d.text = text;
        format.directives.push_back(std::move(d));
    };
    auto value = [&](const ast::Expr& arg) {
        // Text that is printed and not kept has any length.
        if (arg.kind == ast::ExprKind::String && !expr.to_string)
            if (const std::string& text = ast::as<ast::StringExpr>(arg).value;
                text.size() >= b.context.options.max_string())
                return literal(text);
        Directive d;
        d.name = ast::name_of_value(arg);
        if (is_histogram(arg)) {
            const auto& statistic = ast::as<ast::StatisticExpr>(arg);
            hir::Expr* source = build_stats_source(b, *statistic.operand);
            if (!source)
                return;
            histogram = true;
            d.kind = Directive::Histogram;
            d.stats = need_histogram(b, *source, statistic);
            args.push_back(source);
        } else {
            // The type of the argument decides between Long and String (infer.cc).
            d.kind = Directive::Integer;
            d.conversion = 0;
            args.push_back(build_expr(b, arg));
        }
        format.directives.push_back(std::move(d));
    };
    if (expr.has_format) {
        std::optional<size_t> wanted; // empty if the format is wrong, which the parser has reported
        if (Result<std::vector<Directive>> parsed = parse_format(expr.format)) {
            wanted = 0;
            for (const Directive& d : *parsed)
                if (d.kind != Directive::Literal)
                    *wanted += 1u + d.width_is_arg + d.precision_is_arg;
            format.directives = *std::move(parsed);
        }
        for (const ast::Expr* arg : expr.args)
            args.push_back(build_expr(b, *arg));
        if (wanted && *wanted != args.size()) {
            b.context
                .report_once(DiagId::Arity, expr.range,
                             fmt::format("the format takes {0} argument{1}, but {3} {2} given", *wanted,
                                         plural(*wanted), args.size() == 1 ? "is" : "are", args.size()))
                .note(expr.format_range, "the format");
            args.resize(*wanted, b.zero(expr.range));
        } else if (wanted) {
            // Label each directive with the source of its argument, for machine-readable output.
            const ast::Expr* const* arg = expr.args.data();
            for (Directive& d : format.directives)
                if (d.kind != Directive::Literal) {
                    arg += d.width_is_arg + d.precision_is_arg;
                    if (d.name.empty())
                        d.name = ast::name_of_value(**arg);
                    arg++;
                    // The text of a `str` of Python has no quotes, and may look like a number. `%#v` is not shown.
                    if (d.conversion == 'v' && d.flag != '#' && b.point && b.point->python)
                        d.conversion = 's';
                    if (d.conversion == 'v' && expr.to_string)
                        b.context.report_once(DiagId::BadFormat, expr.format_range,
                                              "`%v` is not available in a text; print the value, or use `%s`");
                }
        }
    } else {
        for (size_t i = 0; i < expr.args.size(); i++) {
            if (i && expr.has_delimiter)
                literal(expr.format);
            value(*expr.args[i]);
        }
        if (expr.newline)
            literal("\n");
    }
    auto* print = b.make<hir::Print>(expr.range, std::move(format), std::move(args), expr.to_string);
    if (histogram)
        b.tables.histogram_prints.push_back(print);
    return print;
}

hir::Expr* build_stats_source(Body& b, const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Index) {
        hir::Expr* element = build_expr(b, expr);
        return element->kind == hir::ExprKind::Element ? element : nullptr;
    }
    if (expr.kind != ast::ExprKind::Name) {
        b.context
            .report_once(DiagId::BadStatistic, expr.range, fmt::format("`{}` is not a statistic", ast::to_source(expr)))
            .help("use a global or an element of a global array as a statistic");
        return nullptr;
    }
    const std::string& name = ast::as<ast::NameExpr>(expr).name;
    hir::Global* global = b.find_local(name) ? nullptr : b.find_global(name);
    if (!global) {
        b.context
            .report_once(DiagId::BadStatistic, expr.range,
                         fmt::format("`{}` is a local variable, and statistics are global", name))
            .help(fmt::format("declare `global {}`", name));
        return nullptr;
    }
    if (!b.names.use_as(*global, Shape::Scalar, expr.range))
        return nullptr;
    return b.make<hir::GlobalRef>(expr.range, global);
}

// Records which histogram the global keeps. A global can keep only one.
plan::StatsNeeds need_histogram(Body& b, hir::Expr& source, const ast::StatisticExpr& expr) {
    hir::Global& global = *global_of(source);
    plan::StatsNeeds wanted;
    wanted.histogram = expr.extractor == ast::Extractor::HistLog ? plan::StatsNeeds::Log : plan::StatsNeeds::Linear;
    wanted.elision = b.context.options.limits.hist_elision;
    wanted.bar_width = b.context.options.limits.hist_width;
    if (expr.params.size() == 3) {
        wanted.low = expr.params[0];
        wanted.high = expr.params[1];
        wanted.width = expr.params[2];
    }
    if (wanted.histogram == plan::StatsNeeds::Linear) {
        // Two of the buckets are for values below and above the range.
        const uint64_t span = static_cast<uint64_t>(wanted.high) - static_cast<uint64_t>(wanted.low);
        const uint64_t buckets = span / static_cast<uint64_t>(wanted.width) + 1,
                       most = b.context.options.limits.max_buckets - 2;
        if (buckets > most) {
            b.context
                .report_once(DiagId::BadStatistic, expr.range,
                             fmt::format("a linear histogram can have at most {} buckets, and these bounds need {}",
                                         most, buckets))
                .help(fmt::format("use a bucket width of at least {}, or -DSTP_MAX_BUCKETS={}", span / most + 1,
                                  buckets == UINT64_MAX ? buckets : buckets + 2));
            return wanted;
        }
    }
    // A trial (@defined) must not decide which histogram the global keeps.
    if (b.context.trying)
        return wanted;
    plan::StatsNeeds& have = global.stats;
    if (have.histogram == plan::StatsNeeds::None) {
        have.histogram = wanted.histogram;
        have.low = wanted.low;
        have.high = wanted.high;
        have.width = wanted.width;
        have.elision = wanted.elision;
        have.bar_width = wanted.bar_width;
        b.tables.fixed_at[&have.histogram] = expr.range;
    } else if (have.histogram != wanted.histogram || have.low != wanted.low || have.high != wanted.high ||
               have.width != wanted.width) {
        b.context
            .report_once(
                DiagId::BadStatistic, expr.range,
                fmt::format("`{}` already keeps another histogram, and a statistic can keep only one", global.name))
            .note(b.tables.fixed_at[&have.histogram], "the other histogram");
    }
    return wanted;
}

hir::Expr* build_statistic(Body& b, const ast::StatisticExpr& expr) {
    if (is_histogram(expr)) {
        b.context
            .report_once(DiagId::BadStatistic, expr.range, "a histogram can only be printed, indexed or walked over")
            .help("print(@hist_log(x)), @hist_log(x)[i], foreach (b in @hist_log(x))");
        return b.zero(expr.range);
    }
    hir::Expr* source = build_stats_source(b, *expr.operand);
    if (!source)
        return b.zero(expr.range);
    // `@variance(x, N)` shifts the values by N bits to avoid an overflow. The statistic is updated for one N only.
    if (expr.extractor == ast::Extractor::Variance && !b.context.trying) {
        int64_t shift = expr.params.empty() ? 0 : expr.params[0];
        hir::Global& global = *global_of(*source);
        auto [place, fresh] = b.tables.fixed_at.try_emplace(&global.stats.variance_shift, expr.range);
        if (fresh)
            global.stats.variance_shift = shift;
        if (shift < 0 || shift > 62)
            b.context.report_once(DiagId::BadStatistic, expr.range,
                                  fmt::format("the shift of `@variance` must be from 0 to 62, not {}", shift));
        else if (shift != global.stats.variance_shift)
            b.context
                .report_once(DiagId::BadStatistic, expr.range,
                             fmt::format("`{}` already has another shift for its variance", global.name))
                .note(place->second, "here");
    }
    auto* read = b.make<hir::StatRead>(expr.range, static_cast<hir::StatValue>(expr.extractor), source);
    if (expr.extractor == ast::Extractor::Percentile)
        read->percentile = expr.params[0];
    return read;
}

hir::Expr* build_bucket(Body& b, const ast::HistIndexExpr& expr) {
    hir::Expr* source = build_stats_source(b, *expr.histogram->operand);
    if (!source)
        return b.zero(expr.range);
    if (!is_histogram(*expr.histogram)) {
        b.context.report_once(DiagId::BadStatistic, expr.range, "only a histogram has buckets");
        return b.zero(expr.range);
    }
    need_histogram(b, *source, *expr.histogram);
    return b.make<hir::HistBucket>(expr.range, source, build_expr(b, *expr.index));
}

// Builds `n in @hist_log(x)`: whether n is the number of a bucket.
hir::Expr* build_in_histogram(Body& b, const ast::StatisticExpr& histogram, const ast::Expr& number, Range range) {
    hir::Expr* source = build_stats_source(b, *histogram.operand);
    if (!source)
        return b.zero(range);
    if (!is_histogram(histogram)) {
        b.context.report_once(DiagId::BadStatistic, histogram.range, "only a histogram has buckets");
        return b.zero(range);
    }
    b.tables.asked.insert(global_of(*source));
    const uint32_t buckets = need_histogram(b, *source, histogram).buckets();
    NamedFunction* function = b.names.find_function("__is_bucket", 2, b.file, range);
    return build_call_to(b, *function, {build_expr(b, number), b.make<hir::ConstLong>(range, buckets)}, range);
}

} // namespace sonde
