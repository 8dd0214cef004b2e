// The positions of the protocol, and the names of JSON-RPC that all files here use.
#pragma once

#include <optional>

#include "driver/lsp/text.h"
#include "driver/rpc/message.h"

namespace sonde::lsp {

using rpc::Answer;
using rpc::ErrorCode;
using rpc::Failure;
using rpc::find_member;
using rpc::make_notification;
using rpc::make_response;
using rpc::number_member;
using rpc::text_member;

std::optional<Position> read_position(const Json& value);
struct Span {
    Position begin, end;
};
std::optional<Span> read_span(const Json& value);
Json to_json(Position position);
Json to_json(Position begin, Position end);

} // namespace sonde::lsp
