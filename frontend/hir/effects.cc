// Primitives that change a program or a decision of the kernel have facts for that in their row. For the others, a row
// does not tell: `system` and `commit` both send a record to the session, which runs a command for one, and prints a
// text for the other. So those that have an effect are listed here. The build fails if a primitive with an effect is in
// neither list.
#include "frontend/hir/effects.h"

#include <algorithm>
#include <string_view>

#include "runtime/plan/data.h"
#include "runtime/plan/group_names.h"
#include "runtime/plan/records.h"

namespace sonde::hir {
namespace {

constexpr Primitive all[] = {
#define PRIMITIVE(name_, emitter, ...) {.name = name_ __VA_OPT__(, ) __VA_ARGS__},
#include "frontend/hir/primitives.def"
#undef PRIMITIVE
};

// A command, the kernel's trace buffer, a file.
constexpr std::string_view acting[] = {"system", "ftrace", "switch_file", "dump"};

// The session's own output, its control files (which are probe points, and refused as such), and the task that a
// record is about.
constexpr std::string_view within[] = {"warn",           "speculate",       "commit",
                                       "discard",        "__ustack_print",  "__ustack_print_from",
                                       "__kstack_print", "__pystack_print", "__print_addresses",
                                       "__set_value",    "__append_value"};

constexpr bool has(const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != std::ranges::end(names);
}

constexpr bool changes_a_program(const Primitive& one) {
    return one.trust == Trust::Guru || one.decides != plan::Decision::None;
}

static_assert(std::ranges::all_of(all, [](const Primitive& one) {
    const bool has_effect = one.sends || one.changes;
    return !has_effect || changes_a_program(one) || has(acting, one.name) != has(within, one.name);
}));
constexpr bool is_primitive(std::string_view name) {
    return std::ranges::find(all, name, &Primitive::name) != std::ranges::end(all);
}
static_assert(std::ranges::all_of(acting, is_primitive) && std::ranges::all_of(within, is_primitive));

} // namespace

bool acts_outside(const Primitive& primitive) { return changes_a_program(primitive) || has(acting, primitive.name); }

} // namespace sonde::hir
