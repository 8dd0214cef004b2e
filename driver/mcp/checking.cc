// The tool that checks a script: the diagnostics of the language server, with lines and columns as users count them.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "driver/lsp/check.h"
#include "driver/lsp/documents.h"
#include "driver/lsp/script.h"
#include "driver/mcp/schema.h"
#include "driver/mcp/tool.h"

namespace sonde::mcp {
namespace {

// A text that is not a script can have thousands of mistakes, and most of them follow from the first ones.
constexpr size_t most_diagnostics = 50;

void add_range(const Json& range, Json& out) {
    out["line"] = range["start"]["line"].get<int64_t>() + 1;
    out["column"] = range["start"]["character"].get<int64_t>() + 1;
    out["end_line"] = range["end"]["line"].get<int64_t>() + 1;
    out["end_column"] = range["end"]["character"].get<int64_t>() + 1;
}

Json convert(const Json& diagnostic) {
    Json out = {{"severity", diagnostic["severity"] == 1 ? "error" : "warning"},
                {"code", diagnostic.value("code", "")},
                {"message", diagnostic["message"]}};
    add_range(diagnostic["range"], out);
    if (const auto data = diagnostic.find("data"); data != diagnostic.end())
        for (const Json& fix : (*data)["fixes"]) {
            Json one = {{"title", fix["title"]}, {"replacement", fix["newText"]}};
            add_range(fix["range"], one);
            out["fixes"].push_back(std::move(one));
        }
    return out;
}

std::string check_script(const std::string& script, std::vector<std::string> words) {
    lsp::Document document;
    document.uri = "untitled:script";
    document.text = lsp::Text(script);
    const Json checked = lsp::check(document, {std::move(words), "", nullptr});
    Json diagnostics = Json::array();
    std::string text;
    bool is_valid = true;
    const Json& all = checked["diagnostics"];
    for (const Json& one : all) {
        is_valid &= one["severity"] != 1;
        if (diagnostics.size() == most_diagnostics)
            continue;
        Json converted = convert(one);
        text += fmt::format("{}:{}: {}[{}]: {}\n", converted["line"].get<int64_t>(), converted["column"].get<int64_t>(),
                            converted["severity"].get<std::string>(), converted["code"].get<std::string>(),
                            converted["message"].get<std::string>());
        diagnostics.push_back(std::move(converted));
    }
    if (all.size() > diagnostics.size())
        text += fmt::format("... and {} more errors and warnings\n", all.size() - diagnostics.size());
    const Json& points = checked["points"];
    const auto total = checked["point_count"].get<int64_t>();
    if (is_valid)
        text += fmt::format("the script can run; it has {} probe points\n", total);
    for (const Json& point : points)
        text += "  " + point.get<std::string>() + "\n";
    if (static_cast<size_t>(total) > points.size())
        text += fmt::format("  ... and {} more\n", static_cast<size_t>(total) - points.size());
    return json_text(to_json(ToolResult{{{"can_run", is_valid},
                                         {"diagnostics", std::move(diagnostics)},
                                         {"diagnostic_count", all.size()},
                                         {"points", points},
                                         {"point_count", total}},
                                        text}));
}

Started begin_check(const Json& arguments, const Policies& policies) {
    std::vector<std::string> words = confined(policies);
    add_process(arguments, words);
    words.emplace_back("--");
    for (const Json& word : arguments.value("arguments", Json::array()))
        words.push_back(word.get<std::string>());
    return WorkerTask{[script = arguments["script"].get<std::string>(), words] { return check_script(script, words); }};
}

Json check_arguments(const Policies&) {
    return object_schema({{"script", text_schema("The script", max_script)},
                          {"arguments", texts_schema("The script's arguments, $1 or @1 and so on")},
                          {"pid", process_schema()}},
                         {"script"});
}

Json check_result() {
    const Json whole = {{"type", "integer"}}, text = {{"type", "string"}};
    return {
        {"type", "object"},
        {"properties",
         {{"can_run", {{"type", "boolean"}, {"description", "No error was found, and the policy permits the script"}}},
          {"diagnostics",
           {{"type", "array"},
            {"items",
             {{"type", "object"},
              {"properties",
               {{"severity", {{"type", "string"}, {"enum", {"error", "warning"}}}},
                {"code", {{"type", "string"}, {"description", "`not-permitted`: refused by the policy"}}},
                {"message", text},
                {"line", {{"type", "integer"}, {"description", "From 1; columns are UTF-16 code units, from 1"}}},
                {"column", whole},
                {"end_line", whole},
                {"end_column", whole},
                {"fixes", {{"type", "array"}, {"items", {{"type", "object"}}}}}}},
              {"required", {"severity", "code", "message", "line", "column"}}}},
            {"description", fmt::format("At most {}", most_diagnostics)}}},
          {"diagnostic_count", whole},
          {"points", {{"type", "array"}, {"items", text}, {"description", "The resolved probe points, at most 100"}}},
          {"point_count", whole}}},
        {"required", {"can_run", "diagnostics", "diagnostic_count", "points", "point_count"}}};
}

} // namespace

Tool checking_tool() {
    return {"check_script",
            "Check a script",
            "Check a script without running it. Returns the errors and warnings with their places and corrections, and "
            "the probe points that the script has.",
            check_arguments,
            check_result,
            begin_check};
}

} // namespace sonde::mcp
