// What kind_*.cc share with resolve.cc. Private to frontend/probes.
#pragma once

#include "frontend/probes/probe.h"

namespace sonde {

// One probe point on its way to addresses.
struct Resolving {
    const ast::ProbePoint& point;
    ProbeEnvironment& env;
    Diagnostics& diags;

    const std::vector<ast::PointComponent>& components() const { return point.components; }
    // The component at `index`; null after the last one.
    const ast::PointComponent* at(size_t index) const {
        return index < point.components.size() ? &point.components[index] : nullptr;
    }
};

#define PROBE_KIND(first, second, function, variables, forms) std::vector<ResolvedPoint> function(Resolving& resolving);
#include "frontend/probes/probe_kinds.def"
#undef PROBE_KIND

// Whether the kernel has a system call of that name, for programs of either size.
bool is_syscall(std::string_view name);

// The components before `end` as they would be written; pp() of points that need nothing more.
std::string point_text(const ast::ProbePoint& point, size_t end = SIZE_MAX);
// `text` as a string literal of the language.
std::string quoted(const std::string& text);

// Reports that the component at `index` cannot stand there (or, at the end, that one is missing), with the nearest of
// `allowed` and all of them. `later`: what the language has there and sonde has not yet.
void report_component(Resolving& resolving, size_t index, const std::vector<std::string>& allowed,
                      const std::vector<std::string>& later = {});
// False and a report unless the component's argument is of that kind.
bool expect_argument(Resolving& resolving, const ast::PointComponent& component, ast::PointComponent::Arg wanted);
// False and a report if there is a component at `index`.
bool expect_end(Resolving& resolving, size_t index, const std::vector<std::string>& allowed = {});
// Reads the `.maxactive(N)` that may follow `.return`, and gives its text; false after a report. How many calls can be
// under way is not limited here, so nobody needs the number.
bool read_active(Resolving& resolving, size_t index, std::string& text);

} // namespace sonde
