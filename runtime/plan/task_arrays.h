// Arrays with the key tid() that each thread uses only for itself. Their elements are in task storage: the kernel keeps
// them with the thread. The session cannot see them.
//
// An element has the same layout as in a hash map (data.h), but the insertion number is 1 if the element exists and 0
// if not. A deletion leaves the memory with the thread. Global::offset is that of a u64 in the data area: the number of
// elements that exist.
//
// Next to the task storage is a hash map with the kernel's thread numbers as keys. It is for the idle threads, which
// share the number 0, and for a thread to which the kernel could not attach an element.
#pragma once

#include <string>

#include "runtime/plan/data.h"

namespace sonde::plan {

// An array in tasks is recognized by the name of its map. The second name is for an array that is used in handlers that
// can interrupt others: some kernels do not find elements there (has_task_storage()).
inline constexpr const char* task_map_prefix = "task_";
inline constexpr const char* any_task_map_prefix = "task_any_";
inline bool is_in_tasks(const Global& global) {
    return !global.keys.empty() && global.map.starts_with(task_map_prefix);
}
inline bool interrupts_others(const Global& global) { return global.map.starts_with(any_task_map_prefix); }
// The name of the hash map.
inline std::string spare_map(const Global& global) { return global.map + "_spare"; }

} // namespace sonde::plan
