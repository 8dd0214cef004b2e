// The layout of the screen:
//
//     sonde  script.stp  12 s  3 errors         add_head()
//     opens 42 +3.0/s   depth 3                 add_scalars()
//     > reads[execname()]  5 of 5   value ...   add_table(), for each array that fits
//       cat                         17 ...
//     -- printed                                the last lines of the script's output
//     q quit  ? help ...                        footer()
//
// Each mode handles keys and lines differently: Tables (as above), Detail (one row), Filter (typing a text), Help.
//
// The selection is a key, not a row number: rows change their order at each update, and the selection must follow its
// element. All text from the script or from traced programs passes one_line(), since control characters would damage
// the screen.
#include "runtime/sinks/live/view.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/bars.h"
#include "base/terminal_text.h"
#include "runtime/values/histogram.h"

namespace sonde {
namespace {

constexpr std::string_view reverse = "\x1b[7m", bold = "\x1b[1m", dim = "\x1b[2m", plain = "\x1b[0m";
constexpr std::string_view sort_names[] = {"value", "rate", "sum", "average", "largest", "key"};

std::string right(std::string_view text, size_t width) {
    const size_t length = text_width(text);
    return length >= width ? fit(text, width) : std::string(width - length, ' ') + std::string(text);
}

// A unit prefix.
struct Scale {
    double one;
    char letter;
};
// Returns the largest prefix that is not greater than `size`; kilo for sizes below 1000.
const Scale& scale_of(double size) {
    static constexpr Scale scales[] = {{1e3, 'k'}, {1e6, 'M'}, {1e9, 'G'}, {1e12, 'T'}, {1e15, 'P'}, {1e18, 'E'}};
    const auto* above = std::ranges::upper_bound(scales, size, {}, &Scale::one);
    return above == std::begin(scales) ? *above : *std::prev(above);
}

// Formats a rate, with a prefix for large ones: `+3.5/s`, `-12.1k/s`.
std::string rate_text(double rate) {
    if (rate == 0)
        return "";
    const double size = std::abs(rate);
    if (size >= 10e3) {
        const Scale& scale = scale_of(size);
        return fmt::format("{:+.{}f}{}/s", rate / scale.one, scale.one > 1e3 ? 1 : 0, scale.letter);
    }
    return size >= 10 ? fmt::format("{:+.0f}/s", rate) : fmt::format("{:+.1f}/s", rate);
}

// Returns the number, or an abbreviation with two decimals if it is wider than `width`.
std::string number_in(int64_t number, size_t width) {
    std::string out = std::to_string(number);
    if (out.size() <= width)
        return out;
    const Scale& scale = scale_of(std::abs(static_cast<double>(number)));
    return fmt::format("{:.2f}{}", static_cast<double>(number) / scale.one, scale.letter);
}

int64_t average(const LiveValue& value) {
    return value.block.count ? value.block.sum / static_cast<int64_t>(value.block.count) : 0;
}

constexpr size_t number_width = 14, pointer_width = 18, statistic_width = 10;

std::string number_text(const LiveTable& table, const LiveValue& value) {
    return table.prints_as_pointer ? fmt::format("{:#x}", static_cast<uint64_t>(value.number))
                                   : number_in(value.number, number_width);
}

// Replaces characters that would break the line or control the terminal.
std::string one_line(std::string_view text) {
    std::string out;
    for (const char c : terminal_text(text))
        out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
    return out;
}

// A column of a table, to the right of the key.
struct Column {
    std::string head;
    size_t width;
    std::string (*text)(const LiveTable&, const LiveValue&);
};
std::string range_text(const LiveValue& value, int64_t number) {
    return value.has_range ? number_in(number, statistic_width) : "-";
}

StatsView view_of(const LiveValue& value) { return {&value.block, value.buckets.data()}; }

const Column rate_column = {"per second", 10,
                            [](const LiveTable&, const LiveValue& value) { return rate_text(value.rate); }};
const Column change_column = {"change", 12,
                              [](const LiveTable&, const LiveValue& value) { return sparkline(value.rates, 12); }};

// Returns the columns to the right of the key, by the type of the values.
std::vector<Column> columns_of(const LiveTable& table) {
    if (table.type == plan::Value::String)
        return {{"value", 40, [](const LiveTable&, const LiveValue& value) { return one_line(value.text); }}};
    if (table.type == plan::Value::Long)
        return {
            {"value", table.prints_as_pointer ? pointer_width : number_width, number_text}, rate_column, change_column};
    return {
        {"count", statistic_width,
         [](const LiveTable&, const LiveValue& v) { return number_in(v.number, statistic_width); }},
        {"min", statistic_width, [](const LiveTable&, const LiveValue& v) { return range_text(v, view_of(v).min()); }},
        {"avg", statistic_width,
         [](const LiveTable&, const LiveValue& v) { return number_in(average(v), statistic_width); }},
        {"max", statistic_width, [](const LiveTable&, const LiveValue& v) { return range_text(v, view_of(v).max()); }},
        rate_column,
        change_column};
}

bool has_text(const std::string& in, const std::string& what) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    return std::search(in.begin(), in.end(), what.begin(), what.end(), same) != in.end();
}

const std::vector<std::string> help_lines = {
    "up, down, page up, page down, home, end   choose a row",
    "Enter             a stack's flame, a statistic's histogram; Escape goes back",
    "Tab, Shift-Tab    the next array, the one before",
    "s, S              sort by the next number, by the one before",
    "/                 show rows with a text only; empty: all",
    "space             pause the picture, not the session",
    "r                 empty the array in front;  R  all arrays and numbers",
    "+, -              add a probe; remove a probe (--editable)",
    "w                 write a file: a flame graph (SVG) of stacks, else the array as CSV",
    "q, ^C             end the session",
    "",
    "`per second` is the growth since the previous picture, `change` the latest growth.",
};

} // namespace

