#include "driver/lsp/protocol.h"

#include <algorithm>

namespace sonde::lsp {

std::optional<Position> read_position(const Json& value) {
    const std::optional<int64_t> line = number_member(value, "line"), character = number_member(value, "character");
    if (!line || !character || *line < 0 || *character < 0)
        return std::nullopt;
    const auto limited = [](int64_t number) { return static_cast<uint32_t>(std::min<int64_t>(number, UINT32_MAX)); };
    return Position{limited(*line), limited(*character)};
}

std::optional<Span> read_span(const Json& value) {
    const Json *start = find_member(value, "start"), *end = find_member(value, "end");
    const std::optional<Position> first = start ? read_position(*start) : std::nullopt;
    const std::optional<Position> last = end ? read_position(*end) : std::nullopt;
    return first && last ? std::optional(Span{*first, *last}) : std::nullopt;
}

Json to_json(Position position) { return {{"line", position.line}, {"character", position.character}}; }

Json to_json(Position begin, Position end) { return {{"start", to_json(begin)}, {"end", to_json(end)}}; }

} // namespace sonde::lsp
