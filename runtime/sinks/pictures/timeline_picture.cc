// Events are collected during the session and drawn at its end, because the time span and the number of rows are
// unknown before. Memory is bounded by three reductions:
//
// * Calls: a heap keeps the 20,000 longest ones. Short calls would be narrower than a pixel.
// * Marks: every n-th one is kept. When the list is full, n doubles and half of the list is dropped.
// * Points of a curve: a minimum distance in time, which grows when the list is full.
//
// The title and a warning report each reduction, because a missing call must not look like a call that never happened.
#include "runtime/sinks/pictures/timeline_picture.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "runtime/plan/counts.h"
#include "runtime/sinks/pictures/page.h"
#include "runtime/sinks/pictures/timeline_script.h"
#include "runtime/sinks/pictures/xml.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// In pixels. timeline_script.h repeats those of the axis.
constexpr double page_width = 1200, left = 170, right = 14, plot_width = page_width - left - right;
constexpr double head = 56, foot = 44, axis_top = 34, axis_text = 46;
constexpr double call_height = 16, call_step = 17, mark_height = 15, name_height = 22, gap = 7, curve_height = 40;
constexpr double least_width = 0.5, letter_width = 6.7;
constexpr const char* under_way = "still under way when the session ended";

// Colors for names. Names have no order, so the hues are distinct, also for color-blind readers, and light enough for
// black text.
constexpr uint32_t colors[] = {0x88ccee, 0xf0c571, 0x9fd39b, 0xe8a6b5, 0xb7a9e0, 0x7fcdbb,
                               0xf4a582, 0xc9d17b, 0xa6bddb, 0xd9b38c, 0xd4a6c8, 0xb5c7b0};
constexpr uint32_t printed_color = 0xb2182b, hit_color = 0x2166ac, curve_color = 0x4292c6;

struct Unit {
    int64_t ns;
    const char* name;
};
constexpr Unit units[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "µs"}, {1, "ns"}};
const Unit& unit_of(int64_t ns) {
    const auto* const unit = std::ranges::find_if(units, [&](const Unit& one) { return ns >= one.ns; });
    return unit == std::end(units) ? units[3] : *unit;
}

// Returns the distance between two lines of the axis: 1, 2 or 5 times a power of ten, for at most eight lines.
int64_t axis_step(int64_t span) {
    for (int64_t power = 1;; power *= 10)
        for (const int64_t step : {power, 2 * power, 5 * power})
            if (step >= span / 8)
                return step;
}

} // namespace

TimelinePicture::TimelinePicture(std::string file, Fd fd) : file_(std::move(file)), fd_(std::move(fd)) {}

void TimelinePicture::session(uint64_t track, const std::string& name) { lanes_[track].name = name; }

void TimelinePicture::process(uint64_t track, int64_t pid, const std::string& name) {
    processes_[track] = fmt::format("{} {}", name, pid);
}

void TimelinePicture::thread(uint64_t track, uint64_t process, int64_t, int64_t tid, const std::string& name) {
    Lane& lane = lanes_[track];
    lane.name = fmt::format("{} {}", name, tid);
    lane.process = process;
}

void TimelinePicture::counter(uint64_t track, const std::string& name) { curves_[track].name = name; }

// Names are stored once. Their order of appearance selects the color.
void TimelinePicture::begin(uint64_t track, int64_t time, std::string_view name) {
    auto known = names_.find(name);
    if (known == names_.end())
        known = names_.emplace(name, names_.size()).first;
    std::vector<Call>& open = lanes_[track].open;
    open.push_back({time, time, track, &*known, open.size(), ""});
}

void TimelinePicture::end(uint64_t track, int64_t time, std::string_view note) {
    std::vector<Call>& open = lanes_[track].open;
    if (open.empty())
        return;
    Call call = open.back();
    open.pop_back();
    call.end = time;
    call.note = note.empty() ? std::string_view() : std::string_view(*notes_.emplace(note).first);
    keep(call);
}

// Keeps the longest calls. The heap's top is the shortest one, which a longer call replaces.
void TimelinePicture::keep(const Call& call) {
    calls_seen_++;
    if (call.depth >= most_depth) {
        calls_too_deep_++;
        return;
    }
    const auto is_shorter_on_top = [](const Call& a, const Call& b) { return a.length() > b.length(); };
    if (calls_.size() == most_calls) {
        if (!is_shorter_on_top(call, calls_.front()))
            return;
        std::ranges::pop_heap(calls_, is_shorter_on_top);
        calls_.pop_back();
    }
    calls_.push_back(call);
    std::ranges::push_heap(calls_, is_shorter_on_top);
}

