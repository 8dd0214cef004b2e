// Parts of the plan that are filled while code is generated.
//
// A handler in the kernel cannot format a message. It stores the number of a "site", and the runtime has the message
// and the place for each site. The same holds for formats of printf() and for calls that lead to an error.
#include "codegen/emit/plan_state.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "runtime/plan/counts.h"

namespace sonde {

uint32_t PlanState::add_format(const plan::Format& format) {
    plan.formats.push_back(format);
    return static_cast<uint32_t>(plan.formats.size() - 1);
}

namespace {
plan::ErrorPlace near(const Sources& sources, const std::string& text, Range range) {
    const bool name = !text.empty() && (isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_' ||
                                        text[0] == '$' || text[0] == '@');
    return {fmt::format("{} '{}' at {}", name ? "identifier" : "operator", text, sources.place(range)),
            sources.is_tapset(range.file)};
}
} // namespace

uint32_t PlanState::add_site(const plan::ErrorMessage& message, Range range) {
    plan::Site site;
    site.message = message;
    if (range.valid()) {
        std::string text(sources.text(range));
        if (text.size() > 40)
            text.resize(40);
        for (char& c : text)
            if (c == '\n')
                c = ' ';
        site.near = near(sources, text, range);
    }
    plan.sites.push_back(site);
    return static_cast<uint32_t>(plan.sites.size() - 1);
}

uint32_t PlanState::add_call(const std::string& callee, Range range) {
    // Quote only the function's name, because the range includes the arguments.
    std::string_view text = sources.text(range);
    const auto is_part = [](unsigned char c) { return isalnum(c) || c == '_' || c == '$' || c == '@'; };
    const auto end = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_part) - text.begin());
    const plan::ErrorPlace place = near(sources, end ? std::string(text.substr(0, end)) : callee, range);
    auto [entry, fresh] = calls.try_emplace(place.text, static_cast<uint32_t>(plan.calls.size() + 1));
    if (fresh)
        plan.calls.push_back(place);
    return std::min(entry->second, plan::unknown_call);
}

uint64_t hit_note_offset(const plan::Plan& plan) {
    return (plan.marks + plan::mark_kinds * plan.marks_size() + 7) & ~7ull;
}

uint64_t PlanState::entry_offset(const hir::Handler& handler, size_t index) const {
    uint64_t at = 8;
    for (size_t i = 0; i < index; i++)
        at += handler.entry_values[i]->type == hir::ValueType::String ? plan.max_string : 8;
    return at;
}

} // namespace sonde
