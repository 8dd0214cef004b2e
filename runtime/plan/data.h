// The data of handlers: the session's words, globals, elements of arrays, and statistics. Code in the kernel, code on
// the host and the runtime share it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/quantile.h"
#include "runtime/plan/session_words.h"

namespace sonde::plan {

using SessionWords = sonde_session_words;
enum SessionState : uint64_t { Arming = SONDE_ARMING, Running = SONDE_RUNNING, Stopping = SONDE_STOPPING };

// Elements of arrays, and statistics. An element's value in a map is `u64 insertion` (the number of its insertion)
// followed by an int64, a string of max_string bytes, or a StatsBlock. A key consists of its components in order:
// int64s, and strings padded with NULs to the component's size. All are aligned to 8 bytes, in native byte order.
//
// StatsNeeds lists the parts of a statistic that a script uses, because each part costs time and memory.
struct StatsNeeds {
    bool variance = false;
    enum Histogram : uint8_t { None, Log, Linear } histogram = None;
    int64_t low = 0, high = 0, width = 0; // Linear
    int64_t variance_shift = 0;
    // How to draw a histogram: how many empty rows to keep on both sides of omitted rows (-1: omit none), and the
    // length of the longest bar.
    int64_t elision = 2;
    uint64_t bar_width = 50;
    bool unicode = false;   // bars in eighths of a character, with shares and percentiles
    bool quantiles = false; // for @percentile: SONDE_QUANTILE_BUCKETS follow the histogram's buckets (quantile.h)

    // The number of buckets of the histogram. Log: 128, of which bucket 64 counts zeros. Linear: (high - low) / width +
    // 3, of which the first counts smaller values and the last counts larger values.
    uint32_t buckets() const {
        return histogram == Log ? 128 : histogram == Linear ? static_cast<uint32_t>((high - low) / width + 3) : 0;
    }
    bool operator==(const StatsNeeds&) const = default;
};
// A statistic. It is followed by buckets() u64s, and by the buckets for percentiles. An empty statistic consists of
// zeros.
//
// Handlers on several processors update it at the same time, so each update is an atomic add or an atomic unsigned
// maximum. Therefore the minimum and maximum are stored in a form in which 0 is the least value: `max_biased` is max +
// 2^63, and `min_biased` is ~(min + 2^63). The sum of squares has 128 bits.
struct StatsBlock {
    uint64_t count;
    int64_t sum;
    uint64_t min_biased;
    uint64_t max_biased;
    uint64_t squares_low;
    uint64_t squares_high;
};
// The offset of the buckets for percentiles, and the size of the whole statistic, in bytes.
inline uint64_t quantiles_at(const StatsNeeds& needs) { return sizeof(StatsBlock) + 8ull * needs.buckets(); }
inline uint64_t stats_bytes(const StatsNeeds& needs) {
    return quantiles_at(needs) + (needs.quantiles ? 8ull * SONDE_QUANTILE_BUCKETS : 0);
}

enum class Value : uint8_t { Long, String, Stats };

// The meaning of a component of an array's key, wherever the script adds elements.
enum class KeyRole : uint8_t { Plain, KernelStack, UserStack, Process };
// A component of an array's key. Components of 4 bytes follow all others.
struct KeyPart {
    Value type = Value::Long; // never Stats
    uint32_t offset = 0;      // byte offset in the key
    uint32_t size = 8;        // bytes; strings: a multiple of 8 with the NUL, at most max_string; longs: 4 or 8
    bool is_signed = true;    // for longs of 4 bytes
    bool is_text = false;     // longs: an index into Plan::texts
    std::string name = {};    // as the script first writes it as a key; empty: a literal
    KeyRole role = KeyRole::Plain;
};
// Returns the number of this component in `key`.
int64_t number_in(const KeyPart& part, const char* key);

// A global variable of the script, or of the library.
struct Global {
    std::string name;
    Value type = Value::Long;
    std::vector<KeyPart> keys; // empty: a scalar
    StatsNeeds stats;
    uint64_t offset = 0;                   // scalars: offset in the data area
    bool in_kernel = false;                // arrays: in the map `map` of the BPF object; else in the session's memory
    std::string map;                       // arrays in the kernel: name of the map
    uint64_t capacity = 0;                 // arrays: maximum number of elements
    bool wrap = false;                     // arrays: replace the oldest element if full, instead of an error
    uint32_t key_size = 0, value_size = 0; // arrays: bytes; value_size includes the insertion number
    int64_t initial_long = 0;
    std::string initial_string;
    std::string address_of;   // a kernel symbol whose address is the initial value; empty: none
    bool is_own = false;      // defined in the script, not in the library
    bool auto_print = false;  // print at the end of the session
    bool is_settable = false; // scalars: the initial value may be changed before the session (-G)
    bool print_as_pointer = false;
    bool only_grows = false;         // longs: the script adds only non-negative values, so --metrics shows a counter
    std::vector<std::string> labels; // arrays: names of the components for --metrics, from --label or a comment
};

} // namespace sonde::plan