// Keeps every marks_step_-th mark. When the list is full, drops every second mark and doubles the step.
void TimelinePicture::moment(uint64_t track, int64_t time, const Moment& moment) {
    if (marks_seen_++ % marks_step_)
        return;
    marks_.push_back({time, track, std::string(moment.name), std::string(moment.text), moment.is_printed});
    if (marks_.size() < most_marks)
        return;
    marks_step_ *= 2;
    for (size_t i = 0; i < marks_.size() / 2; i++)
        marks_[i] = std::move(marks_[2 * i]);
    marks_.resize(marks_.size() / 2);
}

// Adds a point to a curve. When the list is full, increases the minimum distance and thins out the points.
void TimelinePicture::value(uint64_t track, int64_t time, int64_t value) {
    Curve& curve = curves_[track];
    std::vector<std::pair<int64_t, int64_t>>& points = curve.points;
    // Replace the newest point until it is far enough from the previous one.
    if (points.size() > 1 && points.back().first - points[points.size() - 2].first < curve.apart)
        points.back() = {time, value};
    else
        points.emplace_back(time, value);
    if (points.size() < most_values)
        return;
    curve.apart = (points.back().first - points.front().first) / static_cast<int64_t>(most_values / 2);
    std::vector<std::pair<int64_t, int64_t>> fewer;
    for (const auto& point : points)
        if (fewer.empty() || point.first - fewer.back().first >= curve.apart || point == points.back())
            fewer.push_back(point);
    points = std::move(fewer);
}

// Sets the time span: from the first to the last event. With curves only, up to the session's end.
void TimelinePicture::find_span(int64_t end) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    const auto include = [&](int64_t time) {
        first = std::min(first, time);
        last = std::max(last, time);
    };
    for (const Call& call : calls_) {
        include(call.begin);
        include(call.end);
    }
    for (const Mark& mark : marks_)
        include(mark.time);
    if (first == INT64_MAX) {
        include(end);
        for (const auto& [track, curve] : curves_)
            for (const auto& [time, value] : curve.points)
                include(time);
    }
    from_ = first;
    to_ = std::max(last, first + 1000);
}

// Ends the calls that are still open, sorts everything, and writes the file.
Result<void> TimelinePicture::finish(int64_t time) {
    for (auto& [track, lane] : lanes_)
        for (; !lane.open.empty(); lane.open.pop_back()) {
            Call& call = lane.open.back();
            call.end = std::max(call.begin, time);
            call.note = under_way;
            keep(call);
        }
    std::ranges::sort(
        calls_, [](const Call& a, const Call& b) { return std::pair(a.begin, a.depth) < std::pair(b.begin, b.depth); });
    std::ranges::stable_sort(marks_, {}, &Mark::time);
    find_span(time);
    if (const std::string missing = left_out(); !missing.empty())
        warn(fmt::format("{} shows only {}; a file that ends in .pftrace shows everything", file_, missing),
             Weight::Answer);
    const std::string image = svg();
    return write_all(fd_.get(),
                     file_.ends_with(".html") ? html_page(title(), image)
                                              : "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + image,
                     file_);
}

