// Records the data that a session lost, by kind and place in the script.
//
// An incomplete result must not look complete. So losses are printed on standard error at the end of the session,
// included in the report (JSON), and change the exit status.
//
// Each kind of loss is a row of losses.def. Code that loses data adds it here, and does not print a message itself.
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

// Exit status of a session that succeeded but lost data.
constexpr int exit_lossy = 3;

// The kinds of losses (losses.def).
enum class Loss : uint8_t {
#define LOSS(id, name, lossy, always, message) id,
#include "runtime/text/losses.def"
#undef LOSS
    Kinds // the number of kinds
};

using LossKinds = std::bitset<static_cast<size_t>(Loss::Kinds)>;

// Parses a comma-separated list of kinds by their names in reports (`missed,unread`); `all` stands for every kind.
// Returns an error that names an unknown kind.
Result<LossKinds> parse_loss_kinds(const std::string& list);

// Counts the hits of one probe. Each hit belongs to exactly one group:
//
// * handled: the handler ran to its end.
// * skipped: the handler did not run, because a lock or memory was not available.
// * lost: the handler ran to its end, but the buffer had no room for some of its output.
// * missed: the kernel did not run the handler.
// * failed: an error ended the handler, whether it was reported or suppressed.
struct ProbeRow {
    std::string point, place;
    size_t points = 0;
    bool counted = false; // `handled` and `lost` are known; counting them costs time at each hit (-t, --report)
    uint64_t handled = 0, skipped = 0, lost = 0, missed = 0, failed = 0;
    uint64_t began = 0; // hits for which the handler started, counted separately
    uint64_t min_ns = 0, mean_ns = 0, max_ns = 0;

    uint64_t hits() const { return handled + skipped + lost + missed + failed; }
};

// Collects a session's losses, and reports them. One object for each session.
class Accounting {
  public:
    // Adds `count` to a loss; 0 changes nothing. `place` is Probe::place, or empty if the loss has no single place.
    // `detail` is the value of {2} in the kind's message. Losses that differ only in their count are combined.
    void add(Loss what, uint64_t count, const std::string& place = "", const std::string& detail = "");
    // Returns the sum of one kind over all places.
    uint64_t count(Loss what) const;
    // Returns whether output or counts are incomplete. Ignores the kinds in `tolerated`.
    bool lossy(const LossKinds& tolerated = {}) const;
    void add_row(ProbeRow row) { rows_.push_back(std::move(row)); }
    // Prints the hits of each probe by group, for -t.
    void say_hits() const;
    // Prints one line on standard error for each loss.
    void say() const;
    // Returns all losses and counts of hits as a JSON object.
    nlohmann::ordered_json json(const std::string& script, int status) const;
    // Reads what json() has returned. Ignores what it does not know.
    static Accounting from_json(const nlohmann::ordered_json& json);

  private:
    // A loss with its kind, place and detail. The same combination occurs once.
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
