// The screen of a live session: which part of a picture is shown, in which order, and as which lines.
//
// It knows neither the session nor the terminal: pictures and keys in, lines and wishes out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sinks/live/keys.h"
#include "runtime/sinks/live/tables.h"
#include "runtime/sinks/live/terminal.h"

namespace sonde {

class LiveView {
  public:
    // A row's key as texts.
    using Describe = std::function<const std::vector<std::string>&(const LiveTable&, const LiveRow&)>;
    // What a row is made of, as lines: a stack's flame, a histogram.
    using Detail = std::function<std::vector<std::string>(const LiveTable&, const LiveRow&, size_t columns)>;
    // The functions live as long as the view; the picture until the next one.
    LiveView(std::string title, Describe describe, Detail detail)
        : title_(std::move(title)), describe_(std::move(describe)), detail_(std::move(detail)) {}

    void show(const LivePicture& picture);
    // What a key asks for that the view cannot do itself.
    struct Wish {
        enum Kind { None, Quit, Reset, ResetAll, Save } kind = None;
        size_t global = 0; // Reset, Save: the array in front
    };
    Wish press(const Key& key);
    bool is_paused() const { return paused_; }
    // A line for the user, until the next key.
    void say(std::string text) { said_ = std::move(text); }

    // The lines of the screen, no wider than it is. `printed`: what the script has printed, its last lines.
    std::vector<std::string> lines(ScreenSize size, const std::vector<std::string>& printed);

  private:
    enum class Sort : uint8_t { Value, Rate, Sum, Average, Largest, Key };
    enum class Mode : uint8_t { Tables, Detail, Filter, Help };
    struct Selection {
        std::string key;
        size_t at = 0, first = 0; // places in the order that is shown: of the row, of the topmost one
    };
    const LiveTable* front() const;
    std::vector<const LiveTable*> arrays() const;
    std::vector<const LiveRow*> ordered(const LiveTable& table);
    int64_t sort_number(const LiveTable& table, const LiveRow& row) const;
    bool passes(const LiveTable& table, const LiveRow& row);
    int64_t step_of(Key::Kind key) const;
    void move(int64_t by);
    void next_sort(int by);
    void add_head(std::vector<std::string>& out, size_t columns) const;
    void add_scalars(std::vector<std::string>& out, size_t columns) const;
    void add_table(std::vector<std::string>& out, const LiveTable& table, size_t height, size_t columns);
    void add_detail(std::vector<std::string>& out, size_t height, size_t columns);
    std::string footer(size_t columns) const;

    std::string title_;
    Describe describe_;
    Detail detail_;
    const LivePicture* picture_ = nullptr;
    Mode mode_ = Mode::Tables;
    bool paused_ = false;
    Sort sort_ = Sort::Value;
    size_t front_ = 0;                     // of arrays()
    std::map<size_t, Selection> selected_; // by global
    std::string filter_;
    std::string said_;
    size_t detail_first_ = 0;
    size_t page_ = 10; // rows that the table in front shows
};

// The text, cut to so many characters; filled with blanks to them.
std::string fit(std::string_view text, size_t width);

} // namespace sonde
