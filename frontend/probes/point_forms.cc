// The forms of probe points, from the rows of probe_kinds.def. They are the basis for the list of all probe points, and
// for patterns such as `timer.*(1)` or `process("p").**`.
// A pattern becomes a list of points, which the kinds then resolve:
//
//    timer.*(1)       -> timer.s(1), timer.ms(1), timer.hz(1) ...
//    process("p").**  -> process("p").begin, process("p").syscall.return, process("p").plt ...
#include <algorithm>
#include <set>
#include <string_view>

#include "base/glob.h"
#include "frontend/probes/probe.h"

namespace sonde {
namespace {

using ast::PointComponent;

const char* const rows[] = {
#define PROBE_KIND(first, second, function, variables, forms, ...) forms,
#include "frontend/probes/probe_kinds.def"
#undef PROBE_KIND
};

// Expands the braces in `rest` (see probe_kinds.def), and adds each resulting form with the prefix `before`.
void add_forms(const std::string& before, std::string_view rest, std::vector<std::string>& forms) {
    const size_t open = rest.find('{'), close = rest.find('}');
    if (open == std::string_view::npos) {
        forms.push_back(before + std::string(rest));
        return;
    }
    const std::string head = before + std::string(rest.substr(0, open));
    for (std::string_view choices = rest.substr(open + 1, close - open - 1);;) {
        const size_t bar = choices.find('|');
        add_forms(head + std::string(choices.substr(0, bar)), rest.substr(close + 1), forms);
        if (bar == std::string_view::npos)
            return;
        choices.remove_prefix(bar + 1);
    }
}

std::vector<std::string> all_forms() {
    std::vector<std::string> forms;
    for (std::string_view rest : rows)
        while (!rest.empty()) {
            std::string_view form = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(form.size() + 1, rest.size()));
            add_forms("", form, forms);
        }
    return forms;
}

// A component of a form.
struct Step {
    std::string_view name;
    PointComponent::Arg arg = PointComponent::None;
    bool is_shy = false; // not matched by a pattern that consists of stars only
};

std::vector<Step> steps_of(std::string_view form) {
    std::vector<Step> out;
    while (!form.empty()) {
        std::string_view part = form.substr(0, form.find('.'));
        form.remove_prefix(std::min(part.size() + 1, form.size()));
        Step step;
        step.is_shy = part.starts_with('-');
        part.remove_prefix(step.is_shy);
        const size_t open = part.find('(');
        step.name = part.substr(0, open);
        if (open != std::string_view::npos)
            step.arg = part.substr(open).starts_with("(num") ? PointComponent::Number : PointComponent::String;
        out.push_back(step);
    }
    return out;
}

// Matches the components of a pattern with those of a form by backtracking, and collects the matches. `match(at, step)`
// matches the rest of the pattern from component `at` with the rest of the form from `step`; `way` has the components
// so far. A match takes its names from the form, but its arguments from the pattern. If the form has a `*`, it takes
// the name from the pattern too, and the kind's resolver expands it.
struct Matching {
    const std::vector<PointComponent>& pattern;
    const std::vector<Step>& steps;
    std::vector<std::vector<PointComponent>>& found;
    std::vector<PointComponent> way = {};

    void match(size_t at, size_t step) {
        if (at == pattern.size()) {
            if (step == steps.size())
                found.push_back(way);
            return;
        }
        const PointComponent& wanted = pattern[at];
        const bool crosses = wanted.name.find("**") != std::string::npos;
        std::string joined;
        // A `**` matches any number of components. Only the last of them may have an argument.
        for (size_t end = step + 1; end <= steps.size() && (crosses || end == step + 1); end++) {
            const Step& last = steps[end - 1];
            if (last.is_shy && wanted.name.find_first_not_of('*') == std::string::npos)
                break;
            joined += (joined.empty() ? "" : ".") + std::string(last.name);
            if (last.arg == wanted.arg && (glob_match(wanted.name, joined) || (last.name == "*" && !crosses))) {
                const size_t before = way.size();
                for (size_t i = step; i < end; i++) {
                    PointComponent& one = way.emplace_back(wanted);
                    if (crosses || last.name != "*")
                        one.name = steps[i].name;
                    if (i + 1 < end)
                        one.arg = PointComponent::None;
                }
                match(at + 1, end);
                way.resize(before);
            }
            if (last.arg != PointComponent::None)
                break;
        }
    }
};

} // namespace

std::vector<std::string> probe_point_forms() {
    std::vector<std::string> forms = all_forms();
    std::erase_if(forms, [](const std::string& form) { return form.starts_with("__"); });
    for (std::string& form : forms)
        std::erase(form, '-');
    std::sort(forms.begin(), forms.end());
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    return forms;
}

std::vector<ast::ProbePoint> match_forms(const ast::ProbePoint& pattern) {
    std::vector<ast::ProbePoint> out;
    std::set<std::string> seen;
    const std::string& first = pattern.components[0].name;
    const bool is_open = has_wildcard(first);
    for (const std::string& form : all_forms()) {
        const std::vector<Step> steps = steps_of(form);
        // Names that begin with underscores are internal; only the library's aliases use them.
        if (is_open ? form.starts_with("__") : steps[0].name != first)
            continue;
        std::vector<std::vector<PointComponent>> found;
        Matching{pattern.components, steps, found}.match(0, 0);
        for (std::vector<PointComponent>& components : found) {
            ast::ProbePoint point = pattern;
            point.components = std::move(components);
            if (seen.insert(ast::to_source(point)).second)
                out.push_back(std::move(point));
        }
    }
    return out;
}

} // namespace sonde
