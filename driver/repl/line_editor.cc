// libedit reads characters through a function of ours, which waits for the terminal and for the session at once. When
// text arrives, the function erases the line that is being edited, prints the text, and lets libedit draw the line
// again. For this, it must know how many rows above the cursor the line begins:
//
//     (sonde) probe process.function("a very long na     <- row 0
//     me") { n[$x]++ }_                                  <- row 1, with the cursor
//
// libedit does not say which row the cursor is in, so the row is computed from the widths of the prompt and of the text
// before the cursor. EL_REFRESH then draws the line from an empty screen, as at the first prompt.
#include "driver/repl/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <cwchar>

#include <fmt/format.h>

#include "base/terminal_text.h"

namespace sonde::repl {
namespace {

class PlainSource final : public LineSource {
  public:
    Read read(const std::string&, const Events& events) override {
        for (;;) {
            const size_t end = text_.find('\n');
            if (end != std::string::npos) {
                std::string line = text_.substr(0, end);
                text_.erase(0, end + 1);
                return {End::Line, std::move(line)};
            }
            if (has_ended_)
                return text_.empty() ? Read{End::EndOfInput, ""} : Read{End::Line, std::exchange(text_, {})};
            std::vector<pollfd> fds = events.fds();
            fds.push_back({STDIN_FILENO, POLLIN, 0});
            const int ready = poll(fds.data(), fds.size(), -1);
            if (events.is_interrupted())
                return {End::Interrupted, ""};
            if (ready < 0)
                continue;
            if (const std::string text = events.serve(); !text.empty())
                std::fwrite(text.data(), 1, text.size(), stdout), std::fflush(stdout);
            if (!fds.back().revents)
                continue;
            char bytes[4096];
            const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
            if (got > 0)
                text_.append(bytes, static_cast<size_t>(got));
            else if (got == 0 || errno != EINTR)
                has_ended_ = true;
        }
    }
    bool is_interactive() const override { return false; }

  private:
    std::string text_;
    bool has_ended_ = false;
};

class LineEditor final : public LineSource {
  public:
    LineEditor(std::string history_file, Complete complete)
        : history_file_(std::move(history_file)), complete_(std::move(complete)) {
        setlocale(LC_CTYPE, "");
        edit_ = el_init("sonde", stdin, stdout, stderr);
        history_ = history_init();
        HistEvent event;
        history(history_, &event, H_SETSIZE, 1000);
        history(history_, &event, H_SETUNIQUE, 1);
        if (!history_file_.empty())
            history(history_, &event, H_LOAD, history_file_.c_str());
        el_set(edit_, EL_CLIENTDATA, this);
        el_set(edit_, EL_EDITOR, "emacs");
        el_set(edit_, EL_SIGNAL, 0);
        el_set(edit_, EL_HIST, ::history, history_);
        el_set(edit_, EL_PROMPT, &LineEditor::prompt_of);
        el_set(edit_, EL_GETCFN, &LineEditor::next_of);
        el_set(edit_, EL_ADDFN, "sonde-complete", "complete the word", &LineEditor::complete_of);
        el_set(edit_, EL_BIND, "^I", "sonde-complete", nullptr);
        el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
        el_set(edit_, EL_BIND, "\033[1;5D", "ed-prev-word", nullptr);
        el_set(edit_, EL_BIND, "\033[1;5C", "em-next-word", nullptr);
        el_set(edit_, EL_BIND, "\033[3~", "ed-delete-next-char", nullptr);
        el_source(edit_, nullptr); // ~/.editrc
    }
    ~LineEditor() override {
        if (!history_file_.empty()) {
            const mode_t before = umask(077);
            HistEvent event;
            history(history_, &event, H_SAVE, history_file_.c_str());
            umask(before);
        }
        history_end(history_);
        el_end(edit_);
    }
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    Read read(const std::string& prompt, const Events& events) override {
        prompt_ = prompt;
        events_ = &events;
        interrupted_ = false;
        int count = 0;
        // el_gets() would do this only after it has drawn the prompt. What the user types in between would be echoed.
        el_set(edit_, EL_PREP_TERM, 1);
        const char* line = el_gets(edit_, &count);
        events_ = nullptr;
        if (interrupted_)
            return {End::Interrupted, ""};
        if (!line || count <= 0)
            return {End::EndOfInput, ""};
        std::string out(line, static_cast<size_t>(count));
        while (!out.empty() && (out.back() == '\n' || out.back() == '\r'))
            out.pop_back();
        return {End::Line, std::move(out)};
    }
    bool is_interactive() const override { return true; }

