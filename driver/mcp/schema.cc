#include "driver/mcp/schema.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"

namespace sonde::mcp {
namespace {

constexpr size_t most_shown = 80;

// A value in a message.
std::string shown(const Json& value) {
    std::string text = json_text(value);
    if (text.size() > most_shown)
        text = text.substr(0, most_shown) + "...";
    return text;
}

bool has_type(const Json& value, const std::string& type) {
    if (type == "string")
        return value.is_string();
    if (type == "integer")
        return value.is_number_integer();
    if (type == "number")
        return value.is_number();
    if (type == "boolean")
        return value.is_boolean();
    if (type == "array")
        return value.is_array();
    return value.is_object();
}

std::string find_problem_of_object(const Json& schema, const Json& value, const std::string& name) {
    const Json& properties = schema["properties"];
    for (const Json& required : schema.value("required", Json::array()))
        if (!value.contains(required.get<std::string>()))
            return fmt::format("{}: `{}` is missing: {}", name, required.get<std::string>(),
                               properties[required.get<std::string>()].value("description", ""));
    std::vector<std::string> names;
    for (const auto& [one, ignored] : properties.items())
        names.push_back(one);
    for (const auto& [key, member] : value.items()) {
        const auto known = properties.find(key);
        if (known == properties.end()) {
            const std::string near = nearest_name(key, names);
            return fmt::format("{}: there is no argument `{}`; {}", name, key,
                               near.empty() ? fmt::format("the arguments are `{}`", fmt::join(names, "`, `"))
                                            : fmt::format("did you mean `{}`?", near));
        }
        if (std::string problem = find_problem(*known, member, fmt::format("`{}`", key)); !problem.empty())
            return problem;
    }
    return "";
}

} // namespace

std::string find_problem(const Json& schema, const Json& value, const std::string& name) {
    const auto wrong = [&](const std::string& expected) {
        return fmt::format("{}: expected {}, got {}", name, expected, shown(value));
    };
    const std::string type = schema["type"].get<std::string>();
    if (!has_type(value, type))
        return wrong((type == "integer" || type == "array" || type == "object" ? "an " : "a ") + type);
    if (type == "object" && schema.contains("properties"))
        return find_problem_of_object(schema, value, name);
    if (type == "array")
        for (const Json& one : value)
            if (std::string problem = find_problem(schema["items"], one, name); !problem.empty())
                return problem;
    if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
        const auto names = schema["enum"].get<std::vector<std::string>>();
        const std::string near = nearest_name(value.get<std::string>(), names);
        return wrong(near.empty() ? fmt::format("one of `{}`", fmt::join(names, "`, `"))
                                  : fmt::format("a known name (did you mean `{}`?)", near));
    }
    if (schema.contains("minimum") && (value < schema["minimum"] || value > schema["maximum"]))
        return wrong(fmt::format("a number from {} to {}", json_text(schema["minimum"]), json_text(schema["maximum"])));
    if (schema.contains("maxLength") && value.get_ref<const std::string&>().size() > schema["maxLength"].get<size_t>())
        return fmt::format("{}: expected at most {} bytes, got {}", name, schema["maxLength"].get<size_t>(),
                           value.get_ref<const std::string&>().size());
    if (type == "string" && value.get_ref<const std::string&>().find('\0') != std::string::npos)
        return fmt::format("{}: a text cannot contain a null character", name);
    return "";
}

Json text_schema(std::string_view about, size_t max_length) {
    return {{"type", "string"}, {"description", about}, {"maxLength", max_length}};
}
Json whole_schema(std::string_view about, int64_t least, int64_t most) {
    return {{"type", "integer"}, {"description", about}, {"minimum", least}, {"maximum", most}};
}
Json number_schema(std::string_view about, double least, double most) {
    return {{"type", "number"}, {"description", about}, {"minimum", least}, {"maximum", most}};
}
Json flag_schema(std::string_view about) { return {{"type", "boolean"}, {"description", about}}; }
Json texts_schema(std::string_view about) {
    return {{"type", "array"}, {"description", about}, {"items", {{"type", "string"}, {"maxLength", 4096}}}};
}
Json object_schema(Json properties, Json required) {
    Json out = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
    if (out["properties"].is_null())
        out["properties"] = Json::object();
    if (!required.empty())
        out["required"] = std::move(required);
    return out;
}

} // namespace sonde::mcp
