#include "runtime/sinks/live/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "base/terminal_text.h"

namespace sonde {
namespace {

// xterm control sequences: alternate screen with saved cursor position, and cursor visibility.
constexpr std::string_view alternate_screen = "\x1b[?1049h\x1b[?25l", normal_screen = "\x1b[?25h\x1b[?1049l";

} // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
    Result<Fd> fd = open_file("/dev/tty", O_RDWR | O_NOCTTY);
    if (!fd)
        return Error("sonde has no terminal to draw on; run sonde in a terminal, or use --format=json with -o FILE");
    if (!is_capable_terminal(fd->get())) {
        const char* kind = getenv("TERM");
        return Error(fmt::format("sonde cannot draw on this terminal (TERM is {}); use --format=json with -o FILE",
                                 kind && *kind ? fmt::format("`{}`", kind) : "not set"));
    }
    std::unique_ptr<Terminal> out(new Terminal);
    out->fd_ = *std::move(fd);
    return out;
}

Terminal::~Terminal() { leave(); }

ScreenSize Terminal::size() const {
    winsize size{};
    if (ioctl(fd_.get(), TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return {};
    return {size.ws_row, size.ws_col};
}

// Reads return at once (VMIN and VTIME are 0), so read_keys() never blocks.
void Terminal::enter() {
    if (entered_ || tcgetattr(fd_.get(), &before_) != 0)
        return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    tcsetattr(fd_.get(), TCSADRAIN, &raw);
    write(alternate_screen);
    entered_ = true;
}

void Terminal::leave() {
    if (!entered_)
        return;
    entered_ = false;
    write(normal_screen);
    tcsetattr(fd_.get(), TCSADRAIN, &before_);
}

// Does not wait for a terminal that is stopped (^S). The next update redraws everything anyway.
void Terminal::write(std::string_view text) {
    while (!text.empty()) {
        pollfd ready{fd_.get(), POLLOUT, 0};
        if (poll(&ready, 1, 100) <= 0)
            return;
        const ssize_t written = ::write(fd_.get(), text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return;
        text.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
    }
}

void Terminal::draw(const std::vector<std::string>& lines) {
    // Clearing each line just before writing its text avoids flicker. Terminals with synchronized output (mode 2026)
    // also hide incomplete updates.
    std::string out = "\x1b[?2026h\x1b[H";
    const size_t shown = std::min(lines.size(), size().rows);
    for (size_t i = 0; i < shown; i++)
        out += lines[i] + "\x1b[0m\x1b[K" + (i + 1 < shown ? "\r\n" : "");
    out += "\x1b[J\x1b[?2026l";
    write(out);
}

std::vector<Key> Terminal::read_keys() {
    char bytes[256];
    const ssize_t size = read(fd_.get(), bytes, sizeof bytes);
    if (size > 0)
        typed_.append(bytes, static_cast<size_t>(size));
    return take_keys(typed_);
}

} // namespace sonde