// Example: "nginx 42: 120 calls, 3 marks in 1.5 s".
std::string TimelinePicture::title() const {
    std::string out;
    size_t named = 0;
    for (const auto& [track, name] : processes_)
        if (named++ < 3)
            out += (out.empty() ? "" : ", ") + name;
    if (named > 3)
        out += fmt::format(" and {} more processes", named - 3);
    const Unit& unit = unit_of(to_ - from_);
    const auto counted = [](uint64_t count, const char* what) {
        return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    return fmt::format("{}{}{}, {} in {:.4g} {}", out, out.empty() ? "" : ": ", counted(calls_seen_, "call"),
                       counted(marks_seen_, "mark"), static_cast<double>(to_ - from_) / static_cast<double>(unit.ns),
                       unit.name);
}

std::string TimelinePicture::left_out() const {
    std::string out;
    if (calls_too_deep_)
        out = fmt::format("calls up to a depth of {} ({} are deeper)", most_depth, calls_too_deep_);
    if (calls_seen_ - calls_too_deep_ > calls_.size())
        out += fmt::format("{}the {} longest of {} calls", out.empty() ? "" : ", ", calls_.size(), calls_seen_);
    if (marks_step_ > 1)
        out += fmt::format("{}one of {} marks", out.empty() ? "" : ", ", marks_step_);
    return out;
}

double TimelinePicture::x_of(int64_t time) const {
    return static_cast<double>(time - from_) / static_cast<double>(to_ - from_) * plot_width;
}

// Arranges rows from top to bottom: the session's own prints, the threads of each process in order of appearance, then
// curves.
TimelinePicture::Layout TimelinePicture::layout() const {
    Layout out;
    std::map<uint64_t, Row> rows;
    for (const Call& call : calls_) {
        Row& row = rows[call.track];
        row.calls.push_back(&call);
        row.depth = std::max(row.depth, call.depth + 1);
    }
    for (const Mark& mark : marks_)
        rows[mark.track].marks.push_back(&mark);
    double y = head;
    const auto place = [&](Row& row, uint64_t track) {
        row.track = track;
        row.top = y;
        y += (row.marks.empty() ? 0 : mark_height) + call_step * static_cast<double>(row.depth) + gap;
        out.rows.push_back(std::move(row));
    };
    // The session's own lane does not belong to a process.
    for (auto& [track, row] : rows)
        if (lanes_.at(track).process == 0)
            place(row, track);
    for (const auto& [process, name] : processes_) {
        bool is_named = false;
        for (auto& [track, row] : rows) {
            if (lanes_.at(track).process != process)
                continue;
            if (!std::exchange(is_named, true)) {
                out.processes.emplace_back(process, y);
                y += name_height;
            }
            place(row, track);
        }
    }
    for (const auto& [track, curve] : curves_)
        if (!curve.points.empty()) {
            out.curves.emplace_back(&curve, y);
            y += curve_height + gap;
        }
    out.height = std::max(y, head + name_height);
    return out;
}

// The script redraws the axis after zooming, so these lines are for viewers without JavaScript.
void TimelinePicture::draw_axis(std::string& out, double height) const {
    const int64_t step = axis_step(to_ - from_);
    const Unit& unit = unit_of(step);
    out += "<g class=\"axis\">";
    for (int64_t at = 0; at <= to_ - from_; at += step) {
        const double x = x_of(from_ + at);
        out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#ddd\"/>"
                           "<text x=\"{3:.1f}\" y=\"{4}\" fill=\"#666\">{5} {6}</text>\n",
                           x, axis_top, height, x + 3, axis_text, at / unit.ns, unit.name);
    }
    out += "</g>\n";
}

// Marks are on the first line of a row, calls below.
void TimelinePicture::draw_row(std::string& out, const Row& row) const {
    const Lane& lane = lanes_.at(row.track);
    const auto note = [](std::string_view text) {
        return text.empty() ? "" : fmt::format(" data-t=\"{}\"", xml_escaped(text));
    };
    out += fmt::format("<g class=\"row\" data-l=\"{}\">\n", xml_escaped(lane.name));
    for (size_t i = 0; i < row.marks.size(); i++) {
        const Mark& mark = *row.marks[i];
        const double x = x_of(mark.time), end = i + 1 < row.marks.size() ? x_of(row.marks[i + 1]->time) : plot_width;
        out += fmt::format("<g class=\"m\" data-s=\"{}\" data-n=\"{}\"{} transform=\"translate({:.2f} 0)\">"
                           "<path d=\"M0 {:.1f} l3 5 l-3 5 l-3 -5 z\" fill=\"#{:06x}\"/><text x=\"6\" y=\"{:.1f}\" "
                           "fill=\"#{:06x}\">{}</text></g>\n",
                           mark.time - from_, xml_escaped(mark.name), note(mark.text == mark.name ? "" : mark.text), x,
                           row.top + 2, mark.is_printed ? printed_color : hit_color, row.top + 11,
                           mark.is_printed ? printed_color : hit_color,
                           xml_escaped(fitted(mark.name, end - x - 10, letter_width)));
    }
    const double top = row.top + (row.marks.empty() ? 0 : mark_height);
    for (const Call* call : row.calls) {
        const double x = x_of(call->begin), width = std::max(x_of(call->end) - x, least_width);
        const double y = top + call_step * static_cast<double>(call->depth);
        out +=
            fmt::format("<g class=\"c\" data-s=\"{}\" data-e=\"{}\" data-n=\"{}\"{}><rect x=\"{:.2f}\" y=\"{:.1f}\" "
                        "width=\"{:.2f}\" height=\"{}\" rx=\"1\" fill=\"#{:06x}\"{}/><text x=\"{:.2f}\" "
                        "y=\"{:.1f}\">{}</text></g>\n",
                        call->begin - from_, call->end - from_, xml_escaped(call->name->first), note(call->note), x, y,
                        width, call_height, colors[call->name->second % std::size(colors)],
                        call->note == under_way ? " fill-opacity=\"0.6\" stroke=\"#666\" stroke-dasharray=\"3 2\"" : "",
                        x + 3, y + 12, xml_escaped(fitted(call->name->first, width - 5, letter_width)));
    }
    out += "</g>\n";
}

