// Names of the parts of arrays' keys, for metrics: `global reads # labels: task, file`, or --label, which wins.
#include <algorithm>

#include <fmt/format.h>

#include "base/label_names.h"
#include "frontend/sema/phases.h"

namespace sonde {
namespace {

// The names in a comment `labels: ...` on the rest of the line after the declared name.
std::vector<std::string> labels_after(const Sources& sources, Range declared) {
    std::string_view rest = sources.text(declared.file).substr(declared.end);
    rest = rest.substr(0, rest.find('\n'));
    for (const std::string_view begin : {"#", "//", "/*"})
        if (const size_t at = rest.find(begin); at != rest.npos) {
            std::string_view comment = rest.substr(at + begin.size());
            comment.remove_prefix(std::min(comment.find_first_not_of(" \t"), comment.size()));
            constexpr std::string_view word = "labels:";
            if (!comment.starts_with(word))
                continue;
            comment.remove_prefix(word.size());
            return split_label_names(comment.substr(0, comment.find("*/")));
        }
    return {};
}

} // namespace

void name_keys(hir::Program& program, SemaContext& context) {
    Diagnostics& diags = context.diags;
    std::vector<std::string> arrays;
    for (hir::Global* global : program.globals) {
        if (!global->is_own || !global->is_array())
            continue;
        arrays.push_back(global->name);
        if (!global->range.valid())
            continue;
        std::vector<std::string> names = labels_after(diags.sources(), global->range);
        if (names.empty())
            continue;
        if (const std::string why = why_no_labels(global->name, global->keys.size(), names); !why.empty())
            diags.report(DiagId::LabelComment, global->range, fmt::format("the comment `labels:`: {}", why));
        else
            global->labels = std::move(names);
    }
    for (const ArrayLabels& given : context.options.labels) {
        const auto global = std::ranges::find_if(
            program.globals, [&](const hir::Global* one) { return one->is_own && one->name == given.array; });
        std::string why;
        if (global == program.globals.end())
            why = fmt::format("the script has no such array{}",
                              arrays.empty() ? "" : fmt::format("; it has {}", fmt::join(arrays, ", ")));
        else
            why = why_no_labels(given.array, (*global)->keys.size(), given.names);
        if (!why.empty())
            diags.report(DiagId::BadLabel, {}, fmt::format("--label {}: {}", given.array, why));
        else
            (*global)->labels = given.names;
    }
}

} // namespace sonde
