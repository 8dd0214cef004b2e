#include "driver/metric_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frontend/hir/walk.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// As far as its form tells: constants, what is yes or no, counts, and C's unsigned types but the widest.
bool is_never_negative(const hir::Expr& expr) {
    switch (expr.kind) {
    case hir::ExprKind::ConstLong:
        return hir::as<hir::ConstLong>(expr).value >= 0;
    case hir::ExprKind::Logical:
    case hir::ExprKind::Contains:
    case hir::ExprKind::Regex:
        return true;
    case hir::ExprKind::StatRead:
        return hir::as<hir::StatRead>(expr).what == hir::StatValue::Count;
    case hir::ExprKind::Unary:
        return hir::as<hir::Unary>(expr).op == hir::UnaryOp::Not;
    case hir::ExprKind::Load: {
        const auto& load = hir::as<hir::Load>(expr);
        return !load.is_signed && load.size < 8;
    }
    case hir::ExprKind::Retype: {
        const auto& retype = hir::as<hir::Retype>(expr);
        return !retype.is_signed && retype.size < 8;
    }
    case hir::ExprKind::Ternary: {
        const auto& ternary = hir::as<hir::Ternary>(expr);
        return is_never_negative(*ternary.then_value) && is_never_negative(*ternary.else_value);
    }
    case hir::ExprKind::Binary: {
        const auto& binary = hir::as<hir::Binary>(expr);
        switch (binary.op) {
        case hir::BinaryOp::Eq:
        case hir::BinaryOp::Ne:
        case hir::BinaryOp::Lt:
        case hir::BinaryOp::Le:
        case hir::BinaryOp::Gt:
        case hir::BinaryOp::Ge:
            return true;
        case hir::BinaryOp::And:
            return is_never_negative(*binary.left) || is_never_negative(*binary.right);
        case hir::BinaryOp::Add:
        case hir::BinaryOp::Div:
        case hir::BinaryOp::Mod:
            return is_never_negative(*binary.left) && is_never_negative(*binary.right);
        default:
            return false;
        }
    }
    default:
        return false;
    }
}

// Globals that the script changes in another way than by adding what is never negative. Deleting is no other way: a
// counter that begins anew is known to whoever reads it.
class Changes {
  public:
    void see(const hir::Expr& expr) {
        if (expr.kind != hir::ExprKind::Assign)
            return;
        const auto& assign = hir::as<hir::Assign>(expr);
        const hir::Global* global = global_of(*assign.target);
        if (!global)
            return;
        (assign.op == hir::BinaryOp::Add && is_never_negative(*assign.value) ? added : others).insert(global);
    }
    std::set<const hir::Global*> added, others;
};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const size_t first = text.find_first_not_of(blanks);
    return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> names_in(std::string_view list) {
    std::vector<std::string> out;
    for (;;) {
        const size_t comma = std::min(list.find(','), list.size());
        out.emplace_back(trimmed(list.substr(0, comma)));
        if (comma == list.size())
            return out;
        list.remove_prefix(comma + 1);
    }
}

// The names in a comment `labels: ...` in the rest of the line after the declared name.
std::vector<std::string> labels_after(const Sources& sources, Range declared) {
    std::string_view rest = sources.text(declared.file).substr(declared.end);
    rest = rest.substr(0, rest.find('\n'));
    for (const std::string_view begin : {"#", "//", "/*"})
        if (const size_t at = rest.find(begin); at != rest.npos) {
            std::string_view comment = trimmed(rest.substr(at + begin.size()));
            constexpr std::string_view word = "labels:";
            if (!comment.starts_with(word))
                continue;
            comment.remove_prefix(word.size());
            return names_in(comment.substr(0, comment.find("*/")));
        }
    return {};
}

// That it may be what others call a label: letters, digits and _, not beginning with a digit or with __.
bool is_label(const std::string& name) {
    const auto is_good = [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    return !name.empty() && std::ranges::all_of(name, is_good) && !(name[0] >= '0' && name[0] <= '9') &&
           !name.starts_with("__");
}

// Why they cannot be the labels of that array; empty: they can.
std::string why_no_labels(const plan::Global& global, const std::vector<std::string>& names) {
    if (global.keys.empty())
        return fmt::format("`{}` is no array", global.name);
    if (names.size() != global.keys.size())
        return fmt::format("`{}` has {} key{}, and {} name{} given", global.name, global.keys.size(),
                           global.keys.size() == 1 ? "" : "s", names.size(), names.size() == 1 ? " is" : "s are");
    for (const std::string& name : names)
        if (!is_label(name))
            return fmt::format("`{}` is no name of a label: letters, digits and _, not beginning with a digit or __",
                               name);
    return "";
}

} // namespace

void note_metric_facts(plan::Plan& plan, const hir::Program& program, const Sources& sources) {
    Changes changes;
    for (const hir::Handler* handler : program.handlers)
        for_each_expr(*handler, [&](const hir::Expr& expr) { changes.see(expr); });
    for (const hir::Function* function : program.functions)
        for_each_expr(*function->body, [&](const hir::Expr& expr) { changes.see(expr); });
    std::map<std::string, const hir::Global*> by_name;
    for (const hir::Global* global : program.globals)
        if (global->is_own)
            by_name[global->name] = global;
    for (plan::Global& global : plan.globals) {
        const auto found = by_name.find(global.name);
        if (!global.is_own || found == by_name.end())
            continue;
        global.only_grows = global.type == plan::Value::Long && changes.added.contains(found->second) &&
                            !changes.others.contains(found->second);
        if (!found->second->range.valid())
            continue;
        std::vector<std::string> labels = labels_after(sources, found->second->range);
        if (labels.empty() || global.keys.empty())
            continue;
        if (const std::string why = why_no_labels(global, labels); !why.empty())
            warn(fmt::format("the comment `labels:` at {}: {}", sources.place(found->second->range), why));
        else
            global.labels = std::move(labels);
    }
}

Result<void> set_labels(plan::Plan& plan, const Options& options) {
    for (const auto& [array, names] : options.labels) {
        const auto global = std::ranges::find_if(
            plan.globals, [&, &array = array](const plan::Global& one) { return one.is_own && one.name == array; });
        if (global == plan.globals.end()) {
            std::vector<std::string> known;
            for (const plan::Global& one : plan.globals)
                if (one.is_own && !one.keys.empty())
                    known.push_back(one.name);
            return Error(fmt::format("--label {}: the script has no such array{}", array,
                                     known.empty() ? "" : fmt::format("; it has {}", fmt::join(known, ", "))));
        }
        if (const std::string why = why_no_labels(*global, names); !why.empty())
            return Error(fmt::format("--label {}: {}", array, why));
        global->labels = names;
    }
    return {};
}

std::string add_label(Options& options, const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        return fmt::format("--label {}: expected ARRAY=NAME,NAME, a name for each component of the key", text);
    options.labels.emplace_back(text.substr(0, equals), names_in(std::string_view(text).substr(equals + 1)));
    return "";
}

} // namespace sonde
