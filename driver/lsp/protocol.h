// JSON-RPC messages, and the reading of their members. A client can send anything, so no function here assumes the type
// of a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "driver/lsp/text.h"
#include "runtime/text/json.h"

namespace sonde::lsp {

enum class ErrorCode : int {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    InternalError = -32603,
    ServerNotInitialized = -32002,
    RequestCancelled = -32800,
    RequestFailed = -32803,
};

struct Failure {
    ErrorCode code;
    std::string message;
};
// The answer to a request: its result, or why it has none.
using Answer = std::variant<Json, Failure>;

Json make_response(const Json& id, const Answer& answer);
Json make_notification(std::string_view method, Json params);

// Returns the member of an object. Null: there is none, or the value is not an object.
const Json* find_member(const Json& value, std::string_view name);
std::optional<std::string> text_member(const Json& value, std::string_view name);
std::optional<int64_t> number_member(const Json& value, std::string_view name);

std::optional<Position> read_position(const Json& value);
struct Span {
    Position begin, end;
};
std::optional<Span> read_span(const Json& value);
Json to_json(Position position);
Json to_json(Position begin, Position end);

} // namespace sonde::lsp
