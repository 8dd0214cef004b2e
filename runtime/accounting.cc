#include "runtime/accounting.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/suggest.h"
#include "base/terminal_text.h"
#include "runtime/messages.h"

namespace sonde {
namespace {

struct LossRow {
    const char* name;
    bool lossy, always;
    const char* message;
};
constexpr LossRow rows[] = {
#define LOSS(id, name, lossy, always, message) {name, lossy, always, message},
#include "runtime/losses.def"
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
            return Error(fmt::format("`{}` is no kind of loss; {}", word,
                                     nearest.empty() ? fmt::format("kinds are {}", fmt::join(names, ", "))
                                                     : fmt::format("did you mean `{}`?", nearest)));
        }
    }
    return kinds;
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        size_t length = utf8_length(text);
        unsigned char first = static_cast<unsigned char>(text[0]);
        if (length == 0)
            out += "\\ufffd";
        else if (first == '"' || first == '\\')
            out += {'\\', text[0]};
        else if (first < 0x20 || first == 0x7f)
            out += fmt::format("\\u{:04x}", first);
        else
            out += text.substr(0, length);
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    return out + "\"";
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
    std::string out = "----- what became of the hits:\n";
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

std::string Accounting::json(const std::string& script, int status) const {
    std::string out = fmt::format("{{\n  \"script\": {},\n  \"status\": {},\n  \"lossy\": {},\n  \"losses\": [",
                                  json_string(script), status, lossy());
    const char* comma = "";
    auto numbers = [](const ProbeRow& row) {
        std::string known = row.counted ? fmt::format("\"hits\": {}, \"handled\": {}, \"lost\": {}, ", row.hits(),
                                                      row.handled, row.lost)
                                        : "";
        return fmt::format("{}\"skipped\": {}, \"missed\": {}, \"errors\": {}", known, row.skipped, row.missed,
                           row.failed);
    };
    for (const Item& item : items_) {
        out += fmt::format("{}\n    {{\"kind\": {}, \"count\": {}", comma, json_string(row_of(item.what).name),
                           item.count);
        if (!item.place.empty())
            out += fmt::format(", \"place\": {}", json_string(item.place));
        if (!item.detail.empty())
            out += fmt::format(", \"detail\": {}", json_string(item.detail));
        out += "}";
        comma = ",";
    }
    out += fmt::format("{}],\n  \"probes\": [", items_.empty() ? "" : "\n  ");
    comma = "";
    for (const ProbeRow& row : rows_) {
        out += fmt::format("{}\n    {{\"place\": {}, \"point\": {}, \"points\": {}, {}", comma, json_string(row.place),
                           json_string(row.point), row.points, numbers(row));
        if (row.counted)
            out += fmt::format(", \"ns\": {{\"min\": {}, \"mean\": {}, \"max\": {}}}", row.min_ns, row.mean_ns,
                               row.max_ns);
        out += "}";
        comma = ",";
    }
    out += fmt::format("{}],\n  \"sum\": {{{}}}\n}}\n", rows_.empty() ? "" : "\n  ", numbers(sum()));
    return out;
}

} // namespace sonde