    void remember(const std::string& input) override {
        std::string one_line = input;
        std::ranges::replace(one_line, '\n', ' ');
        HistEvent event;
        if (one_line.find_first_not_of(" \t") != std::string::npos)
            history(history_, &event, H_ENTER, one_line.c_str());
    }

  private:
    static LineEditor& of(EditLine* edit) {
        void* self = nullptr;
        el_get(edit, EL_CLIENTDATA, &self);
        return *static_cast<LineEditor*>(self);
    }
    static char* prompt_of(EditLine* edit) { return of(edit).prompt_.data(); }

    // Returns the next character: 1, or 0 at the end of the input.
    static int next_of(EditLine* edit, wchar_t* out) { return of(edit).next(*out); }
    int next(wchar_t& out) {
        for (;;) {
            std::vector<pollfd> fds = events_->fds();
            fds.push_back({STDIN_FILENO, POLLIN, 0});
            const int ready = poll(fds.data(), fds.size(), -1);
            if (events_->is_interrupted()) {
                interrupted_ = true;
                return 0;
            }
            if (is_resized())
                el_resize(edit_);
            if (ready < 0)
                continue;
            if (const std::string text = events_->serve(); !text.empty())
                print_above(text);
            if (fds.back().revents)
                break;
        }
        // A character of several bytes arrives at once, or nearly so.
        std::mbstate_t state{};
        for (;;) {
            char byte = 0;
            const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return 0;
            const size_t size = std::mbrtowc(&out, &byte, 1, &state);
            if (size == static_cast<size_t>(-2))
                continue; // not complete
            if (size == static_cast<size_t>(-1))
                out = static_cast<unsigned char>(byte);
            if (size == 0)
                out = 0;
            return 1;
        }
    }

    size_t columns() const {
        winsize size{};
        return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    }
    bool is_resized() {
        const size_t now = columns();
        return std::exchange(columns_, now) != now;
    }

    void print_above(const std::string& text) {
        const LineInfo* line = el_line(edit_);
        const std::string before = prompt_ + std::string(line->buffer, line->cursor);
        const size_t row = text_width(before) / columns();
        std::string out = "\r";
        if (row > 0)
            out += fmt::format("\033[{}A", row);
        out += "\033[J" + text;
        if (!text.ends_with('\n'))
            out += '\n';
        // The terminal is raw only for input, so a newline also returns to the first column.
        std::fflush(stdout);
        std::fwrite(out.data(), 1, out.size(), stdout);
        std::fflush(stdout);
        el_set(edit_, EL_REFRESH);
    }

    static unsigned char complete_of(EditLine* edit, int) { return of(edit).complete(); }
    unsigned char complete() {
        const LineInfo* info = el_line(edit_);
        const std::string line(info->buffer, info->cursor);
        const EditorCompletions found = complete_(line);
        if (found.words.empty())
            return CC_REFRESH_BEEP;
        const size_t typed = line.size() - std::min(found.begin, line.size());
        std::string common = found.words[0];
        for (const std::string& word : found.words)
            common.resize(static_cast<size_t>(std::ranges::mismatch(common, word).in1 - common.begin()));
        std::string added = common.substr(std::min(typed, common.size()));
        if (found.words.size() == 1 && found.are_whole[0])
            added += ' ';
        if (!added.empty())
            return el_insertstr(edit_, added.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
        constexpr size_t most = 50;
        std::string list;
        for (size_t i = 0; i < std::min(most, found.words.size()); i++)
            list += "  " + terminal_text(found.words[i]) + "\n";
        if (found.words.size() > most)
            list += fmt::format("  ... {} more\n", found.words.size() - most);
        print_above(line.empty() ? list : prompt_ + terminal_text(line) + "\n" + list);
        return CC_NORM;
    }

    const std::string history_file_;
    const Complete complete_;
    EditLine* edit_ = nullptr;
    History* history_ = nullptr;
    std::string prompt_;
    const Events* events_ = nullptr; // while a line is read
    bool interrupted_ = false;
    size_t columns_ = columns();
};

} // namespace

std::unique_ptr<LineSource> make_plain_source() { return std::make_unique<PlainSource>(); }
std::unique_ptr<LineSource> make_line_editor(const std::string& history_file, Complete complete) {
    return std::make_unique<LineEditor>(history_file, std::move(complete));
}

} // namespace sonde::repl
