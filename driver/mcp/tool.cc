#include "driver/mcp/tool.h"

#include <string>

#include "driver/mcp/schema.h"

namespace sonde::mcp {

ToolResult failed(const std::string& message) { return {nullptr, message, true}; }

Json to_json(const ToolResult& result) {
    Json out = {{"content", Json::array({{{"type", "text"}, {"text", result.text}}})}};
    if (!result.content.is_null())
        out["structuredContent"] = result.content;
    if (result.is_error)
        out["isError"] = true;
    return out;
}

const std::vector<Tool>& tools() {
    static const std::vector<Tool> all = [] {
        std::vector<Tool> out = finding_tools();
        out.push_back(checking_tool());
        for (const std::vector<Tool>& group : {session_tools(), document_tools()})
            out.insert(out.end(), group.begin(), group.end());
        return out;
    }();
    return all;
}

std::vector<std::string> confined(const Policies& policies) { return {"--confine=" + to_text(policies)}; }

Json process_schema() { return whole_schema("Number of the process to trace, with its children", 1, 1LL << 22); }

void add_process(const Json& arguments, std::vector<std::string>& words) {
    if (arguments.contains("pid"))
        words.insert(words.end(), {"-x", std::to_string(arguments["pid"].get<int64_t>())});
}

} // namespace sonde::mcp
