#include "runtime/sinks/pictures/xml.h"

#include <algorithm>

#include "base/terminal_text.h"

namespace sonde {

std::string xml_escaped(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        const auto first = static_cast<unsigned char>(text[0]);
        if (first == '\n' || first == '\t')
            out += first == '\n' ? "&#10;" : "&#9;"; // unlike plain ones, these survive in attributes
        else if (length == 0 || first < 0x20)
            out += "\xef\xbf\xbd";
        else if (first == '<')
            out += "&lt;";
        else if (first == '>')
            out += "&gt;";
        else if (first == '&')
            out += "&amp;";
        else if (first == '"')
            out += "&quot;";
        else
            out += text.substr(0, length);
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    return out;
}

} // namespace sonde
