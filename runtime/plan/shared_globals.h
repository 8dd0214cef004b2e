// Globals that several plans share.
//
// In an interactive session (driver/repl), each probe is a plan of its own, so that a new probe does not disturb the
// probes that are already armed. The globals of all these plans are the same memory: scalars lie in one map of the
// kernel, and each array is a map that all plans use. So the layout of a global is decided by the first plan that uses
// it, and never changes:
//
// * A key has its full size, since a later plan may store longer strings or larger numbers in it.
// * A statistic keeps the data for all usual extractors.
// * Each handler that uses a shared global takes the lock, since a later plan may contain a handler that must not see
//   the work of others half done.
//
// The data area of such a plan has two parts. The first one belongs to the plan alone: the session's words, marks, and
// the globals of the library. The second one, at `shared_at`, is common to all. In the kernel, the parts are two maps.
// In the session's memory, the maps are mapped one behind the other, so that an offset is valid for both parts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/plan/data.h"
#include "runtime/plan/wrap.h"

namespace sonde::plan {

// The name of the section of the BPF object, and so of the map.
inline constexpr const char* shared_section = ".bss.shared";

// Offsets in the data area, in bytes.
constexpr uint64_t shared_at = 64ull << 20;
constexpr uint64_t shared_bytes = 256ull << 10;
constexpr uint64_t shared_insertion = shared_at;   // u64: the number of the next insertion into a shared array
constexpr uint64_t shared_paused = shared_at + 8;  // u64: not 0 while the session is paused: timers do not run
constexpr uint64_t shared_lock = shared_at + 64;   // the lock of all handlers that use shared globals
constexpr uint64_t shared_first = shared_at + 128; // the globals
constexpr uint64_t shared_end = shared_at + shared_bytes;

// The size of a scalar, or of the words of an array that wraps, in bytes. 0: other arrays. `max_string`: as
// Plan::max_string. A string's slot has extra room after the string (codegen/rtlib/rt.h).
inline uint64_t shared_size(const Global& global, uint32_t max_string) {
    const uint64_t size = !global.keys.empty()           ? (global.wrap ? sizeof(sonde_wrap) : 0)
                          : global.type == Value::String ? 2ull * max_string
                          : global.type == Value::Stats  ? stats_bytes(global.stats)
                                                         : sizeof global.initial_long;
    return (size + 7) & ~7ull;
}

// A shared global is recognized by its place: scalars by their offset, and arrays by the name of their map.
inline constexpr const char* shared_map_prefix = "shared_";
inline bool is_shared(const Global& global) {
    return global.keys.empty() ? global.offset >= shared_at : global.map.starts_with(shared_map_prefix);
}

// The shared globals so far.
struct SharedGlobals {
    std::vector<Global> globals;
    uint64_t next = shared_first; // the offset of the next scalar
    // Whether the session of the plan that creates a global prints it at its end if the plan never reads it, as for a
    // script that runs alone.
    bool prints_unread = false;

    // Returns null if the global does not exist.
    const Global* find(std::string_view name) const {
        for (const Global& global : globals)
            if (global.name == name)
                return &global;
        return nullptr;
    }
};

} // namespace sonde::plan