std::string fit(std::string_view text, size_t width) {
    const size_t whole = text_width(text);
    if (whole <= width)
        return std::string(text) + std::string(width - whole, ' ');
    if (width == 0)
        return "";
    std::string out;
    size_t used = 0;
    while (true) {
        const size_t length = std::max<size_t>(1, utf8_length(text));
        const size_t columns = text_width(text.substr(0, length));
        if (used + columns >= width)
            return out + "…" + std::string(width - used - 1, ' ');
        out += text.substr(0, length);
        used += columns;
        text.remove_prefix(length);
    }
}

std::vector<const LiveTable*> LiveView::arrays() const {
    std::vector<const LiveTable*> out;
    for (const LiveTable& table : picture_->tables)
        if (!table.is_scalar() || table.stats.buckets())
            out.push_back(&table);
    return out;
}

const LiveTable* LiveView::front() const {
    const std::vector<const LiveTable*> all = arrays();
    return all.empty() ? nullptr : all[std::min(front_, all.size() - 1)];
}

void LiveView::show(const LivePicture& picture) { picture_ = &picture; }

int64_t LiveView::sort_number(const LiveTable& table, const LiveRow& row) const {
    const LiveValue& value = row.value;
    const bool is_statistic = table.type == plan::Value::Stats;
    switch (sort_) {
    case Sort::Rate:
        return std::llround(value.rate * 1000);
    case Sort::Sum:
        return is_statistic ? value.block.sum : value.number;
    case Sort::Average:
        return is_statistic ? average(value) : value.number;
    case Sort::Largest:
        return is_statistic && value.has_range ? view_of(value).max() : value.number;
    default:
        return value.number;
    }
}

bool LiveView::passes(const LiveTable& table, const LiveRow& row) {
    return filter_.empty() ||
           std::ranges::any_of(describe_(table, row), [&](const std::string& text) { return has_text(text, filter_); });
}