// Draws a step function, since a value lasts until the next one. Points outside the time span are moved to its edges.
void TimelinePicture::draw_curve(std::string& out, const Curve& curve, double top) const {
    const auto [least, most] = std::ranges::minmax(curve.points | std::views::values);
    const double low = std::min(0.0, static_cast<double>(least)), high = std::max(low + 1, static_cast<double>(most));
    const auto y_of = [&](int64_t value) {
        return top + curve_height - (static_cast<double>(value) - low) / (high - low) * curve_height;
    };
    std::string path;
    double at = 0;
    for (const auto& [time, value] : curve.points) {
        at = std::clamp(x_of(time), 0.0, plot_width);
        path += path.empty() ? fmt::format("M{:.2f} {:.2f}", at, y_of(value))
                             : fmt::format("H{:.2f}V{:.2f}", at, y_of(value));
    }
    path += fmt::format("H{:.2f}", plot_width);
    const double begin = std::clamp(x_of(curve.points.front().first), 0.0, plot_width);
    out += fmt::format("<g class=\"v\"><path d=\"{0}V{1:.2f}H{2:.2f}Z\" fill=\"#{3:06x}\" fill-opacity=\"0.25\"/>"
                       "<path d=\"{0}\" fill=\"none\" stroke=\"#{3:06x}\" stroke-width=\"1.5\" "
                       "vector-effect=\"non-scaling-stroke\"/></g>\n",
                       path, y_of(static_cast<int64_t>(low)), begin, curve_color);
}

// The inner <svg class="plot"> clips its contents, so zooming never draws over the labels at the left.
std::string TimelinePicture::svg() const {
    const Layout places = layout();
    const double height = places.height + foot;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" data-span=\"{0}\" width=\"{1}\" "
        "height=\"{2:.0f}\" "
        "viewBox=\"0 0 {1} {2:.0f}\" font-family=\"'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"#222\">\n"
        "<style>.timeline g.c {{ cursor: pointer; }} .timeline text {{ pointer-events: none; }} "
        ".timeline .search, .timeline .reset {{ pointer-events: auto; cursor: pointer; }}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        "<text x=\"{3}\" y=\"20\" text-anchor=\"middle\" font-size=\"15\">{4}</text>\n"
        "<text class=\"search\" x=\"{5}\" y=\"20\" text-anchor=\"end\" fill=\"#666\">search</text>\n"
        "<text class=\"reset\" x=\"10\" y=\"20\" fill=\"#666\">reset</text>\n",
        to_ - from_, page_width, height, page_width / 2, xml_escaped(title()), page_width - 10);
    const auto label = [&](double x, double y, std::string_view text, const char* more) {
        out += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more,
                           xml_escaped(fitted(text, left - x - 4, letter_width)));
    };
    for (const auto& [process, y] : places.processes) {
        out += fmt::format("<rect x=\"0\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"#f3f3f3\"/>\n", y, page_width,
                           name_height - 4);
        label(6, y + 13, processes_.at(process), "font-weight=\"bold\"");
    }
    for (const Row& row : places.rows)
        label(lanes_.at(row.track).process ? 14 : 6, row.top + 12, lanes_.at(row.track).name, "fill=\"#444\"");
    for (const auto& [curve, y] : places.curves) {
        const auto [least, most] = std::ranges::minmax(curve->points | std::views::values);
        label(6, y + 13, curve->name, "font-weight=\"bold\"");
        label(6, y + 28, fmt::format("{} to {}", least, most), "fill=\"#666\"");
    }
    out += fmt::format("<svg class=\"plot\" x=\"{}\" y=\"0\" width=\"{}\" height=\"{:.1f}\">\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"#fff\" fill-opacity=\"0\"/>\n",
                       left, plot_width, places.height);
    draw_axis(out, places.height);
    for (const Row& row : places.rows)
        draw_row(out, row);
    for (const auto& [curve, y] : places.curves)
        draw_curve(out, *curve, y);
    if (places.rows.empty() && places.curves.empty())
        out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">nothing happened</text>\n", plot_width / 2,
                           head + 14);
    const std::string missing = left_out();
    out += fmt::format("<rect class=\"chosen\" y=\"{}\" height=\"{:.1f}\" width=\"0\" fill=\"#4292c6\" "
                       "fill-opacity=\"0.2\"/>\n</svg>\n"
                       "<text class=\"info\" x=\"10\" y=\"{:.0f}\"> </text>\n"
                       "<text x=\"10\" y=\"{:.0f}\" fill=\"#b2182b\">{}</text>\n"
                       "<text class=\"found\" x=\"{}\" y=\"{:.0f}\" text-anchor=\"end\"> </text>\n{}</svg>\n",
                       axis_top, places.height - axis_top, height - 10, height - 26,
                       missing.empty() ? "" : xml_escaped("this picture shows " + missing), page_width - 10,
                       height - 10, svg_script(timeline_script));
    return out;
}

} // namespace sonde
