// Tools that run a session: a script, a tool of the library, or a log point.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/glob.h"
#include "driver/confine.h"
#include "driver/mcp/schema.h"
#include "driver/mcp/tool.h"
#include "driver/tool_head.h"
#include "stdlib/stdlib.h"

namespace sonde::mcp {
namespace {

constexpr double usual_seconds = 10;
constexpr size_t most_probes = 50, most_messages = 50;

// ---- the command line

double seconds_of(const Json& arguments, const Policies& policies) {
    return arguments.value("seconds", std::min(usual_seconds, lowest(policies, &Policy::seconds)));
}

// The options that every session has. They end it by time, limit its cost, and report what it has lost.
std::vector<std::string> session_words(const Json& arguments, const Policies& policies) {
    std::vector<std::string> out = confined(policies);
    for (std::string word : {fmt::format("--overload={}", lowest(policies, &Policy::overload_percent)),
                             fmt::format("--report=/proc/self/fd/{}", rpc::report_descriptor),
                             fmt::format("--ready-descriptor={}", rpc::ready_descriptor),
                             std::string("--output-buffer=1"), std::string("--output-wait=1"), std::string("--cost")})
        out.push_back(std::move(word));
    if (arguments.contains("command"))
        out.insert(out.end(), {"-c", arguments["command"].get<std::string>()});
    return out;
}

Json session_arguments(Json own, const Policies& policies) {
    const double most = lowest(policies, &Policy::seconds);
    own["pid"] = process_schema();
    own["seconds"] =
        number_schema(fmt::format("End the session after this time ({})", std::min(usual_seconds, most)), 0.1, most);
    own["output_bytes"] = whole_schema("End the session after this much output", 1,
                                       static_cast<int64_t>(lowest(policies, &Policy::output_bytes)));
    if (std::ranges::none_of(policies, [](const Policy& one) { return one.commands.empty(); }))
        own["command"] = {
            {"type", "string"},
            {"description", "Run this command, and trace its processes; the session ends with the command"},
            {"enum", policies[0].commands}};
    return own;
}

Json json_schema() { return flag_schema("Return the printed values as data in `records`, not as text in `output`"); }

// ---- the result

const char* name_of(const Outcome& outcome) {
    if (outcome.ended_by == EndedBy::Exit && outcome.report.empty()) // no session began
        return "error";
    switch (outcome.ended_by) {
    case EndedBy::Exit:
        return "exit";
    case EndedBy::Time:
        return "time";
    case EndedBy::Output:
        return "output";
    case EndedBy::Cancelled:
        return "cancelled";
    case EndedBy::Startup:
        break;
    }
    return "startup";
}

// Moves the line of --cost out of the messages. Returns "" if no message is this line.
std::string take_cost(Json& messages) {
    for (size_t i = 0; i < messages.size(); i++) {
        std::string text = messages[i].get<std::string>();
        if (!rpc::is_cost(text))
            continue;
        messages.erase(i);
        return text;
    }
    return "";
}

void add_report(const std::string& report, Json& out) {
    const Json read = Json::parse(report, nullptr, false);
    if (!read.is_object())
        return;
    out["losses"] = read.value("losses", Json::array());
    out["hits"] = read.value("sum", Json::object());
    out["probes"] = read.value("probes", Json::array());
    if (out["probes"].size() > most_probes) {
        out["probes_omitted"] = out["probes"].size() - most_probes;
        while (out["probes"].size() > most_probes)
            out["probes"].erase(out["probes"].size() - 1);
    }
}

// The lines of --format=json that have data.
Json records_of(const std::string& output) {
    Json out = Json::array();
    for (const std::string& line : lines_of(output)) {
        Json record = Json::parse(line, nullptr, false);
        const std::string type = record.is_object() ? record.value("type", "") : "";
        if (type == "print" || type == "global" || type == "array" || type == "text")
            out.push_back(std::move(record));
    }
    return out;
}

std::string text_of(const Json& out, const std::string& output) {
    std::string text = output;
    if (!text.empty() && text.back() != '\n')
        text += '\n';
    if (const auto cut = out["output_cut_bytes"].get<uint64_t>())
        text += fmt::format("[{} of {} bytes of the output are missing]\n", cut, out["output_bytes"].get<uint64_t>());
    text += "---\n";
    for (const Json& one : out["messages"])
        text += one.get<std::string>() + "\n";
    text += fmt::format("ended by: {} (exit status {}) after {:.1f} s of tracing\n", out["ended_by"].get<std::string>(),
                        out["exit_status"].get<int>(), out["traced_s"].get<double>());
    if (out.contains("hits") && out["hits"].contains("hits"))
        text += fmt::format("hits: {}\n", json_text(out["hits"]));
    if (out.contains("cost"))
        text += out["cost"].get<std::string>() + "\n";
    if (out.contains("losses"))
        text += out["losses"].empty() ? "losses: none\n" : fmt::format("losses: {}\n", json_text(out["losses"]));
    return text;
}

ToolResult finish_session(const Outcome& outcome, bool is_json) {
    Json messages = messages_of(outcome.errors);
    const std::string cost = take_cost(messages);
    Json out = {{"ended_by", name_of(outcome)},
                {"exit_status", outcome.status},
                {"traced_s", std::round(outcome.armed_s * 1000) / 1000},
                {"total_s", std::round(outcome.total_s * 1000) / 1000},
                {"output", is_json ? "" : outcome.output},
                {"output_bytes", outcome.output_bytes},
                {"output_cut_bytes", outcome.cut_bytes}};
    if (is_json)
        out["records"] = records_of(outcome.output);
    add_report(outcome.report, out);
    if (!cost.empty())
        out["cost"] = cost;
    if (messages.size() > most_messages) {
        const size_t omitted = messages.size() - most_messages;
        while (messages.size() > most_messages)
            messages.erase(messages.size() - 1);
        messages.push_back(fmt::format("... and {} more messages", omitted));
    }
    out["messages"] = std::move(messages);
    const bool ran = !outcome.report.empty();
    out["complete"] =
        ran && outcome.cut_bytes == 0 && out.contains("losses") && out["losses"].empty() && outcome.status == 0;
    std::string shown = outcome.output;
    if (is_json) {
        shown.clear();
        for (const Json& one : out["records"])
            shown += json_text(one) + "\n";
    }
    std::string text = text_of(out, shown);
    return {std::move(out), std::move(text), !ran};
}

Json session_result() {
    const auto about = [](const char* type, std::string_view text) {
        return Json{{"type", type}, {"description", text}};
    };
    return {
        {"type", "object"},
        {"properties",
         {{"ended_by",
           {{"type", "string"},
            {"enum", {"exit", "time", "output", "cancelled", "startup", "error"}},
            {"description",
             "exit: the script or the command has ended; time: `seconds` are over; output: it printed more than "
             "`output_bytes`; startup: it took too long to find its probe points; error: it did not start, see "
             "`messages`"}}},
          {"exit_status", about("integer", "0: success; 3: success, but hits or output were lost; else a failure")},
          {"traced_s", about("number", "Seconds from the moment when all probes were armed to the end")},
          {"total_s", about("number", "Seconds with the translation of the script")},
          {"complete", about("boolean", "Nothing was lost, cut or refused, and no error occurred")},
          {"output", about("string", "The printed text: whole lines")},
          {"output_bytes", about("integer", "Bytes that the script printed")},
          {"output_cut_bytes", about("integer", "Bytes at the end that are missing in `output`")},
          {"records",
           {{"type", "array"},
            {"items", {{"type", "object"}}},
            {"description", "As in --format=json; times are in ns"}}},
          {"losses",
           {{"type", "array"},
            {"items", {{"type", "object"}}},
            {"description", "Lost output and hits by kind, with their number. Empty: nothing was lost"}}},
          {"hits", about("object",
                         "Of all probes: hits = handled + lost (output) + skipped + missed (by the kernel) + errors")},
          {"probes",
           {{"type", "array"},
            {"items", {{"type", "object"}}},
            {"description", "The same for each probe; `ns` is the time of the handler for a hit, in nanoseconds"}}},
          {"probes_omitted", about("integer", "Probes that are not in the list")},
          {"cost", about("string", "The time that the probes took from the traced programs")},
          {"messages", {{"type", "array"}, {"items", {{"type", "string"}}}, {"description", "Warnings and errors"}}}}},
        {"required",
         {"ended_by", "exit_status", "traced_s", "total_s", "complete", "output", "output_bytes", "output_cut_bytes",
          "messages"}}};
}

ChildTask make_session(const Json& arguments, const Policies& policies, std::vector<std::string> words, bool is_json) {
    ChildTask out;
    out.setting.words = std::move(words);
    out.setting.seconds = seconds_of(arguments, policies);
    const uint64_t most = lowest(policies, &Policy::output_bytes);
    out.setting.output_bytes = arguments.value("output_bytes", most);
    out.finish = [is_json](const Outcome& outcome) { return finish_session(outcome, is_json); };
    return out;
}

// ---- run_script

Started begin_script(const Json& arguments, const Policies& policies) {
    const bool is_json = arguments.value("json", false);
    std::vector<std::string> words = session_words(arguments, policies);
    words.insert(words.end(), {"-T", fmt::format("{}", seconds_of(arguments, policies))});
    add_process(arguments, words);
    if (is_json)
        words.emplace_back("--format=json");
    words.insert(words.end(), {"-", "--"}); // the script is the standard input
    for (const Json& word : arguments.value("arguments", Json::array()))
        words.push_back(word.get<std::string>());
    ChildTask out = make_session(arguments, policies, std::move(words), is_json);
    out.setting.input = arguments["script"].get<std::string>();
    return out;
}

Json script_arguments(const Policies& policies) {
    return object_schema(session_arguments({{"script", text_schema("The script", max_script)},
                                            {"arguments", texts_schema("The script's arguments, $1 or @1 and so on")},
                                            {"json", json_schema()}},
                                           policies),
                         {"script"});
}

// ---- run_tool

// The first words of a tool's command line. Its own options can have the letters of sonde's, such as -T.
std::vector<std::string> tool_words(const std::string& tool, const Json& arguments, const Policies& policies) {
    std::vector<std::string> out = {tool};
    const std::vector<std::string> all = session_words(arguments, policies);
    out.insert(out.end(), all.begin(), all.end());
    out.push_back(fmt::format("--duration={}", seconds_of(arguments, policies)));
    if (arguments.contains("pid"))
        out.push_back(fmt::format("--pid={}", arguments["pid"].get<int64_t>()));
    return out;
}

bool is_permitted(std::string_view tool, const Policies& policies) {
    return std::ranges::all_of(policies, [&](const Policy& policy) {
        return !policy.tools || std::ranges::any_of(*policy.tools, [&](const std::string& pattern) {
            return glob_match(pattern, std::string(tool));
        });
    });
}

// Returns the word for an option. Errors: the option or its value is wrong.
Result<std::string> option_word(const ToolHead& head, const std::string& name, const Json& value) {
    const auto option = std::ranges::find(head.options, name, &ToolOption::name);
    if (option == head.options.end()) {
        std::vector<std::string> names;
        for (const ToolOption& one : head.options)
            names.push_back(one.name);
        return Error(names.empty() ? fmt::format("`options`: the tool has no options, so `{}` is unknown", name)
                                   : fmt::format("`options`: the tool has no option `{}`; it has `{}`", name,
                                                 fmt::join(names, "`, `")));
    }
    const bool is_flag = option->type == ToolValue::Flag;
    if (is_flag ? !value.is_boolean() : !value.is_string() && !value.is_number())
        return Error(fmt::format("`options`: `{}`: expected {}, got {}", name,
                                 is_flag ? "true or false" : fmt::format("{} as a string", option->placeholder),
                                 json_text(value)));
    if (is_flag)
        return value.get<bool>() ? "--" + name : std::string();
    return fmt::format("--{}={}", name, value.is_string() ? value.get<std::string>() : json_text(value));
}

// Without a program, tools with a PLACE search all running programs, and their messages name these. Returns whether
// that must not happen.
bool searches_hidden_programs(const Json& arguments, bool has_program, const Policies& policies) {
    return limits_points(policies) && !has_program && !arguments.contains("pid") && !arguments.contains("command");
}
constexpr const char* needs_program = "the policy limits programs, so name the program or use `pid`";

Started begin_tool(const Json& arguments, const Policies& policies) {
    const std::string name = arguments["tool"].get<std::string>();
    const auto files = tool_files();
    const ToolHead head = read_tool_head(std::ranges::find(files, name, &ToolFile::name)->text);
    const bool has_place =
        std::ranges::find(head.arguments, ToolValue::Place, &ToolArgument::type) != head.arguments.end();
    const bool has_program = arguments.value("arguments", Json::array()).size() == head.arguments.size();
    if (has_place && searches_hidden_programs(arguments, has_program, policies))
        return failed(needs_program);
    std::vector<std::string> words = tool_words(name, arguments, policies);
    const Json options = arguments.value("options", Json::object());
    for (const auto& [option, value] : options.items()) {
        Result<std::string> word = option_word(head, option, value);
        if (!word)
            return failed(word.error().message);
        if (!word->empty())
            words.push_back(*std::move(word));
    }
    words.emplace_back("--");
    for (const Json& word : arguments.value("arguments", Json::array()))
        words.push_back(word.get<std::string>());
    return make_session(arguments, policies, std::move(words), false);
}

Json tool_arguments(const Policies& policies) {
    Json names = Json::array();
    std::string list = "The tool:";
    for (const ToolFile& tool : tool_files())
        if (is_permitted(tool.name, policies)) {
            names.push_back(tool.name);
            list += fmt::format("\n{}: {}", tool.name, read_tool_head(tool.text).title);
        }
    return object_schema(
        session_arguments(
            {{"tool", {{"type", "string"}, {"description", list}, {"enum", std::move(names)}}},
             {"arguments", texts_schema("The tool's arguments, such as the functions; see read_docs")},
             {"options",
              {{"type", "object"},
               {"description", "The tool's options by their long names without `--`, as in {\"least\": \"10ms\", "
                               "\"all\": true}; see read_docs"}}}},
            policies),
        {"tool"});
}

// ---- log_point

Started begin_log(const Json& arguments, const Policies& policies) {
    const bool is_json = arguments.value("json", false);
    if (!is_permitted("log", policies))
        return failed("`log` is not one of the `tools` that the policy permits");
    if (searches_hidden_programs(arguments, arguments.contains("program"), policies))
        return failed(needs_program);
    std::vector<std::string> words = tool_words("log", arguments, policies);
    // The session ends by its own time, so that the result can tell that.
    words.push_back(fmt::format("--for={}s", std::ceil(seconds_of(arguments, policies)) + 60));
    words.push_back(fmt::format("--max={}", arguments.value("max", 100)));
    if (arguments.contains("condition"))
        words.push_back("--if=" + arguments["condition"].get<std::string>());
    for (const auto& [argument, option] :
         {std::pair("stack", "--stack"), {"at_return", "--return"}, {"json", "--json"}})
        if (arguments.value(argument, false))
            words.emplace_back(option);
    words.insert(words.end(), {"--", arguments["place"].get<std::string>(), arguments["text"].get<std::string>()});
    if (arguments.contains("program"))
        words.push_back(arguments["program"].get<std::string>());
    return make_session(arguments, policies, std::move(words), is_json);
}

Json log_arguments(const Policies& policies) {
    return object_schema(
        session_arguments(
            {{"place", text_schema("FILE:LINE, FUNCTION or FILE:FUNCTION; of Python only functions")},
             {"text", text_schema("The text to log. Braces hold expressions in the language of the place, as in "
                                  "`{order->quantity} of {order->item->name}`")},
             {"condition", text_schema("Log only where this is true, as in `left < 3 && name == \"tea\"`")},
             {"max", whole_schema("End after this many lines (100)", 1, 100'000)},
             {"program", text_schema("Path of the program or library that has the place. Without it and `pid`, the "
                                     "running programs are searched")},
             {"stack", flag_schema("Also show the stack")},
             {"at_return", flag_schema("Log when the function returns; {return} is the result")},
             {"json", json_schema()}},
            policies),
        {"place", "text"});
}

} // namespace

std::vector<Tool> session_tools() {
    return {
        {"run_script", "Run a script",
         "Run a script that traces programs or the kernel, and return what it prints. It only watches: it cannot "
         "change anything. The session ends with `exit()`, and at the latest after `seconds`; print aggregated "
         "results in `probe end`. Read the topic `llms.txt` with read_docs before you write scripts.",
         script_arguments, session_result, begin_script},
        {"run_tool", "Run a tool",
         "Run one of the ready-made tools. They measure latencies of functions, system calls and disks, and show hot "
         "stacks, locks, leaks and variables. read_docs with the tool's name explains its options.",
         tool_arguments, session_result, begin_tool},
        {"log_point", "Log values at a line",
         "Log the values of expressions whenever a running program executes a line or a function. The program is "
         "not changed, stopped or restarted.",
         log_arguments, session_result, begin_log}};
}

} // namespace sonde::mcp
