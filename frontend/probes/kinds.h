// Declarations shared by the kind_*.cc files and resolve.cc. Private to frontend/probes.
#pragma once

#include "frontend/probes/probe.h"

namespace sonde {

// The state while one probe point is resolved.
struct Resolving {
    const ast::ProbePoint& point;
    ProbeEnvironment& env;
    Diagnostics& diags;

    const std::vector<ast::PointComponent>& components() const { return point.components; }
    // Returns the component at `index`, or null after the last one.
    const ast::PointComponent* at(size_t index) const {
        return index < point.components.size() ? &point.components[index] : nullptr;
    }
};

#define PROBE_KIND(first, second, function, ...) std::vector<ResolvedPoint> function(Resolving& resolving);
#include "frontend/probes/probe_kinds.def"
#undef PROBE_KIND

// Whether kernels of the architecture have a system call with this name, for 64-bit or 32-bit programs.
bool is_syscall(std::string_view name, const Architecture& architecture);

// Returns the source form of the components before `end`. For many kinds this is also pp().
std::string point_text(const ast::ProbePoint& point, size_t end = SIZE_MAX);
// Returns `text` as a string literal of the language.
std::string quoted(const std::string& text);

// Reports that the component at `index` is not allowed there or, at the end, that one is missing. Suggests the most
// similar of `allowed`, and lists them. `later` has components that the language allows but sonde does not support yet.
void report_component(Resolving& resolving, size_t index, const std::vector<std::string>& allowed,
                      const std::vector<std::string>& later = {});
// Checks the kind of the component's argument. Reports an error and returns false if it is different.
bool expect_argument(Resolving& resolving, const ast::PointComponent& component, ast::PointComponent::Arg wanted);
// Reports an error and returns false if there is a component at `index`.
bool expect_end(Resolving& resolving, size_t index, const std::vector<std::string>& allowed = {});
// Reads an optional `.maxactive(N)` after `.return` and returns its text in `text`. The number has no effect, because
// sonde does not limit the number of concurrent calls. Returns false after reporting an error.
bool read_active(Resolving& resolving, size_t index, std::string& text);

} // namespace sonde
