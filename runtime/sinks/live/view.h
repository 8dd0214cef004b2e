// The layout of the --live screen: chooses the tables and their order, reacts to keys, and produces lines.
//
// It depends neither on the session nor on the terminal, so tests can drive it. Input: pictures and keys. Output:
// lines, and wishes that the caller fulfills.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sinks/live/keys.h"
#include "runtime/sinks/live/live_values.h"
#include "runtime/sinks/live/terminal.h"

namespace sonde {

class LiveView {
  public:
    // Returns the key of a row as texts.
    using Describe = std::function<const std::vector<std::string>&(const LiveTable&, const LiveRow&)>;
    // Returns the detail view of a row as lines: the flame graph of a stack, or a histogram.
    using Detail = std::function<std::vector<std::string>(const LiveTable&, const LiveRow&, size_t columns)>;
    // The functions must be valid as long as the view exists.
    LiveView(std::string title, Describe describe, Detail detail)
        : title_(std::move(title)), describe_(std::move(describe)), detail_(std::move(detail)) {}

    // Sets the data to show. The picture must remain valid until the next call.
    void show(const LivePicture& picture);
    // An action that the view cannot perform itself.
    struct Wish {
        enum Kind { None, Quit, Reset, ResetAll, Save, List, Add, Remove } kind = None;
        size_t global = 0;     // for Reset and Save: the array in front
        std::string text = {}; // for Add: a probe; for Remove: its number
    };
    Wish press(const Key& key);
    bool is_paused() const { return paused_; }
    // Offers the keys that add and remove probes (--editable).
    void set_editable() { is_editable_ = true; }
    // The last text was accepted, so it is not offered again.
    void clear_edit() { edited_.clear(); }
    // Sets the lines that are shown while the user types the number of a probe.
    void show_probes(std::vector<std::string> lines) { probes_ = std::move(lines); }
    // Shows a message to the user until the next key.
    void say(std::string text) { said_ = std::move(text); }

    // Returns the lines of the screen, none wider than `size`. `printed`: the last lines of the script's output.
    std::vector<std::string> lines(ScreenSize size, const std::vector<std::string>& printed);

  private:
    enum class Sort : uint8_t { Value, Rate, Sum, Average, Largest, Key };
    enum class Mode : uint8_t { Tables, Detail, Filter, Add, Remove, Help };
    struct Selection {
        std::string key;
        // Row numbers in the current order: of the selected row, and of the topmost visible one.
        size_t at = 0, first = 0;
    };
    // The table in front, which reacts to keys. Null if the script has neither arrays nor histograms.
    const LiveTable* front() const;
    // The tables with rows: arrays, and scalar statistics with a histogram.
    std::vector<const LiveTable*> arrays() const;
    // The rows of a table that match the filter, in the current order.
    std::vector<const LiveRow*> ordered(const LiveTable& table);
    // The number that rows are sorted by.
    int64_t sort_number(const LiveTable& table, const LiveRow& row) const;
    bool passes(const LiveTable& table, const LiveRow& row);
    // The text that the user types in this mode; null in modes without a text.
    std::string* typed();
    Wish press_in_text(const Key& key, std::string& text);
    Wish begin_edit(Mode mode);
    // Reactions to keys: how many rows a key moves, moving the selection, and choosing the next order.
    int64_t step_of(Key::Kind key) const;
    void move(int64_t by);
    void next_sort(int by);
    // Parts of the screen, from top to bottom. `columns` is its width, `height` the number of lines to add.
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
    size_t front_ = 0;                     // index into arrays()
    std::map<size_t, Selection> selected_; // by global
    std::string filter_;
    std::string edited_; // in the modes Add and Remove
    std::vector<std::string> probes_;
    bool is_editable_ = false;
    std::string said_;
    size_t detail_first_ = 0;
    size_t page_ = 10; // number of visible rows of the front table
};

// Returns the text cut or padded to `width` columns.
std::string fit(std::string_view text, size_t width);

} // namespace sonde
