#include "runtime/sinks/live/live.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/bars.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/terminal_text.h"
#include "runtime/sinks/pictures/flame_tree.h"
#include "runtime/sinks/pictures/pictures.h"
#include "runtime/text/messages.h"
#include "runtime/text/output.h"
#include "runtime/values/histogram.h"
#include "runtime/values/json_lines.h"
#include "runtime/values/session_data.h"
#include "runtime/values/tables.h"

namespace sonde {
namespace {

// Hide functions below this share of a stack's total.
constexpr double least_flame_part = 0.005;
constexpr size_t most_lines_printed = 200; // limit for the screen

std::string bound_text(const BucketBounds& bounds) {
    return !bounds.low                   ? fmt::format("<= {}", *bounds.high)
           : !bounds.high                ? fmt::format(">= {}", *bounds.low)
           : *bounds.low == *bounds.high ? std::to_string(*bounds.low)
                                         : fmt::format("{} .. {}", *bounds.low, *bounds.high);
}

// Returns the lines of a histogram, from the first to the last non-empty bucket: range, bar, count, percentage.
//
//     4 .. 7  ########     120  60.0%
//     8 .. 15 #####         80  40.0%
std::vector<std::string> histogram_lines(const plan::StatsNeeds& needs, const LiveValue& value, size_t columns) {
    const auto filled = [](uint64_t count) { return count != 0; };
    const std::span all(value.buckets.data(), needs.buckets()); // the counts for percentiles come after them
    const auto first = std::ranges::find_if(all, filled);
    if (first == all.end())
        return {"  no values"};
    const auto last = std::find_if(all.rbegin(), all.rend(), filled).base();
    const uint64_t most = *std::max_element(first, last);
    const size_t width = columns > 60 ? columns - 54 : 8;
    std::vector<std::string> out;
    for (auto bucket = first; bucket != last; ++bucket) {
        const auto number = static_cast<uint32_t>(bucket - all.begin());
        const std::string bar = bar_text(static_cast<double>(*bucket) / static_cast<double>(most), width);
        out.push_back(fmt::format("  {:>26} {}{} {:>10} {:5.1f}%", bound_text(bucket_bounds(needs, number)), bar,
                                  std::string(width - std::min(width, text_width(bar)), ' '), *bucket,
                                  100 * static_cast<double>(*bucket) /
                                      static_cast<double>(std::max<uint64_t>(1, value.block.count))));
    }
    return out;
}

// Returns the components of a key that are not stacks, as text.
std::vector<std::string> others(const plan::Plan& plan, const plan::Global& global, const std::string& key) {
    ArrayElement element;
    element.key = key;
    std::vector<std::string> out;
    for (size_t i = 0; i < global.keys.size(); i++)
        if (!is_stack(global.keys[i].role)) {
            const KeyValue value = key_value(plan, global.keys[i], element);
            out.push_back(value.is_text ? value.text : std::to_string(value.number));
        }
    return out;
}

// Whether a text for the editor begins with a word that declares something.
bool declares(const std::string& text) {
    return std::ranges::any_of(std::initializer_list<std::string_view>{"probe ", "global ", "function ", "private "},
                               [&](std::string_view word) { return text.starts_with(word); });
}

// Creates a file with a new name (NAME.svg, NAME-2.svg, ...) and returns its path. O_EXCL guarantees that no existing
// file is overwritten.
Result<std::string> new_file(const std::string& name, const std::string& suffix) {
    for (int number = 1; number < 1000; number++) {
        std::string path = number == 1 ? name + suffix : fmt::format("{}-{}{}", name, number, suffix);
        Result<Fd> file = open_file(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (file)
            return path;
        if (file.error().os_error != EEXIST)
            return std::move(file).error();
    }
    return Error(fmt::format("{}{} to {}-999{} already exist", name, suffix, name, suffix));
}

} // namespace

Live::Live(SessionData& data, Output& output, const LiveSettings& settings, std::unique_ptr<Terminal> terminal)
    : data_(data), output_(output), settings_(settings), json_lines_(data.plan, data.symbolizer(), data.numbers),
      terminal_(std::move(terminal)), tables_(data),
      view_(
          data.plan.script,
          [this](const LiveTable& table, const LiveRow& row) -> const std::vector<std::string>& {
              return tables_.describe(table, row);
          },
          [this](const LiveTable& table, const LiveRow& row, size_t columns) { return detail(table, row, columns); }) {}

Result<std::unique_ptr<Live>> Live::start(SessionData& data, Output& output, const LiveSettings& settings) {
    const plan::Plan& plan = data.plan;
    if (plan.reads_standard_input() && isatty(STDIN_FILENO) == 1)
        return Error("--live: the script's `input` probe cannot share the keyboard with the screen");
    if (std::ranges::none_of(plan.globals, &plan::Global::is_own) && plan.formats.empty() && !data.editor)
        return Error("--live: the script has no globals and prints nothing; count something: `global n  probe ... { "
                     "n[execname()]++ }`");
    Result<std::unique_ptr<Terminal>> terminal = Terminal::open();
    if (!terminal)
        return std::move(terminal).error().in("--live");
    std::unique_ptr<Live> out(new Live(data, output, settings, *std::move(terminal)));
    Result<std::unique_ptr<Capture>> capture = Capture::start(*out->terminal_, settings.raw);
    if (!capture)
        return std::move(capture).error().in("--live");
    out->capture_ = *std::move(capture);
    if (data.editor)
        out->view_.set_editable();
    return out;
}

void Live::start() {
    capture_->hold();
    terminal_->enter();
    is_shown_ = true;
}

void Live::stop() {
    terminal_->leave();
    capture_->release();
    is_shown_ = false;
}

int64_t Live::until_turn(int64_t now) const { return std::max<int64_t>(0, next_ns_ - now); }

void Live::look() {
    view_.show(tables_.look());
    if (settings_.writes_json)
        write_json();
}

// Writes the contents of the screen as JSON, for other programs.
void Live::write_json() {
    const int64_t now = real_time_ns();
    for (const LiveTable& table : tables_.picture().tables) {
        const plan::Global& global = data_.global(table.global);
        output_.write(table.is_scalar() ? json_lines_.scalar(global, table.rows[0].payload.data(), now)
                                        : json_lines_.array(global, table.elements(), now));
    }
}

// Also redraws after a change of the terminal's size.
bool Live::turn(int64_t now, bool /*handlers_follow*/) {
    if (!is_shown_)
        return false;
    bool draws = std::exchange(has_news_, false);
    for (const Key& key : terminal_->read_keys()) {
        const LiveView::Wish wish = view_.press(key);
        if (wish.kind == LiveView::Wish::Quit)
            return true;
        act(wish);
        draws = true;
    }
    if (now >= next_ns_) {
        next_ns_ = now + std::llround(*settings_.interval_s * 1e9);
        if (!view_.is_paused())
            look();
        draws = true;
    }
    const ScreenSize size = terminal_->size();
    if (draws || size.rows != drawn_.rows || size.columns != drawn_.columns) {
        drawn_ = size;
        terminal_->draw(view_.lines(size, capture_->last_lines(most_lines_printed)));
    }
    return false;
}

void Live::act(const LiveView::Wish& wish) {
    switch (wish.kind) {
    case LiveView::Wish::Reset:
        tables_.reset(wish.global);
        break;
    case LiveView::Wish::ResetAll:
        for (const LiveTable& table : std::vector(tables_.picture().tables))
            tables_.reset(table.global);
        break;
    case LiveView::Wish::Save:
        view_.say(save(wish.global));
        return;
    case LiveView::Wish::List:
    case LiveView::Wish::Add:
    case LiveView::Wish::Remove:
        edit(wish);
        return;
    case LiveView::Wish::None:
    case LiveView::Wish::Quit:
        return;
    }
    look();
}

void Live::edit(const LiveView::Wish& wish) {
    using Verb = ProbeEditor::Verb;
    if (!data_.editor)
        return;
    const Verb verb = wish.kind == LiveView::Wish::Add      ? Verb::Add
                      : wish.kind == LiveView::Wish::Remove ? Verb::Remove
                                                            : Verb::List;
    if (verb == Verb::Add)
        view_.say("translating; the session goes on");
    // A probe can be typed without its first word.
    const std::string text = verb == Verb::Add && !declares(wish.text) ? "probe " + wish.text : wish.text;
    data_.editor->ask(verb, text, true, [this, verb](const ProbeEditor::Answer& answer) {
        std::vector<std::string> lines;
        for (size_t at = 0; at < answer.text.size();) {
            const size_t end = std::min(answer.text.find('\n', at), answer.text.size());
            lines.push_back(answer.text.substr(at, end - at));
            at = end + 1;
        }
        has_news_ = true;
        if (verb == Verb::List)
            return view_.show_probes(lines);
        if (answer.error == 0 && !lines.empty()) {
            view_.clear_edit();
            view_.say(lines.back());
        } else {
            view_.say("not done: see the messages above");
        }
        // Diagnostics have several lines, which the part with printed text shows.
        if (answer.error != 0 || lines.size() > 1)
            say(answer.text.substr(0, answer.text.find_last_not_of('\n') + 1));
        look();
    });
}

// Saves a table to a file. Returns a message about the result.
std::string Live::save(size_t index) {
    const plan::Global& global = data_.global(index);
    const auto& tables = tables_.picture().tables;
    const auto table = std::ranges::find(tables, index, &LiveTable::global);
    if (table == tables.end() || table->is_scalar())
        return fmt::format("`{}` is not an array; write histograms with --format=json", global.name);
    const bool is_flame = table->has_stack && global.type != plan::Value::String;
    const Result<std::string> path = new_file(global.name, is_flame ? ".svg" : ".csv");
    if (!path)
        return path.error().message;
    const std::vector<ArrayElement> elements = table->elements();
    const Result<void> written = is_flame ? draw_picture(data_.plan, data_.symbolizer(), data_.numbers, index, elements,
                                                         {PictureRequest::Flame, global.name, *path}, nullptr)
                                          : write_file(*path, render_table(csv_form, data_.plan, data_.symbolizer(),
                                                                           data_.numbers, global, elements));
    return written ? fmt::format("wrote {}", *path) : written.error().message;
}

// A flame graph for stacks, a histogram for statistics that have one, and otherwise the full key and value with recent
// rates.
std::vector<std::string> Live::detail(const LiveTable& table, const LiveRow& row, size_t columns) {
    if (table.has_stack && table.type != plan::Value::String) {
        // Merge the stacks of all elements whose other key components are equal, for example all stacks of one process.
        const plan::Global& global = data_.global(table.global);
        std::vector<ArrayElement> elements = table.elements();
        const std::vector<std::string> wanted = others(data_.plan, global, row.key);
        std::erase_if(elements, [&](const auto& one) { return others(data_.plan, global, one.key) != wanted; });
        return flame_lines(
            merge_stacks(weigh_stacks(data_.plan, data_.symbolizer(), data_.numbers, table.global, elements).stacks),
            least_flame_part);
    }
    const LiveValue& value = row.value;
    std::vector<std::string> out;
    const StatsView view{&value.block, value.buckets.data()};
    // The exact numbers. The table may have shown them abbreviated.
    if (table.type == plan::Value::Stats && !table.is_scalar()) {
        std::string line = fmt::format("  {} values, sum {}", value.block.count, value.block.sum);
        if (value.has_range)
            line += fmt::format(", min {}, max {}", view.min(), view.max());
        out.push_back(line);
    }
    if (table.stats.quantiles && value.has_range) {
        std::string line = " ";
        for (const NamedPercentile& one : told_percentiles)
            line += fmt::format(" {} {}", one.name, view.percentile(table.stats, one.millionths));
        out.push_back(line);
    }
    if (table.type == plan::Value::Stats && table.stats.buckets()) {
        for (std::string& line : histogram_lines(table.stats, value, columns))
            out.push_back(std::move(line));
        return out;
    }
    if (!table.is_scalar()) {
        const std::vector<std::string>& texts = tables_.describe(table, row);
        for (size_t i = 0; i < texts.size(); i++)
            out.push_back(fmt::format("  {} = {}", table.keys[i], texts[i]));
    }
    if (table.type == plan::Value::Long)
        out.push_back("  " + (table.prints_as_pointer ? fmt::format("{:#x}", static_cast<uint64_t>(value.number))
                                                      : std::to_string(value.number)));
    if (table.type == plan::Value::String)
        out.push_back("  " + value.text);
    out.push_back("  " + sparkline(value.rates, columns > 4 ? columns - 4 : 1));
    return out;
}

Result<Sinks> make_live(SessionData& data, Output& output, const LiveSettings& settings) {
    if (!settings.interval_s)
        return Sinks();
    Result<std::unique_ptr<Live>> live = Live::start(data, output, settings);
    if (!live)
        return std::move(live).error();
    return one_sink(*std::move(live));
}

} // namespace sonde
