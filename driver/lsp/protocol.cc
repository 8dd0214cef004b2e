#include "driver/lsp/protocol.h"

#include <algorithm>
#include <utility>

namespace sonde::lsp {

Json make_response(const Json& id, const Answer& answer) {
    Json out = {{"jsonrpc", "2.0"}, {"id", id}};
    if (const Failure* failure = std::get_if<Failure>(&answer))
        out["error"] = {{"code", static_cast<int>(failure->code)}, {"message", failure->message}};
    else
        out["result"] = std::get<Json>(answer);
    return out;
}

Json make_notification(std::string_view method, Json params) {
    return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

const Json* find_member(const Json& value, std::string_view name) {
    if (!value.is_object())
        return nullptr;
    const auto found = value.find(std::string(name));
    return found == value.end() ? nullptr : &*found;
}

std::optional<std::string> text_member(const Json& value, std::string_view name) {
    const Json* member = find_member(value, name);
    return member && member->is_string() ? std::optional(member->get<std::string>()) : std::nullopt;
}

std::optional<int64_t> number_member(const Json& value, std::string_view name) {
    const Json* member = find_member(value, name);
    return member && member->is_number_integer() ? std::optional(member->get<int64_t>()) : std::nullopt;
}

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
