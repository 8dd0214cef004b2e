#include "frontend/hir/primitives.h"

#include <algorithm>
#include <iterator>

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

const char* routine_name(TaskNumber number) {
    static constexpr const char* names[] = {"",
                                            "pid",
                                            "tid",
                                            "kernel_pid",
                                            "ppid",
                                            "uid",
                                            "euid",
                                            "gid",
                                            "egid",
                                            "cpu",
                                            "task_current",
                                            "jiffies",
                                            "random",
                                            "pid_level",
                                            "pid_space",
                                            "in_32_bit_call",
                                            "has_narrow_times"};
    return names[static_cast<size_t>(number)];
}

} // namespace sonde::hir
