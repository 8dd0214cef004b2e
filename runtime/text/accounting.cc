// Records the data that a session lost.
//
// losses.def has a row for each kind of loss: its name in reports, whether it makes the result incomplete, whether it
// is printed even with -w, and its message. A message has up to three arguments: the count, the place in the script,
// and a detail.
#include "runtime/text/accounting.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/suggest.h"
#include "runtime/text/json.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

struct LossRow {
    const char* name;
    bool lossy, always;
    const char* message;
};
constexpr LossRow rows[] = {
#define LOSS(id, name, lossy, always, message) {name, lossy, always, message},
#include "runtime/text/losses.def"
#undef LOSS
};
const LossRow& row_of(Loss what) { return rows[static_cast<size_t>(what)]; }

} // namespace

Result<LossKinds> parse_loss_kinds(const std::string& list) {
    LossKinds kinds;
    std::istringstream words(list + ",");
    for (std::string word; std::getline(words, word, ',');) {
        auto row = std::find_if(std::begin(rows), std::end(rows), [&](const LossRow& r) { return r.name == word; });
        if (word == "all") {
            kinds.set();
        } else if (row != std::end(rows)) {
            kinds.set(static_cast<size_t>(row - rows));
        } else {
            std::vector<std::string> names;
            for (const LossRow& known : rows)
                names.emplace_back(known.name);
            std::string nearest = nearest_name(word, names);
            return Error(fmt::format("`{}` is not a kind of loss; {}", word,
                                     nearest.empty() ? fmt::format("the kinds are {}", fmt::join(names, ", "))
                                                     : fmt::format("did you mean `{}`?", nearest)));
        }
    }
    return kinds;
}

void Accounting::add(Loss what, uint64_t count, const std::string& place, const std::string& detail) {
    if (count == 0)
        return;
    for (Item& item : items_)
        if (item.what == what && item.place == place && item.detail == detail) {
            item.count += count;
            return;
        }
    items_.push_back({what, count, place, detail});
}

uint64_t Accounting::count(Loss what) const {
    uint64_t sum = 0;
    for (const Item& item : items_)
        sum += item.what == what ? item.count : 0;
    return sum;
}

bool Accounting::lossy(const LossKinds& tolerated) const {
    return std::any_of(items_.begin(), items_.end(), [&](const Item& item) {
        return row_of(item.what).lossy && !tolerated[static_cast<size_t>(item.what)];
    });
}

void Accounting::say() const {
    for (const Item& item : items_)
        warn(fmt::format(fmt::runtime(row_of(item.what).message), item.count, item.place, item.detail),
             row_of(item.what).always ? Weight::Answer : Weight::Advice);
}

// `counted` of the sum is true only if all rows are counted.
ProbeRow Accounting::sum() const {
    ProbeRow all;
    all.counted = true;
    for (const ProbeRow& row : rows_) {
        all.counted = all.counted && row.counted;
        all.handled += row.handled;
        all.skipped += row.skipped;
        all.lost += row.lost;
        all.missed += row.missed;
        all.failed += row.failed;
    }
    return all;
}

void Accounting::say_hits() const {
    std::string out = "----- outcome of the hits:\n";
    auto line = [&](const std::string& name, const ProbeRow& row) {
        out += fmt::format("{}: {} hits = {} handled + {} skipped + {} lost + {} missed + {} errors\n", name,
                           row.hits(), row.handled, row.skipped, row.lost, row.missed, row.failed);
    };
    for (const ProbeRow& row : rows_)
        line(row.place, row);
    if (rows_.size() != 1)
        line("all", sum());
    out.pop_back();
    sonde::say(std::move(out));
}

namespace {
Json numbers_json(const ProbeRow& row) {
    Json out = Json::object();
    if (row.counted)
        out = {{"hits", row.hits()}, {"handled", row.handled}, {"lost", row.lost}};
    out.update({{"skipped", row.skipped}, {"missed", row.missed}, {"errors", row.failed}});
    return out;
}
} // namespace

Json Accounting::json(const std::string& script, int status) const {
    Json losses = Json::array(), probes = Json::array();
    for (const Item& item : items_) {
        Json loss{{"kind", row_of(item.what).name}, {"count", item.count}};
        if (!item.place.empty())
            loss["place"] = item.place;
        if (!item.detail.empty())
            loss["detail"] = item.detail;
        losses.push_back(std::move(loss));
    }
    for (const ProbeRow& row : rows_) {
        Json probe{{"place", row.place}, {"point", row.point}, {"points", row.points}};
        probe.update(numbers_json(row));
        if (row.counted)
            probe["ns"] = {{"min", row.min_ns}, {"mean", row.mean_ns}, {"max", row.max_ns}};
        probes.push_back(std::move(probe));
    }
    return {{"script", script},
            {"status", status},
            {"lossy", lossy()},
            {"losses", std::move(losses)},
            {"probes", std::move(probes)},
            {"sum", numbers_json(sum())}};
}

namespace {
uint64_t number_in(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}
std::string text_in(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}
Json list_in(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_array() ? *found : Json::array();
}
} // namespace

Accounting Accounting::from_json(const Json& json) {
    Accounting out;
    for (const Json& loss : list_in(json, "losses")) {
        const std::string kind = text_in(loss, "kind");
        const auto row = std::ranges::find_if(rows, [&](const LossRow& known) { return kind == known.name; });
        if (row != std::end(rows))
            out.add(static_cast<Loss>(row - rows), number_in(loss, "count"), text_in(loss, "place"),
                    text_in(loss, "detail"));
    }
    for (const Json& probe : list_in(json, "probes")) {
        ProbeRow row;
        row.point = text_in(probe, "point");
        row.place = text_in(probe, "place");
        row.points = number_in(probe, "points");
        row.counted = probe.contains("hits");
        row.handled = number_in(probe, "handled");
        row.lost = number_in(probe, "lost");
        row.skipped = number_in(probe, "skipped");
        row.missed = number_in(probe, "missed");
        row.failed = number_in(probe, "errors");
        const Json times = probe.value("ns", Json::object());
        row.min_ns = number_in(times, "min");
        row.mean_ns = number_in(times, "mean");
        row.max_ns = number_in(times, "max");
        out.add_row(std::move(row));
    }
    return out;
}

} // namespace sonde