// Returns the rows that match the filter, in the current order. Rows with equal numbers are sorted by key, so that they
// do not change places at each update.
std::vector<const LiveRow*> LiveView::ordered(const LiveTable& table) {
    std::vector<const LiveRow*> rows;
    for (const LiveRow& row : table.rows)
        if (passes(table, row))
            rows.push_back(&row);
    const bool by_text = table.type == plan::Value::String;
    std::ranges::sort(rows, [&](const LiveRow* a, const LiveRow* b) {
        if (sort_ == Sort::Key || by_text) {
            const std::vector<std::string>&left = describe_(table, *a), &other = describe_(table, *b);
            return left != other ? left < other : a->key < b->key;
        }
        const int64_t left = sort_number(table, *a), other = sort_number(table, *b);
        return left != other ? left > other : a->key < b->key;
    });
    return rows;
}

// Moves the selection by some rows, or scrolls the detail view. If the selected element is gone, moving starts at the
// top.
void LiveView::move(int64_t by) {
    const LiveTable* table = front();
    if (mode_ == Mode::Detail) {
        detail_first_ = static_cast<size_t>(std::max<int64_t>(0, static_cast<int64_t>(detail_first_) + by));
        return;
    }
    if (!table)
        return;
    const std::vector<const LiveRow*> rows = ordered(*table);
    if (rows.empty())
        return;
    Selection& selection = selected_[table->global];
    const auto at = std::ranges::find(rows, selection.key, &LiveRow::key);
    const int64_t place = at == rows.end() ? -1 : at - rows.begin();
    const auto last = static_cast<int64_t>(rows.size()) - 1;
    selection.key = rows[static_cast<size_t>(std::clamp<int64_t>(place + by, 0, last))]->key;
}

// Skips orders that only statistics have.
void LiveView::next_sort(int by) {
    const LiveTable* table = front();
    const bool is_statistic = table && table->type == plan::Value::Stats;
    constexpr int count = std::size(sort_names);
    do
        sort_ = static_cast<Sort>((static_cast<int>(sort_) + by + count) % count);
    while (!is_statistic && (sort_ == Sort::Sum || sort_ == Sort::Average || sort_ == Sort::Largest));
}

// Returns how many rows a key moves the selection; 0 for other keys.
int64_t LiveView::step_of(Key::Kind key) const {
    constexpr int64_t far = INT32_MAX;
    const auto page = static_cast<int64_t>(page_);
    switch (key) {
    case Key::Up:
        return -1;
    case Key::Down:
        return 1;
    case Key::PageUp:
        return -page;
    case Key::PageDown:
        return page;
    case Key::Home:
        return -far;
    case Key::End:
        return far;
    default:
        return 0;
    }
}

std::string* LiveView::typed() {
    return mode_ == Mode::Filter ? &filter_ : mode_ == Mode::Add || mode_ == Mode::Remove ? &edited_ : nullptr;
}

LiveView::Wish LiveView::press_in_text(const Key& key, std::string& text) {
    if (key.kind == Key::Enter || key.kind == Key::Escape) {
        const Mode before = std::exchange(mode_, Mode::Tables);
        if (key.kind == Key::Escape)
            text.clear();
        else if (before == Mode::Add && !text.empty())
            return {Wish::Add, 0, text};
        else if (before == Mode::Remove && !text.empty())
            return {Wish::Remove, 0, std::exchange(text, {})};
    } else if (key.kind == Key::Backspace) {
        while (!text.empty() && (text.back() & 0xc0) == 0x80)
            text.pop_back();
        if (!text.empty())
            text.pop_back();
    } else if (key.kind == Key::Text) {
        text += key.text;
    }
    return {};
}

// A probe that was wrong is offered again for correction: `edited_` still has its text.
LiveView::Wish LiveView::begin_edit(Mode mode) {
    if (!is_editable_) {
        say("start the session with --editable to add and remove probes");
        return {};
    }
    mode_ = mode;
    if (mode == Mode::Add)
        return {};
    edited_.clear();
    probes_.clear();
    return {Wish::List};
}

