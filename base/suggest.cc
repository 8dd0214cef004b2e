// Finds names that are similar to a wrong one.
//
// The distance between names is the restricted Damerau-Levenshtein distance (optimal string alignment): a letter is
// inserted, deleted, replaced, or exchanged with its neighbor, and no part is edited twice. For example, `prnitf` has
// the distance 1 from `printf`.
//
// A suggestion must look reasonable, or the message is worse than without it. So a third of the letters may differ at
// most. Names that differ only in case or in the order of their words come first, whatever their distance is:
// `pid_current` suggests `current_pid`.
#include "base/suggest.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <utility>

namespace sonde {
namespace {

std::string to_lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

// "pid_current" and "current_pid" give the same result.
std::string sort_words(std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t at = 0; at <= text.size();) {
        size_t end = std::min(text.find('_', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::sort(words.begin(), words.end());
    std::string out;
    for (std::string_view word : words) {
        out += word;
        out += '_';
    }
    return out;
}

// The distance, or nullopt if it is more than `limit`. Takes time proportional to the product of the lengths, and
// memory for three rows.
std::optional<size_t> edit_distance(std::string_view a, std::string_view b, size_t limit) {
    size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
    if (difference > limit)
        return std::nullopt;
    std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++)
        above[j] = j;
    for (size_t i = 1; i <= a.size(); i++) {
        row[0] = i;
        size_t least = row[0];
        for (size_t j = 1; j <= b.size(); j++) {
            size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + cost});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
            least = std::min(least, row[j]);
        }
        // An exchange refers to the row before the last one. So the search can stop only after two rows above the
        // limit.
        if (least > limit && i > 1 && *std::min_element(above.begin(), above.end()) > limit)
            return std::nullopt;
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()] <= limit ? std::optional(above[b.size()]) : std::nullopt;
}

} // namespace

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& candidates,
                                       size_t max) {
    struct Found {
        size_t
            rank; // 0: equal except for case or word order; otherwise by distance, then names of the same length first
        size_t index;
    };
    std::vector<Found> found;
    std::string wanted_lower = to_lower(wanted);
    std::string wanted_words = sort_words(wanted_lower);
    for (size_t i = 0; i < candidates.size(); i++) {
        const std::string& candidate = candidates[i];
        if (candidate.empty() || candidate == wanted)
            continue;
        std::string lower = to_lower(candidate);
        if (lower == wanted_lower || (lower.size() == wanted.size() && sort_words(lower) == wanted_words)) {
            found.push_back({0, i});
            continue;
        }
        // If the only letter of a name is wrong, nothing is left to recognize.
        size_t limit = std::max<size_t>(std::max(wanted.size(), candidate.size()) / 3, 1);
        if (std::min(wanted.size(), candidate.size()) < 2)
            continue;
        if (std::optional<size_t> distance = edit_distance(wanted_lower, lower, limit))
            found.push_back({*distance * 2 + (candidate.size() != wanted.size()), i});
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.rank < b.rank; });
    std::vector<std::string> names;
    for (const Found& one : found) {
        if (names.size() >= max)
            break;
        if (std::find(names.begin(), names.end(), candidates[one.index]) == names.end())
            names.push_back(candidates[one.index]);
    }
    return names;
}

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& candidates) {
    std::vector<std::string> names = nearest_names(wanted, candidates, 1);
    return names.empty() ? "" : std::move(names[0]);
}

} // namespace sonde
