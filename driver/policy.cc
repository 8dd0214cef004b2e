// A member that a reader does not know could be a limit that its author relies on, such as `program` in place of
// `programs`. So everything unexpected is an error, and the server does not start.
#include "driver/policy.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "base/trusted_file.h"

namespace sonde {
namespace {

constexpr const char* of_the_machine = "/etc/sonde/mcp.json";

// Reading and writing of one member. A reader returns the expected value if the JSON is something else, or "".
struct Member {
    std::string_view name;
    std::string (*read)(Policy& policy, const Json& value);
    Json (*write)(const Policy& policy); // null: not set
};

std::string read_texts(std::vector<std::string>& out, const Json& value) {
    const auto is_text = [](const Json& one) { return one.is_string() && !one.get_ref<const std::string&>().empty(); };
    if (!value.is_array() || !std::ranges::all_of(value, is_text))
        return "an array of strings that are not empty";
    out = value.get<std::vector<std::string>>();
    return "";
}
template <auto member> std::string read_patterns(Policy& policy, const Json& value) {
    return read_texts((policy.*member).emplace(), value);
}
template <auto member> Json write_patterns(const Policy& policy) {
    return policy.*member ? Json(*(policy.*member)) : Json();
}
template <auto member> std::string read_flag(Policy& policy, const Json& value) {
    if (!value.is_boolean())
        return "true or false";
    policy.*member = value.get<bool>();
    return "";
}
template <auto member> Json write_value(const Policy& policy) { return policy.*member; }
template <auto member, uint64_t least, uint64_t most> std::string read_whole(Policy& policy, const Json& value) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() < least || value.get<uint64_t>() > most)
        return fmt::format("a whole number from {} to {}", least, most);
    policy.*member = value.get<uint64_t>();
    return "";
}
template <auto member, uint64_t most> std::string read_number(Policy& policy, const Json& value) {
    if (!value.is_number() || !(value.get<double>() >= 0.1) || !(value.get<double>() <= static_cast<double>(most)))
        return fmt::format("a number from 0.1 to {}", most);
    policy.*member = value.get<double>();
    return "";
}