// Text keys are part of a text while the user types one. Otherwise they are commands.
LiveView::Wish LiveView::press(const Key& key) {
    said_.clear();
    if (std::string* text = typed())
        return press_in_text(key, *text);
    const LiveTable* table = front();
    const size_t count = arrays().size();
    if (const int64_t step = step_of(key.kind)) {
        move(step);
        return {};
    }
    switch (key.kind) {
    case Key::Tab:
    case Key::BackTab:
        mode_ = Mode::Tables;
        if (count)
            front_ = (std::min(front_, count - 1) + (key.kind == Key::Tab ? 1 : count - 1)) % count;
        return {};
    case Key::Enter:
        if (mode_ == Mode::Tables && table && !ordered(*table).empty()) {
            if (Selection& selection = selected_[table->global]; selection.key.empty())
                selection.key = ordered(*table)[0]->key;
            mode_ = Mode::Detail;
            detail_first_ = 0;
        } else {
            mode_ = Mode::Tables;
        }
        return {};
    case Key::Escape:
    case Key::Backspace:
        mode_ = Mode::Tables;
        return {};
    default:
        break;
    }
    const char c = key.text.size() == 1 ? key.text[0] : '\0';
    switch (c) {
    case 'q':
        return {Wish::Quit};
    case ' ':
    case 'p':
        paused_ = !paused_;
        return {};
    case 's':
    case 'S':
        next_sort(c == 's' ? 1 : -1);
        return {};
    case '/':
        mode_ = Mode::Filter;
        return {};
    case '+':
    case '-':
        return begin_edit(c == '+' ? Mode::Add : Mode::Remove);
    case '?':
    case 'h':
        mode_ = mode_ == Mode::Help ? Mode::Tables : Mode::Help;
        return {};
    case 'r':
    case 'w':
        if (!table) {
            say("the script has no array");
            return {};
        }
        return {c == 'r' ? Wish::Reset : Wish::Save, table->global};
    case 'R':
        return {Wish::ResetAll};
    default:
        say(fmt::format("`{}` is not a key here; press ? for the keys", one_line(key.text)));
        return {};
    }
}

void LiveView::add_head(std::vector<std::string>& out, size_t columns) const {
    std::string text =
        fmt::format(" sonde  {}  {:.0f} s", title_, static_cast<double>(picture_->time_ns - picture_->began_ns) / 1e9);
    for (const auto& [count, what] :
         {std::pair(picture_->errors, "errors"), {picture_->skipped, "skipped"}, {picture_->lost, "lost"}})
        if (count)
            text += fmt::format("  {} {}", count, what);
    if (paused_)
        text += "  PAUSED";
    out.push_back(std::string(reverse) + fit(one_line(text), columns));
}

// Puts as many scalars on a line as fit.
void LiveView::add_scalars(std::vector<std::string>& out, size_t columns) const {
    std::string line;
    for (const LiveTable& table : picture_->tables) {
        if (!table.is_scalar() || table.stats.buckets())
            continue;
        const LiveValue& value = table.rows[0].value;
        std::string text = table.name + " ";
        if (table.type == plan::Value::String)
            text += fmt::format("\"{}\"", one_line(value.text));
        else if (table.type == plan::Value::Long)
            text += number_text(table, value);
        else
            text += fmt::format("count {} avg {}", value.number, average(value));
        if (value.rate != 0)
            text += " " + rate_text(value.rate);
        if (!line.empty() && text_width(line) + text_width(text) + 3 > columns) {
            out.push_back(fit(line, columns));
            line.clear();
        }
        line += (line.empty() ? " " : "   ") + text;
    }
    if (!line.empty())
        out.push_back(fit(line, columns));
}

