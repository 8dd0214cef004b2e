#include "runtime/sinks/pictures/page.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/terminal_text.h"
#include "runtime/sinks/pictures/xml.h"

namespace sonde {
namespace {

constexpr std::string_view script_begin = "<script><![CDATA[", script_end = "]]></script>";

} // namespace

size_t shade_of(std::string_view name) {
    return std::accumulate(name.begin(), name.end(), size_t{7},
                           [](size_t sum, char c) { return (sum * 31 + static_cast<unsigned char>(c)) & 0xffff; });
}

std::string fitted(std::string_view text, double width, double letter_width) {
    const auto room = static_cast<size_t>(std::max(0.0, width / letter_width));
    size_t letters = 0, at = 0, cut = 0; // `cut`: the end of the first `room` - 2 letters
    while (at < text.size()) {
        at += std::max<size_t>(1, utf8_length(text.substr(at)));
        if (++letters + 2 == room)
            cut = at;
    }
    if (room < 3)
        return "";
    return letters <= room ? std::string(text) : std::string(text.substr(0, cut)) + "..";
}

std::string html_page(std::string_view title, std::string svg) {
    // In HTML, the contents of a script element are not escaped, so CDATA marks must be removed.
    for (const auto& [from, to] : {std::pair(script_begin, "<script>"), {script_end, "</script>"}})
        if (const size_t at = svg.rfind(from); at != std::string::npos)
            svg.replace(at, from.size(), to);
    return fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{}</title></head>\n"
                       "<body style=\"margin: 0; text-align: center\">\n{}</body>\n</html>\n",
                       xml_escaped(title), svg);
}

std::string svg_script(std::string_view script) { return fmt::format("{}{}{}\n", script_begin, script, script_end); }

} // namespace sonde
