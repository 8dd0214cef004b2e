// Translate: the options that decide the meaning of a script, as one value.
//
// Passes take it as `const Translate&`, and a plan keeps the whole value. Do not copy single options into a struct of
// another pass: sooner or later such a copy forgets an option, and a relinked plan then differs from the saved one. The
// members come from the rows of options/translate.def, and so do the plan's file, the key of the cache, the parsing of
// the command line, the help and the completion. A new option is one row there, plus the pass that reads the member.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "options/group_name.h"

namespace sonde {

// The limits of -D. options/translate.def has their names in SystemTap.
struct Limits {
#define LIMIT(member, initial, ...) uint64_t member = initial;
#include "options/translate.def"
    bool operator==(const Limits&) const = default;
};

// An initial value of a global: -G NAME=VALUE.
struct Assignment {
    std::string name, value;
    bool operator==(const Assignment&) const = default;
};
// Names for the parts of an array's key: --label ARRAY=NAME,NAME.
struct ArrayLabels {
    std::string array;
    std::vector<std::string> names;
    bool operator==(const ArrayLabels&) const = default;
};
using Texts = std::vector<std::string>;
using Assignments = std::vector<Assignment>;
using Labels = std::vector<ArrayLabels>;
using Groups = std::vector<plan::GroupName>;

enum class HistogramStyle : uint8_t { Text, Unicode };
enum class HandlerPlace : uint8_t { Host, Kernel };

// The largest number of addresses in one stack.
constexpr uint64_t most_stack_addresses = 128;

struct Translate {
#define VALUE(type, member, initial) type member = initial;
#define OPTION(type, member, initial, ...) type member = initial;
#include "options/translate.def"

    bool operator==(const Translate&) const = default;

    // Limits that depend on other options if -D does not set them. A truncated stack would make a picture or a tool's
    // table wrong, so these get room for whole stacks and for their text.
    uint64_t max_string() const { return limits.max_string ? limits.max_string : keeps_whole_stacks ? 2048 : 512; }
    // The size of a string's slot in bytes: a power of two.
    uint32_t string_size() const { return std::bit_ceil(std::max<uint32_t>(8, static_cast<uint32_t>(max_string()))); }
    // The number of addresses that a stack may have.
    uint64_t max_backtrace() const {
        const uint64_t otherwise = keeps_whole_stacks ? most_stack_addresses : 20;
        return std::min(limits.max_backtrace ? limits.max_backtrace : otherwise, most_stack_addresses);
    }
    // The number of statements that one run of a handler may execute. "No limit" is INT64_MAX / 16, so that the tenfold
    // value below does not overflow.
    uint64_t max_action() const { return suppress_time_limits ? INT64_MAX / 16 : limits.max_action; }
    // The same for handlers that run in sonde's own process. These cannot stop the kernel, so they may run longer.
    uint64_t max_action_interruptible() const {
        return limits.max_action_interruptible && !suppress_time_limits ? limits.max_action_interruptible
                                                                        : 10 * max_action();
    }
    // The number of skipped probes that ends the session.
    uint64_t max_skipped() const { return suppress_handler_errors ? UINT64_MAX : limits.max_skipped; }
};

} // namespace sonde
