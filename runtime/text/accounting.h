// What a session lost, by kind and place: collected while it runs and at its end, said once on standard error, written
// as JSON, and shown by the exit status.
//
// A kind of loss is a row of losses.def. Whoever loses something adds it here, and does not say it by itself.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sonde {

// The exit status of a session that did its work, and lost something.
constexpr int exit_lossy = 3;

enum class Loss : uint8_t {
#define LOSS(id, name, lossy, always, message) id,
#include "runtime/text/losses.def"
#undef LOSS
    Kinds // how many there are
};

using LossKinds = std::bitset<static_cast<size_t>(Loss::Kinds)>;

// The kinds that such a list names, as reports do (`missed,unread`); `all`: every one. Errors name what is no kind.
Result<LossKinds> parse_loss_kinds(const std::string& list);

// What became of the hits of one probe of the plan. Every hit is one of: handled, skipped (its handler did not run: no
// lock, no memory), lost (the handler ran to its end, and some of its output found no room), missed (the kernel did not
// give it to the handler), failed (an error ended the handler, told or suppressed).
struct ProbeRow {
    std::string point, place;
    size_t points = 0;
    bool counted = false; // `handled` and `lost` are known, which costs time at each hit (-t, --report)
    uint64_t handled = 0, skipped = 0, lost = 0, missed = 0, failed = 0;
    uint64_t began = 0; // hits that came to the handler, counted by themselves
    uint64_t min_ns = 0, mean_ns = 0, max_ns = 0;

    uint64_t hits() const { return handled + skipped + lost + missed + failed; }
};

class Accounting {
  public:
    // `count` more of that; 0 changes nothing. `place`: in the script, as Probe::place; empty: no single one. `detail`:
    // as the kind's message wants it. What is the same but for the count becomes one line.
    void add(Loss what, uint64_t count, const std::string& place = "", const std::string& detail = "");
    uint64_t count(Loss what) const;
    // Whether something is missing from the output or the counts, but for losses of the tolerated kinds.
    bool lossy(const LossKinds& tolerated = {}) const;
    void add_row(ProbeRow row) { rows_.push_back(std::move(row)); }
    // What -t says on standard error of what became of each probe's hits.
    void say_hits() const;
    // A line of standard error for each.
    void say() const;
    // The same and all else that is known, as an object.
    nlohmann::ordered_json json(const std::string& script, int status) const;

  private:
    struct Item {
        Loss what;
        uint64_t count;
        std::string place, detail;
    };
    ProbeRow sum() const;
    std::vector<Item> items_;
    std::vector<ProbeRow> rows_;
};

} // namespace sonde
