#include "frontend/hir/primitives.h"

#include <algorithm>
#include <iterator>

#include "runtime/plan/data.h"
#include "runtime/plan/group_names.h"
#include "runtime/plan/records.h"

namespace sonde::hir {

const Primitive* find_primitive(std::string_view name) {
    static constexpr Primitive all[] = {
#define PRIMITIVE(name_, emitter, ...) {.name = name_ __VA_OPT__(, ) __VA_ARGS__},
#include "frontend/hir/primitives.def"
#undef PRIMITIVE
    };
    const auto* found =
        std::find_if(std::begin(all), std::end(all), [&](const Primitive& one) { return one.name == name; });
    return found == std::end(all) ? nullptr : found;
}

bool is_live(const Primitive& primitive) {
    return !primitive.is_recorded && !primitive.needs_recorded_stack &&
           (primitive.is_live || primitive.about_task || primitive.per_thread || primitive.reads_registers ||
            primitive.reads_result || primitive.needs_stacks || primitive.needs_counter || primitive.needs_frame ||
            primitive.trust != Trust::Anybody || primitive.number != TaskNumber::None);
}

const TaskNumberTraits& traits(TaskNumber number) {
    static constexpr TaskNumberTraits all[] = {
        {"", NumberOrigin::Task, 0},
#define TASK_NUMBER(id, name, origin, helper, ...) {#name, NumberOrigin::origin, helper},
#include "runtime/plan/task_numbers.def"
#undef TASK_NUMBER
    };
    return all[static_cast<size_t>(number)];
}

} // namespace sonde::hir