// Adds a heading and the visible rows, `height` lines in total.
void LiveView::add_table(std::vector<std::string>& out, const LiveTable& table, size_t height, size_t columns) {
    const size_t end = out.size() + height;
    const bool is_front = &table == front();
    const std::vector<const LiveRow*> rows = ordered(table);
    Selection& selection = selected_[table.global];
    const auto found = std::ranges::find(rows, selection.key, &LiveRow::key);
    const bool has_selected = is_front && found != rows.end() && !rows.empty() && !table.is_scalar();
    selection.at = has_selected ? static_cast<size_t>(found - rows.begin()) : selection.at;
    const size_t shown = height - 1;
    if (is_front)
        page_ = std::max<size_t>(1, shown);
    if (!has_selected)
        selection.first = 0;
    else if (selection.at < selection.first)
        selection.first = selection.at;
    else if (selection.at >= selection.first + shown)
        selection.first = selection.at - shown + 1;
    selection.first = std::min(selection.first, rows.size() - std::min(rows.size(), shown));

    const std::vector<Column> numbers = columns_of(table);
    size_t taken = 0;
    for (const Column& column : numbers)
        taken += column.width + 1;
    const size_t key_width = columns > taken + 12 ? columns - taken : 12;
    std::string title = table.name;
    if (!table.is_scalar()) {
        std::string keys;
        for (const std::string& key : table.keys)
            keys += (keys.empty() ? "" : ", ") + key;
        title += fmt::format("[{}]  {} of {}", keys, rows.size(), table.rows.size());
    }
    std::string head = fit((is_front ? "▸ " : "  ") + one_line(title), key_width);
    for (const Column& column : numbers)
        head += " " + right(column.head, column.width);
    out.push_back(std::string(is_front ? bold : dim) + fit(head, columns));

    // Each column of the key is as wide as its visible texts need; the last one uses the rest.
    std::vector<size_t> widths;
    const size_t last = std::min(rows.size(), selection.first + shown);
    for (size_t i = selection.first; i < last; i++) {
        const std::vector<std::string>& texts = describe_(table, *rows[i]);
        widths.resize(std::max(widths.size(), texts.size()));
        for (size_t k = 0; k < texts.size(); k++)
            widths[k] = std::max(widths[k], std::min<size_t>(24, text_width(one_line(texts[k]))));
    }
    for (size_t i = selection.first; i < last; i++) {
        const std::vector<std::string>& texts = describe_(table, *rows[i]);
        std::string line = "  ";
        for (size_t k = 0; k < texts.size(); k++)
            line += k + 1 == texts.size() ? one_line(texts[k]) : fit(one_line(texts[k]), widths[k]) + "  ";
        line = fit(line, key_width);
        for (const Column& column : numbers)
            line += " " + right(column.text(table, rows[i]->value), column.width);
        const bool is_selected = has_selected && i == selection.at;
        out.push_back(std::string(is_selected ? reverse : plain) + fit(line, columns));
    }
    if (rows.empty() && out.size() < end)
        out.push_back(std::string(dim) + fit(table.rows.empty() ? "  (empty)" : "  (no row has that text)", columns));
    // A scalar statistic: its histogram uses the remaining lines.
    if (table.is_scalar() && table.stats.buckets())
        for (const std::string& line : detail_(table, table.rows[0], columns))
            if (out.size() < end)
                out.push_back(fit(one_line(line), columns));
    out.resize(end);
}

// Shows the selected row in full, or a message if its element was deleted.
void LiveView::add_detail(std::vector<std::string>& out, size_t height, size_t columns) {
    const LiveTable* table = front();
    const size_t end = out.size() + height;
    if (table) {
        const auto row = std::ranges::find(table->rows, selected_[table->global].key, &LiveRow::key);
        std::vector<std::string> texts;
        if (row == table->rows.end()) {
            texts.emplace_back("this row is gone");
        } else {
            std::string keys;
            for (const std::string& text : describe_(*table, *row))
                keys += (keys.empty() ? "" : ", ") + one_line(text);
            out.push_back(std::string(bold) +
                          fit("▸ " + table->name + (table->is_scalar() ? "" : "[" + keys + "]"), columns));
            texts = detail_(*table, *row, columns);
        }
        page_ = height > 2 ? height - 2 : 1;
        detail_first_ = std::min(detail_first_, texts.size() - std::min(texts.size(), page_));
        for (size_t i = detail_first_; i < texts.size() && out.size() < end; i++)
            out.push_back(fit(one_line(texts[i]), columns));
    }
    out.resize(end);
}

