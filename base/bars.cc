#include "base/bars.h"

#include <algorithm>
#include <cmath>

namespace sonde {

std::string bar_text(double part, size_t width) {
    static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto units = static_cast<size_t>(std::lround(std::clamp(part, 0.0, 1.0) * static_cast<double>(width) * 8));
    std::string out;
    for (size_t i = 0; i < units / 8; i++)
        out += "█";
    return out + eighths[units % 8];
}

size_t text_width(std::string_view text) {
    return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string sparkline(const std::deque<double>& numbers, size_t width) {
    static constexpr const char* heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t shown = std::min(numbers.size(), width);
    const auto first = numbers.end() - static_cast<ptrdiff_t>(shown);
    const double most = shown ? *std::max_element(first, numbers.end()) : 0;
    std::string out;
    for (auto at = first; at != numbers.end(); ++at)
        out += *at <= 0 || most <= 0 ? " " : heights[std::min<size_t>(7, static_cast<size_t>(*at / most * 8))];
    return out;
}

} // namespace sonde
