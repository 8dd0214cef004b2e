// JSON-RPC 2.0 messages, and the reading of their members. A client can send anything, so no function here assumes the
// type of a value. The framing of messages in a stream is the protocol's: driver/lsp/frames.h, driver/mcp/lines.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/text/json.h"

namespace sonde::rpc {

enum class ErrorCode : int {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    InternalError = -32603,
    ResourceNotFound = -32002, // of MCP
    // Of LSP.
    ServerNotInitialized = -32002,
    RequestCancelled = -32800,
    RequestFailed = -32803,
};

struct Failure {
    ErrorCode code;
    std::string message;
};
// The answer to a request: its result, or the error.
using Answer = std::variant<Json, Failure>;

Json make_response(const Json& id, const Answer& answer);
Json make_notification(std::string_view method, Json params);

// Returns the member of an object. Null: there is none, or the value is not an object.
const Json* find_member(const Json& value, std::string_view name);
std::optional<std::string> text_member(const Json& value, std::string_view name);
std::optional<int64_t> number_member(const Json& value, std::string_view name);

// A message that the other side has sent. `id` is null for a notification.
struct Call {
    Json id;
    std::string method;
    Json params; // null: none
    bool is_request() const { return !id.is_null(); }
};
// A response to something that we have asked.
struct Reply {
    Json id;
    Json result; // null: also if it failed
};
// Reads a message. The failure comes with the id to answer to, or null if the message has no valid one.
struct BadMessage {
    Json id;
    Failure failure;
};
std::variant<Call, Reply, BadMessage> read_message(const Json& message);

} // namespace sonde::rpc
