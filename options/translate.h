// Translate: the options that decide what a script means, as one value.
//
// Passes take it as `const Translate&`, and a plan keeps the whole of it. Nobody copies single options into a struct of
// another pass: such a copy forgets an option sooner or later, and a relinked plan then differs from the saved one.
// The members come from the rows of options/translate.def, and so do the plan's file, the key of the cache, the parsing
// of the command line, the help and the completion. A new option is one row there, and the pass that reads the member.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "options/group_name.h"

namespace sonde {

// -D, each by its SystemTap name in options/translate.def.
struct Limits {
#define LIMIT(member, initial, ...) uint64_t member = initial;
#include "options/translate.def"
    bool operator==(const Limits&) const = default;
};

// NAME=VALUE
struct Assignment {
    std::string name, value;
    bool operator==(const Assignment&) const = default;
};
// Names of the parts of an array's key.
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

// The most addresses of a stack that a handler has room for.
constexpr uint64_t most_stack_addresses = 128;

struct Translate {
#define VALUE(type, member, initial) type member = initial;
#define OPTION(type, member, initial, ...) type member = initial;
#include "options/translate.def"

    bool operator==(const Translate&) const = default;

    // Limits that depend on other options where -D does not give them. A stack that is cut off makes a picture or a
    // tool's table wrong, so these get room for whole stacks and for their text.
    uint64_t max_string() const { return limits.max_string ? limits.max_string : keeps_whole_stacks ? 2048 : 512; }
    // Bytes of a string's slot: a power of two.
    uint32_t string_size() const { return std::bit_ceil(std::max<uint32_t>(8, static_cast<uint32_t>(max_string()))); }
    uint64_t max_backtrace() const {
        const uint64_t otherwise = keeps_whole_stacks ? most_stack_addresses : 20;
        return std::min(limits.max_backtrace ? limits.max_backtrace : otherwise, most_stack_addresses);
    }
    uint64_t max_action() const { return suppress_time_limits ? INT64_MAX / 16 : limits.max_action; }
    // Of handlers that run in sonde's own process.
    uint64_t max_action_interruptible() const {
        return limits.max_action_interruptible && !suppress_time_limits ? limits.max_action_interruptible
                                                                        : 10 * max_action();
    }
    uint64_t max_skipped() const { return suppress_handler_errors ? UINT64_MAX : limits.max_skipped; }
};

} // namespace sonde