namespace {

// Returns the end of a text that is being typed, if it is longer than the screen is wide.
std::string last_columns(std::string_view text, size_t width) {
    while (text_width(text) > width && !text.empty())
        text.remove_prefix(std::max<size_t>(1, utf8_length(text)));
    return fit(text, width);
}

} // namespace

// The text that is being typed, a message, or the most important keys.
std::string LiveView::footer(size_t columns) const {
    if (mode_ == Mode::Filter)
        return std::string(bold) + fit("/" + one_line(filter_) + "▏", columns);
    if (mode_ == Mode::Add || mode_ == Mode::Remove)
        return std::string(bold) +
               last_columns(fmt::format("{}: {}▏", mode_ == Mode::Add ? "add" : "remove probe", one_line(edited_)),
                            columns);
    if (!said_.empty())
        return std::string(bold) + fit(one_line(said_), columns);
    std::string text =
        fmt::format(" q quit  ? help  Tab next  Enter detail  s sort: {}  / filter{}  space pause  r reset  w write{}",
                    sort_names[static_cast<int>(sort_)], filter_.empty() ? "" : fmt::format(": {}", filter_),
                    is_editable_ ? "  + add  - remove" : "");
    return std::string(dim) + fit(one_line(text), columns);
}

// Distributes the lines of the screen. The head and the footer have one each, then scalars, the script's output, and
// arrays share the rest.
std::vector<std::string> LiveView::lines(ScreenSize size, const std::vector<std::string>& printed) {
    std::vector<std::string> out;
    if (!picture_)
        return out;
    const size_t columns = std::max<size_t>(1, size.columns), rows = std::max<size_t>(1, size.rows);
    add_head(out, columns);
    if (mode_ == Mode::Help || mode_ == Mode::Remove) {
        for (const std::string& line : mode_ == Mode::Help ? help_lines : probes_)
            out.push_back(fit(line, columns));
        out.resize(rows - 1);
        out.push_back(footer(columns));
        return out;
    }
    add_scalars(out, columns);
    out.resize(std::min(out.size(), rows - 1));
    const std::vector<const LiveTable*> all = arrays();
    // The script's output uses the space that arrays leave free. Next to arrays, it gets at most a quarter of the
    // screen.
    const size_t body = rows - out.size() - 1;
    const size_t text_rows =
        printed.empty()
            ? 0
            : std::min(body, all.empty() ? body : std::min(printed.size() + 1, std::max<size_t>(2, rows / 4)));
    const size_t table_rows = body - text_rows;
    if (mode_ == Mode::Detail) {
        add_detail(out, table_rows, columns);
    } else if (!all.empty() && table_rows >= 2) {
        // Show as many arrays as fit with four lines each, in the order of the script and including the front one.
        // Arrays that need fewer lines give the rest to the front one.
        const size_t fits = std::clamp<size_t>(table_rows / 4, 1, all.size());
        const size_t front_at = std::min(front_, all.size() - 1);
        const size_t first = front_at < fits ? 0 : front_at - fits + 1;
        std::vector<size_t> heights(fits, table_rows / fits);
        size_t left = table_rows % fits;
        for (size_t i = 0; i < fits; i++) {
            const LiveTable& table = *all[first + i];
            if (first + i == front_at || table.is_scalar())
                continue;
            const size_t needs = std::min(heights[i], std::max<size_t>(2, table.rows.size() + 1));
            left += heights[i] - needs;
            heights[i] = needs;
        }
        heights[front_at - first] += left;
        for (size_t i = 0; i < fits; i++)
            add_table(out, *all[first + i], heights[i], columns);
    }
    out.resize(rows - 1 - text_rows);
    if (text_rows) {
        out.push_back(std::string(dim) + fit("── printed ", columns));
        const size_t shown = std::min(printed.size(), text_rows - 1);
        for (size_t i = printed.size() - shown; i < printed.size(); i++)
            out.push_back(fit(one_line(printed[i]), columns));
        out.resize(rows - 1);
    }
    out.push_back(footer(columns));
    return out;
}

} // namespace sonde
