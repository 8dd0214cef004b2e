// A timeline as a picture. Each thread is a row, each call is a box below its caller. Marks show instants, and a curve
// shows each number. The picture is a single SVG file, alone or in an HTML page.
//
// A browser can display a limited number of elements, so the picture is reduced if necessary: it keeps the longest
// calls, and every second, fourth, eighth, ... mark. Curves become coarser. The picture and a warning report this.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/sinks/pictures/timeline_file.h"

namespace sonde {

class TimelinePicture : public TimelineFile {
  public:
    static constexpr size_t most_calls = 20000, most_marks = 4000, most_values = 4000, most_depth = 50;
    static bool is_name(std::string_view file) { return file.ends_with(".svg") || file.ends_with(".html"); }

    // `file` is the name of `fd`; its ending selects SVG or HTML.
    TimelinePicture(std::string file, Fd fd);

    void session(uint64_t track, const std::string& name) override;
    void process(uint64_t track, int64_t pid, const std::string& name) override;
    void thread(uint64_t track, uint64_t process, int64_t pid, int64_t tid, const std::string& name) override;
    void counter(uint64_t track, const std::string& name) override;
    void begin(uint64_t track, int64_t time, std::string_view name) override;
    void end(uint64_t track, int64_t time, std::string_view note) override;
    void moment(uint64_t track, int64_t time, const Moment& moment) override;
    void value(uint64_t track, int64_t time, int64_t value) override;
    void write() override {}
    Result<void> finish(int64_t time) override;

    std::string svg() const; // valid after finish()

  private:
    using Name = std::pair<const std::string, size_t>; // name and number, in order of first occurrence
    struct Call {
        int64_t begin = 0, end = 0;
        uint64_t track = 0;
        const Name* name = nullptr;
        size_t depth = 0;
        std::string_view note; // points into notes_
        int64_t length() const { return end - begin; }
    };
    // An instant.
    struct Mark {
        int64_t time = 0;
        uint64_t track = 0;
        std::string name, text;
        bool is_printed = false;
    };
    // The values of a counter.
    struct Curve {
        std::string name;
        std::vector<std::pair<int64_t, int64_t>> points; // pairs of time and value
        int64_t apart = 0;                               // minimum distance between points, in nanoseconds
    };
    struct Lane { // a thread, or the session
        std::string name;
        uint64_t process = 0;
        std::vector<Call> open;
    };
    struct Row { // the visible contents of a lane
        uint64_t track = 0;
        double top = 0;
        size_t depth = 0; // depth of nested calls
        std::vector<const Mark*> marks;
        std::vector<const Call*> calls;
    };
    // The vertical positions of everything in the picture, in pixels.
    struct Layout {
        std::vector<Row> rows;
        std::vector<std::pair<uint64_t, double>> processes; // vertical positions of their names
        std::vector<std::pair<const Curve*, double>> curves;
        double height = 0;
    };

    // Adds a finished call, if it is among the longest ones.
    void keep(const Call& call);
    // Computes from_ and to_.
    void find_span(int64_t end);
    std::string title() const;
    std::string left_out() const; // what the picture does not show, for a message
    // Assigns vertical positions to rows, names and curves.
    Layout layout() const;
    // Append SVG elements to `out`.
    void draw_axis(std::string& out, double height) const;
    void draw_row(std::string& out, const Row& row) const;
    void draw_curve(std::string& out, const Curve& curve, double top) const;
    // Returns the horizontal position of a time, in pixels from the plot's left edge.
    double x_of(int64_t time) const;

    std::string file_;
    Fd fd_;
    std::map<std::string, size_t, std::less<>> names_; // of calls
    std::set<std::string, std::less<>> notes_;         // of calls; each text is stored once
    std::map<uint64_t, Lane> lanes_;
    std::map<uint64_t, std::string> processes_;
    std::map<uint64_t, Curve> curves_;
    std::vector<Call> calls_; // a heap with the shortest call first, once it is full
    std::vector<Mark> marks_;
    uint64_t calls_seen_ = 0, calls_too_deep_ = 0, marks_seen_ = 0, marks_step_ = 1;
    int64_t from_ = 0, to_ = 0; // the time span of the picture
};

} // namespace sonde
