// The screen of --live without a terminal and a session: keys, and pictures as lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/bars.h"
#include "base/terminal_text.h"
#include "runtime/sinks/live/keys.h"
#include "runtime/sinks/live/view.h"

namespace sonde {
namespace {

std::vector<Key> keys_of(std::string bytes) { return take_keys(bytes); }

TEST(Keys, SequencesOfTerminals) {
    EXPECT_EQ(keys_of("\x1b[A\x1bOB\x1b[5~\x1b[Z"),
              (std::vector<Key>{{Key::Up, ""}, {Key::Down, ""}, {Key::PageUp, ""}, {Key::BackTab, ""}}));
    EXPECT_EQ(keys_of("q\r\t\x7f"),
              (std::vector<Key>{{Key::Text, "q"}, {Key::Enter, ""}, {Key::Tab, ""}, {Key::Backspace, ""}}));
    EXPECT_EQ(keys_of("\x1b"), (std::vector<Key>{{Key::Escape, ""}}));
    EXPECT_EQ(keys_of("é"), (std::vector<Key>{{Key::Text, "é"}}));
    EXPECT_TRUE(keys_of("\x1b[200;5H").empty()); // an unknown sequence, and not text
    EXPECT_EQ(keys_of("\xff\x01x"), (std::vector<Key>{{Key::Text, "x"}}));
}

TEST(Keys, ComeInPieces) {
    std::string typed = "\x1b[";
    EXPECT_TRUE(take_keys(typed).empty());
    typed += "B\xc3";
    EXPECT_EQ(take_keys(typed), (std::vector<Key>{{Key::Down, ""}}));
    typed += "\xa9";
    EXPECT_EQ(take_keys(typed), (std::vector<Key>{{Key::Text, "é"}}));
    EXPECT_TRUE(typed.empty());
}

TEST(Bars, ArePartsOfTheWidth) {
    EXPECT_EQ(bar_text(0, 4), "");
    EXPECT_EQ(bar_text(1, 4), "████");
    EXPECT_EQ(bar_text(0.5, 4), "██");
    EXPECT_EQ(bar_text(1.0 / 32, 4), "▏");
    EXPECT_EQ(bar_text(2, 3), "███");
    EXPECT_EQ(sparkline({9, 0, 1, 4, 8}, 4), " ▂▅█");
    EXPECT_EQ(fit("abcdef", 4), "abc…");
    EXPECT_EQ(fit("é", 3), "é  ");
    EXPECT_EQ(fit("abc", 0), "");
}

TEST(Bars, WideCharactersTakeTwoColumns) {
    EXPECT_EQ(text_width("漢字 🍰"), 7);
    EXPECT_EQ(text_width("o\xcc\x88"), 1); // o with a combining diaeresis
    EXPECT_EQ(text_width("\xff?"), 2);
    EXPECT_EQ(fit("漢字", 5), "漢字 ");
    EXPECT_EQ(fit("漢字漢", 5), "漢字…");
    EXPECT_EQ(fit("漢字漢", 4), "漢… ");
    EXPECT_EQ(fit("o\xcc\x88o", 1), "…");
    EXPECT_EQ(fit("o\xcc\x88", 1), "o\xcc\x88");
}

// Rows `a`, `b` ... with these values.
LivePicture picture_of(const std::vector<int64_t>& values, const std::string& name = "n") {
    LivePicture out;
    LiveTable& table = out.tables.emplace_back();
    table.name = name;
    table.keys = {"execname()"};
    for (size_t i = 0; i < values.size(); i++) {
        LiveRow& row = table.rows.emplace_back();
        row.key = std::string(1, static_cast<char>('a' + i));
        row.value.number = values[i];
    }
    return out;
}

class View : public testing::Test {
  protected:
    std::map<std::string, std::vector<std::string>> texts_;
    LiveView view_{
        "script.stp",
        [this](const LiveTable&, const LiveRow& row) -> const std::vector<std::string>& {
            return texts_[row.key] = {"task " + row.key};
        },
        [](const LiveTable&, const LiveRow& row, size_t) { return std::vector<std::string>{"detail of " + row.key}; }};
    std::string text(ScreenSize size = {12, 80}, const std::vector<std::string>& printed = {}) {
        std::string out;
        for (const std::string& line : view_.lines(size, printed))
            out += line + "\n";
        return out;
    }
    void press(const std::string& keys) {
        for (const char c : keys)
            view_.press({Key::Text, std::string(1, c)});
    }
    // Whether these texts occur in this order.
    bool in_order(const std::string& in, const std::vector<std::string>& parts) {
        size_t at = 0;
        for (const std::string& part : parts) {
            const size_t found = in.find(part, at);
            if (found == std::string::npos)
                return false;
            at = found;
        }
        return true;
    }
};

TEST_F(View, SortsByValueAndByKey) {
    const LivePicture picture = picture_of({5, 30, 7});
    view_.show(picture);
    EXPECT_TRUE(in_order(text(), {"n[execname()]  3 of 3", "task b", "task c", "task a"})) << text();
    press("S");
    EXPECT_TRUE(in_order(text(), {"task a", "task b", "task c", "sort: key"})) << text();
}

TEST_F(View, EveryLineFitsAndTheScreenIsFull) {
    const LivePicture picture = picture_of({5, 30, 7});
    view_.show(picture);
    for (const ScreenSize size : {ScreenSize{4, 20}, {24, 10}, {3, 1}, {1, 80}, {24, 80}, {50, 211}}) {
        const std::vector<std::string> lines = view_.lines(size, {"printed", "a\tb\x1b[31m"});
        EXPECT_EQ(lines.size(), size.rows);
        for (const std::string& line : lines) {
            std::string shown;
            for (size_t i = 0; i < line.size(); i++)
                if (line[i] == '\x1b')
                    i = line.find('m', i);
                else
                    shown += line[i];
            EXPECT_LE(text_width(shown), size.columns) << line;
            EXPECT_EQ(shown.find('\x1b'), std::string::npos);
        }
    }
    EXPECT_NE(text({24, 80}, {"a\x1b[31m"}).find("a\\033[31m"), std::string::npos);
}

TEST_F(View, NumbersWithoutRoomSayHowLargeTheyAre) {
    LivePicture picture = picture_of({12345678901234, -1234567890123456});
    picture.tables[0].rows[0].value.rate = -20e9;
    view_.show(picture);
    EXPECT_TRUE(in_order(text(), {" 12345678901234 ", "-20.0G/s"})) << text();
    EXPECT_TRUE(in_order(text(), {"task b", " -1.23P "})) << text();
    picture = picture_of({std::numeric_limits<int64_t>::max(), 1});
    picture.tables[0].prints_as_pointer = true;
    view_.show(picture);
    EXPECT_TRUE(in_order(text(), {"task a", " 0x7fffffffffffffff"})) << text();
}

TEST_F(View, FiltersAsOneTypes) {
    const LivePicture picture = picture_of({5, 30, 7});
    view_.show(picture);
    press("/K C");
    EXPECT_NE(text().find("1 of 3"), std::string::npos) << text();
    view_.press({Key::Backspace, ""});
    EXPECT_NE(text().find("3 of 3"), std::string::npos) << text();
    press("nobody");
    EXPECT_NE(text().find("(no row has that text)"), std::string::npos) << text();
    view_.press({Key::Escape, ""});
    EXPECT_NE(text().find("3 of 3"), std::string::npos) << text();
}

TEST_F(View, TheSelectionStaysOnItsRow) {
    const LivePicture before = picture_of({5, 30, 7});
    view_.show(before);
    view_.press({Key::Down, ""});
    view_.press({Key::Down, ""}); // c
    const LivePicture after = picture_of({50, 30, 70});
    view_.show(after);
    view_.press({Key::Enter, ""});
    EXPECT_NE(text().find("detail of c"), std::string::npos) << text();
    view_.press({Key::Escape, ""});
    view_.press({Key::End, ""});
    view_.press({Key::Enter, ""});
    EXPECT_NE(text().find("detail of b"), std::string::npos) << text();
    const LivePicture gone = picture_of({1});
    view_.show(gone);
    EXPECT_NE(text().find("this row is gone"), std::string::npos) << text();
}

TEST_F(View, AsksForWhatItCannotDo) {
    const LivePicture picture = picture_of({5});
    view_.show(picture);
    EXPECT_EQ(view_.press({Key::Text, "q"}).kind, LiveView::Wish::Quit);
    EXPECT_EQ(view_.press({Key::Text, "r"}).kind, LiveView::Wish::Reset);
    EXPECT_EQ(view_.press({Key::Text, "R"}).kind, LiveView::Wish::ResetAll);
    EXPECT_EQ(view_.press({Key::Text, "w"}).kind, LiveView::Wish::Save);
    EXPECT_EQ(view_.press({Key::Text, "x"}).kind, LiveView::Wish::None);
    EXPECT_NE(text().find("`x` is not a key here"), std::string::npos) << text();
    EXPECT_FALSE(view_.is_paused());
    press(" ");
    EXPECT_TRUE(view_.is_paused());
    EXPECT_NE(text().find("PAUSED"), std::string::npos);
}

TEST_F(View, WithoutArraysTextHasTheScreen) {
    LivePicture picture;
    view_.show(picture);
    std::vector<std::string> printed;
    for (int i = 0; i < 30; i++)
        printed.push_back("line " + std::to_string(i));
    EXPECT_TRUE(in_order(text({12, 80}, printed), {"line 21", "line 29"})) << text({12, 80}, printed);
    EXPECT_EQ(view_.press({Key::Text, "r"}).kind, LiveView::Wish::None);
    view_.press({Key::Down, ""});
    view_.press({Key::Enter, ""});
}

TEST_F(View, ProbesAreTypedAndCorrected) {
    const LivePicture picture = picture_of({5, 30, 7});
    view_.show(picture);
    press("+");
    EXPECT_NE(text().find("start the session with --editable to add and remove probes"), std::string::npos) << text();
    view_.set_editable();
    press("+timer.s(1) { n++ }");
    EXPECT_NE(text().find("add: timer.s(1) { n++ }"), std::string::npos) << text();
    LiveView::Wish wish = view_.press({Key::Enter, ""});
    EXPECT_EQ(wish.kind, LiveView::Wish::Add);
    EXPECT_EQ(wish.text, "timer.s(1) { n++ }");
    press("+"); // it was wrong, and is offered again
    EXPECT_NE(text().find("add: timer.s(1) { n++ }"), std::string::npos) << text();
    view_.press({Key::Enter, ""});
    view_.clear_edit();
    press("+");
    EXPECT_EQ(text().find("timer"), std::string::npos) << text();
    view_.press({Key::Escape, ""});
    EXPECT_EQ(view_.press({Key::Text, "-"}).kind, LiveView::Wish::List);
    view_.show_probes({"  1  probe timer.s(1) { n++ }"});
    EXPECT_TRUE(in_order(text(), {"  1  probe timer.s(1)", "remove probe: "})) << text();
    press("1");
    wish = view_.press({Key::Enter, ""});
    EXPECT_EQ(wish.kind, LiveView::Wish::Remove);
    EXPECT_EQ(wish.text, "1");
    EXPECT_EQ(view_.press({Key::Text, "-"}).kind, LiveView::Wish::List);
    EXPECT_EQ(view_.press({Key::Enter, ""}).kind, LiveView::Wish::None); // no number
    press("+" + std::string(200, 'x') + "end");
    EXPECT_NE(text().find("xend"), std::string::npos) << text();
}

} // namespace
} // namespace sonde