constexpr Member members[] = {
    {"programs", read_patterns<&Policy::programs>, write_patterns<&Policy::programs>},
    {"points", read_patterns<&Policy::points>, write_patterns<&Policy::points>},
    {"tools", read_patterns<&Policy::tools>, write_patterns<&Policy::tools>},
    {"commands", [](Policy& policy, const Json& value) { return read_texts(policy.commands, value); },
     write_value<&Policy::commands>},
    {"scripts", read_flag<&Policy::scripts>, write_value<&Policy::scripts>},
    {"kernel", read_flag<&Policy::kernel>, write_value<&Policy::kernel>},
    {"seconds", read_number<&Policy::seconds, 86'400>, write_value<&Policy::seconds>},
    {"output_bytes", read_whole<&Policy::output_bytes, 1'000, 16'000'000>, write_value<&Policy::output_bytes>},
    {"elements", read_whole<&Policy::elements, 1, 16'000'000>, write_value<&Policy::elements>},
    {"sessions", read_whole<&Policy::sessions, 1, 64>, write_value<&Policy::sessions>},
    {"overload_percent", read_number<&Policy::overload_percent, 100>, write_value<&Policy::overload_percent>},
};

// Whether a member of the outermost object occurs twice. A JSON reader would keep the last one.
Result<Json> parse_strictly(const std::string& text) {
    std::set<std::string> seen;
    std::string twice;
    const auto note = [&](int depth, Json::parse_event_t event, Json& value) {
        if (event == Json::parse_event_t::key && depth == 1 && !seen.insert(value.get<std::string>()).second)
            twice = value.get<std::string>();
        return true;
    };
    try {
        Json out = Json::parse(text, note);
        return twice.empty() ? Result(std::move(out)) : Error(fmt::format("`{}` occurs twice", twice));
    } catch (const Json::parse_error& wrong) {
        const std::string_view what = wrong.what();
        const size_t line = what.find("line ");
        return Error(fmt::format("it is not JSON: {}", what.substr(line == std::string_view::npos ? 0 : line)));
    }
}

Result<Policy> read_policy(const Json& json, const std::string& origin) {
    const auto wrong = [&](const std::string& what) { return Error(fmt::format("`{}`: {}", origin, what)); };
    if (!json.is_object())
        return wrong("expected an object, as in {\"programs\": [\"/srv/*\"]}");
    Policy out;
    out.origin = origin;
    for (const auto& [name, value] : json.items()) {
        const auto* member = std::ranges::find(members, name, &Member::name);
        if (member == std::end(members)) {
            std::vector<std::string> names;
            for (const Member& one : members)
                names.emplace_back(one.name);
            const std::string near = nearest_name(name, names);
            return wrong(fmt::format("there is no member `{}`{}", name,
                                     near.empty() ? fmt::format("; the members are `{}`", fmt::join(names, "`, `"))
                                                  : fmt::format("; did you mean `{}`?", near)));
        }
        if (const std::string expected = member->read(out, value); !expected.empty())
            return wrong(fmt::format("`{}`: expected {}, got {}", name, expected, json_text(value)));
    }
    // A user who names programs means that others stay unseen.
    if (out.programs && !json.contains("kernel"))
        out.kernel = false;
    return out;
}

// Adds the policy of a file that may be missing.
Result<void> add_file(const std::string& path, Policies& out) {
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !error)
        return {};
    const Result<std::string> text = read_trusted_file(path);
    if (!text)
        return text.error();
    Result<Policy> policy = parse_policy(*text, path);
    if (!policy)
        return std::move(policy).error();
    out.push_back(*std::move(policy));
    return {};
}

std::string path_of_user() {
    if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder && *folder)
        return std::string(folder) + "/sonde/mcp.json";
    const char* home = std::getenv("HOME");
    return home && *home ? std::string(home) + "/.config/sonde/mcp.json" : "";
}

} // namespace

Result<Policy> parse_policy(const std::string& text, const std::string& origin) {
    Result<Json> json = parse_strictly(text);
    return json ? read_policy(*json, origin) : Error(fmt::format("`{}`: {}", origin, json.error().message));
}

Result<Policies> find_policies(const std::string& file) {
    Policies out;
    if (Result<void> added = add_file(of_the_machine, out); !added)
        return std::move(added).error();
    if (std::error_code error; !file.empty() && !std::filesystem::exists(file, error))
        return Error(fmt::format("`{}` does not exist", file));
    if (const std::string path = file.empty() ? path_of_user() : file; !path.empty())
        if (Result<void> added = add_file(path, out); !added)
            return std::move(added).error();
    if (out.empty())
        out.emplace_back();
    return out;
}

std::string to_text(const Policies& policies) {
    Json out = Json::array();
    for (const Policy& policy : policies) {
        Json one = Json::object();
        for (const Member& member : members)
            if (Json value = member.write(policy); !value.is_null())
                one[std::string(member.name)] = std::move(value);
        out.push_back({{"origin", policy.origin}, {"policy", std::move(one)}});
    }
    return json_text(out);
}

Result<Policies> read_policies(const std::string& text) {
    const Error wrong("--confine is for `sonde mcp` only, which writes its value");
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_array() || json.empty())
        return wrong;
    Policies out;
    for (const Json& one : json) {
        if (!one.is_object() || !one.contains("origin") || !one["origin"].is_string() || !one.contains("policy"))
            return wrong;
        Result<Policy> policy = read_policy(one["policy"], one["origin"].get<std::string>());
        if (!policy)
            return std::move(policy).error();
        out.push_back(*std::move(policy));
    }
    return out;
}

} // namespace sonde
