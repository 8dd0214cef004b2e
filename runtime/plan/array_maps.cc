#include "runtime/plan/array_maps.h"

#include <algorithm>
#include <cstring>

#include "runtime/plan/key_identity.h"
#include "runtime/plan/task_arrays.h"

namespace sonde::plan {

bool has_identities(const Global& global) {
    // A handler composes a new element in its own memory, which is too small for large statistics.
    constexpr uint32_t largest_value = 8 + 1024;
    return global.in_kernel && !global.wrap && !is_in_tasks(global) && global.value_size <= largest_value &&
           std::ranges::any_of(global.keys,
                               [](const KeyPart& part) { return part.type == Value::String && part.size > short_key; });
}

uint32_t map_key_size(const Global& global) {
    return has_identities(global) ? sizeof(sonde_identity) : global.key_size;
}

uint32_t map_value_size(const Global& global) {
    return has_identities(global) ? global.value_size + (global.key_size + 7u) / 8 * 8 : global.value_size;
}

sonde_identity identity_of(const Global& global, const std::string& key) {
    sonde_identity out{};
    for (const KeyPart& part : global.keys) {
        // Shorter strings are padded, and consist of numbers.
        const bool ends_at_nul = part.type == Value::String && part.size > short_key;
        uint64_t word = 0;
        for (uint32_t at = 0; at < part.size; at += sizeof word) {
            word = 0;
            std::memcpy(&word, key.data() + part.offset + at, std::min<size_t>(sizeof word, part.size - at));
            const uint64_t nul = ends_at_nul ? sonde_first_nul(word) : 0;
            sonde_identify(&out, sonde_up_to_nul(word, nul));
            if (nul)
                break;
        }
    }
    return out;
}

} // namespace sonde::plan
