// Bars of Unicode's block elements. Each block has eight levels, so a bar of 10 characters shows 80 different lengths.
#include "base/bars.h"

#include <algorithm>
#include <cmath>

namespace sonde {

std::string bar_of_eighths(uint64_t eighths) {
    static constexpr const char* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string out;
    for (uint64_t i = 0; i < eighths / 8; i++)
        out += "█";
    return out + parts[eighths % 8];
}

std::string bar_text(double part, size_t width) {
    return bar_of_eighths(
        static_cast<uint64_t>(std::llround(std::clamp(part, 0.0, 1.0) * static_cast<double>(width) * 8)));
}

std::string_view standing_bar(double part) {
    static constexpr const char* heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    return part > 0 ? heights[std::min<size_t>(7, static_cast<size_t>(part * 8))] : " ";
}

std::string sparkline(const std::deque<double>& numbers, size_t width) {
    const size_t shown = std::min(numbers.size(), width);
    const auto first = numbers.end() - static_cast<ptrdiff_t>(shown);
    const double most = shown ? *std::max_element(first, numbers.end()) : 0;
    std::string out;
    for (auto at = first; at != numbers.end(); ++at)
        out += most > 0 ? standing_bar(*at / most) : " ";
    return out;
}

} // namespace sonde
