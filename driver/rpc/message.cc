#include "driver/rpc/message.h"

#include <utility>

namespace sonde::rpc {

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

std::variant<Call, Reply, BadMessage> read_message(const Json& message) {
    const std::optional<std::string> method = text_member(message, "method");
    const Json* id = find_member(message, "id");
    const bool is_id_valid = !id || id->is_string() || id->is_number_integer();
    if (const Json* result = find_member(message, "result"); !method && id && (result || find_member(message, "error")))
        return Reply{*id, result ? *result : Json()};
    if (!method || !is_id_valid)
        return BadMessage{id && is_id_valid ? *id : Json(),
                          {ErrorCode::InvalidRequest,
                           "expected an object with a `method`, and an `id` that is a number or a string"}};
    const Json* params = find_member(message, "params");
    return Call{id ? *id : Json(), *method, params ? *params : Json()};
}

} // namespace sonde::rpc
