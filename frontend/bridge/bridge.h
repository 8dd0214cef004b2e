// Other tracers' languages, translated to ours: bpftrace's scripts, DTrace's scripts, definitions of `perf probe`.
//
// Who knows one of these types it here first, and is answered with the same in our language, to paste. What has no
// counterpart is a gap: it is named with its place, and a comment stands where it was; nothing goes without a word.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::bridge {

enum class Dialect { Bpftrace, Dtrace, Perf };

// "bpftrace", "dtrace", "perf"; empty if it is none of these.
std::optional<Dialect> find_dialect(std::string_view name);
// "bpftrace's", for messages.
const char* name_of(Dialect dialect);

// The language that a text is in, by what only that language has; nothing for ours, and for what is none.
std::optional<Dialect> guess_dialect(std::string_view text);

struct Gap {
    size_t begin = 0, end = 0; // bytes of the original
    std::string text;          // `cat`: no function here gives a file's text
    bool is_lost = true;       // false: it means something else here, or needs nothing
};

struct Bridged {
    std::string script; // ends in a newline
    std::vector<Gap> gaps;
    bool needs_guru = false; // -g
};

struct BridgeOptions {
    // The path of a library or a program by its name (`libc`, `bash`); empty if there is none. May be empty.
    std::function<std::string(const std::string&)> find_path;
    std::string program; // the target's, as find_path gives it; empty: there is none
};

// An error: the text is not in that language; its message has the place as `LINE:COLUMN`.
Result<Bridged> translate_from(Dialect dialect, std::string_view text, const BridgeOptions& options);

} // namespace sonde::bridge
