#include "driver/lsp/features.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace sonde::lsp {
namespace {

Json quick_fixes() { return {{"codeActionKinds", Json::array({"quickfix"})}}; }

constexpr Feature features[] = {
    {"textDocument/codeAction", answer_code_actions, "codeActionProvider", quick_fixes},
};

} // namespace

const Feature* find_feature(std::string_view method) {
    const auto* found = std::ranges::find(features, method, &Feature::method);
    return found == std::end(features) ? nullptr : found;
}

Json capabilities() {
    Json out = {{"positionEncoding", "utf-16"},
                {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}}};
    for (const Feature& feature : features)
        if (!feature.capability.empty())
            out[std::string(feature.capability)] = feature.option();
    return out;
}

std::optional<size_t> offset_in(const Request& request) {
    const Json* member = find_member(request.params, "position");
    const std::optional<Position> position = member ? read_position(*member) : std::nullopt;
    return position ? std::optional(request.document.text.offset(*position)) : std::nullopt;
}

Failure wrong_params(std::string_view expected) {
    return {ErrorCode::InvalidParams, fmt::format("expected {} in the parameters", expected)};
}

} // namespace sonde::lsp
