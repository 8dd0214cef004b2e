// A timeline as a picture: a row for each thread, a box for each call below its caller, marks for single hits and for
// what is printed, a curve for each number. One SVG file, alone or in an HTML page, which needs nothing else.
//
// A picture holds what a person can look at and a browser can draw: of more calls the longest are kept, of more marks
// every second, fourth, eighth one, and curves get coarser. The picture says so, and a warning.
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

    std::string svg() const; // after finish()

  private:
    using Name = std::pair<const std::string, size_t>; // with its number, in the order in which they were met
    struct Call {
        int64_t begin = 0, end = 0;
        uint64_t track = 0;
        const Name* name = nullptr;
        size_t depth = 0;
        std::string_view note; // of text that stays
        int64_t length() const { return end - begin; }
    };
    struct Mark {
        int64_t time = 0;
        uint64_t track = 0;
        std::string name, text;
        bool is_printed = false;
    };
    struct Curve {
        std::string name;
        std::vector<std::pair<int64_t, int64_t>> points; // time, value
        int64_t apart = 0;                               // nanoseconds between points, at least
    };
    struct Lane { // a thread, or the session
        std::string name;
        uint64_t process = 0;
        std::vector<Call> open;
    };
    struct Row { // what is drawn of a lane
        uint64_t track = 0;
        double top = 0;
        size_t depth = 0; // calls within each other
        std::vector<const Mark*> marks;
        std::vector<const Call*> calls;
    };
    struct Layout {
        std::vector<Row> rows;
        std::vector<std::pair<uint64_t, double>> processes; // where their names stand
        std::vector<std::pair<const Curve*, double>> curves;
        double height = 0;
    };

    void keep(const Call& call);
    void find_span(int64_t end);
    std::string title() const;
    std::string left_out() const; // what the picture does not show, as a sentence
    Layout layout() const;
    void draw_axis(std::string& out, double height) const;
    void draw_row(std::string& out, const Row& row) const;
    void draw_curve(std::string& out, const Curve& curve, double top) const;
    double x_of(int64_t time) const;

    std::string file_;
    Fd fd_;
    std::map<std::string, size_t, std::less<>> names_; // of calls
    std::set<std::string, std::less<>> notes_;         // of calls: each once
    std::map<uint64_t, Lane> lanes_;
    std::map<uint64_t, std::string> processes_;
    std::map<uint64_t, Curve> curves_;
    std::vector<Call> calls_; // a heap, the shortest first, once it is full
    std::vector<Mark> marks_;
    uint64_t calls_seen_ = 0, calls_too_deep_ = 0, marks_seen_ = 0, marks_step_ = 1;
    int64_t from_ = 0, to_ = 0; // what is shown
};

} // namespace sonde
