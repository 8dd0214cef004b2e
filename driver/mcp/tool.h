// The tools that the server offers, one file for each group.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "driver/policy.h"
#include "driver/rpc/child.h"
#include "driver/rpc/session_messages.h"
#include "runtime/text/json.h"

namespace sonde::mcp {

using rpc::Child;
using rpc::ChildSetting;
using rpc::Clock;
using rpc::EndedBy;
using rpc::lines_of;
using rpc::messages_of;
using rpc::Outcome;

constexpr size_t max_script = size_t{256} << 10; // bytes

// The result of tools/call.
struct ToolResult {
    Json content;     // structuredContent; null: only the text
    std::string text; // the same for readers
    bool is_error = false;
};
ToolResult failed(const std::string& message);
Json to_json(const ToolResult& result);

// Work that takes time. It runs in a child process, by the words of sonde's command line.
struct ChildTask {
    ChildSetting setting;
    std::function<ToolResult(Outcome)> finish;
};
// The same by a function, in a worker (driver/rpc/worker.h). It returns the JSON of a result.
struct WorkerTask {
    std::function<std::string()> work;
};
using Started = std::variant<ToolResult, ChildTask, WorkerTask>;

struct Tool {
    std::string_view name, title, description;
    Json (*arguments)(const Policies& policies); // their schema
    Json (*result)();                            // the schema of ToolResult::content; null: it has no content
    // The arguments conform to the schema.
    Started (*begin)(const Json& arguments, const Policies& policies);
};

const std::vector<Tool>& tools();

// The groups.
std::vector<Tool> finding_tools();
std::vector<Tool> session_tools();
std::vector<Tool> document_tools();
Tool checking_tool();

// Words that each child has.
std::vector<std::string> confined(const Policies& policies);
// Adds the word of `pid`, if it is given.
void add_process(const Json& arguments, std::vector<std::string>& words);
Json process_schema();

} // namespace sonde::mcp
