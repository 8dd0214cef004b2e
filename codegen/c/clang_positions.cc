// Converts clang's positions to positions in the script.
//
// The text for clang contains a line `#line N "sonde-script-ID"` before each part from the script. ID is the text's
// number in Sources. So clang's messages and its debug information name the script's own lines, and all other lines are
// sonde's own C.
#include "codegen/c/clang_positions.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

namespace sonde {

namespace {
constexpr const char* prefix = "sonde-script-";
}

std::string c_file_name(FileId file) { return fmt::format("{}{}", prefix, file); }

std::optional<Range> c_place(const Sources& sources, const std::string& file, unsigned line, unsigned column) {
    if (!file.starts_with(prefix))
        return std::nullopt;
    const auto id = static_cast<FileId>(std::strtoul(file.c_str() + std::string_view(prefix).size(), nullptr, 10));
    if (id == 0 || id > sources.last() || line == 0)
        return std::nullopt;
    const std::string_view all = sources.text(id), text = sources.line_text(id, line);
    const size_t at = std::min<size_t>(column ? column - 1 : 0, text.size());
    size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        end++;
    end = std::max(end, std::min(at + 1, text.size()));
    const auto start = static_cast<size_t>(text.data() - all.data());
    return Range{id, static_cast<uint32_t>(start + at), static_cast<uint32_t>(start + end)};
}

} // namespace sonde
