// What a session lost, by kind and place: collected while it runs and at its end, said once on standard error, written
// as JSON, and shown by the exit status.
//
// A kind of loss is a row of losses.def. Whoever loses something adds it here, and does not say it by itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

// The exit status of a session that did its work, and lost something.
constexpr int exit_lossy = 3;

enum class Loss : uint8_t {
#define LOSS(id, name, lossy, always, message) id,
#include "runtime/losses.def"
#undef LOSS
};

class Accounting {
  public:
    // `count` more of that; 0 changes nothing. `place`: in the script, as Probe::place; empty: no single one. `detail`:
    // as the kind's message wants it. What is the same but for the count becomes one line.
    void add(Loss what, uint64_t count, const std::string& place = "", const std::string& detail = "");
    uint64_t count(Loss what) const;
    // Whether something is missing from the output or the counts.
    bool lossy() const;
    // A line of standard error for each.
    void say(bool warnings_off) const;
    // The same and all else that is known, as a JSON object in this file.
    Result<void> write(const std::string& path, const std::string& script, int status) const;

  private:
    struct Item {
        Loss what;
        uint64_t count;
        std::string place, detail;
    };
    std::vector<Item> items_;
};

// The text as a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

} // namespace sonde
