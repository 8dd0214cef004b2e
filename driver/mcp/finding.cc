// Tools that find programs and probe points.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/debug_file.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/processes.h"
#include "driver/confine.h"
#include "driver/mcp/schema.h"
#include "driver/mcp/tool.h"

namespace sonde::mcp {
namespace {

constexpr size_t most_programs = 200, most_processes = 20, most_command = 200;
constexpr uint64_t most_listed = uint64_t{8} << 20; // bytes of a listing

// ---- find_programs

// The words of the process' command line, separated by blanks.
std::string command_of(int64_t process) {
    Result<std::string> words = read_file(fmt::format("/proc/{}/cmdline", process));
    if (!words)
        return "";
    std::ranges::replace(*words, '\0', ' ');
    words->resize(std::min(words->find_last_not_of(' ') + 1, most_command));
    return *std::move(words);
}

struct Program {
    std::string path;
    std::vector<std::pair<int64_t, std::string>> processes; // number and command, the newest first
};

std::vector<Program> find_running(const std::string& pattern, const Policies& policies) {
    std::map<std::string, Program> found;
    std::vector<int64_t> all = all_processes();
    std::ranges::sort(all, std::greater());
    for (const int64_t process : all) {
        const std::string name = process_program(process);
        if (name.empty() || process == getpid() || process == getppid())
            continue;
        const std::string path = path_in_process(process, name), command = command_of(process);
        const auto has_part = [&](const std::string& text) { return text.find(pattern) != std::string::npos; };
        const bool matches = has_wildcard(pattern) ? glob_match(pattern, path) || glob_match(pattern, command)
                                                   : has_part(path) || has_part(command);
        if (!matches || !permits_program(path, policies))
            continue;
        Program& program = found[path];
        program.path = path;
        program.processes.emplace_back(process, command);
    }
    std::vector<Program> out;
    for (auto& [path, program] : found)
        out.push_back(std::move(program));
    return out;
}

bool has_debug_information(const std::string& path) {
    const Result<ElfFile> file = ElfFile::open_any_machine(path);
    return file && (has_dwarf(*file) || find_debug_file(*file).has_value());
}

std::string list_programs(const std::string& pattern, const Policies& policies) {
    const std::vector<Program> found = find_running(pattern, policies);
    Json list = Json::array();
    std::string text;
    for (size_t i = 0; i < std::min(found.size(), most_programs); i++) {
        const Program& program = found[i];
        Json processes = Json::array();
        for (size_t j = 0; j < std::min(program.processes.size(), most_processes); j++)
            processes.push_back({{"pid", program.processes[j].first}, {"command", program.processes[j].second}});
        const bool has_debug = has_debug_information(program.path);
        text += fmt::format("{} ({} processes, the newest is {}: {}){}\n", program.path, program.processes.size(),
                            program.processes[0].first, program.processes[0].second,
                            has_debug ? "" : ", without debug information");
        list.push_back({{"path", program.path},
                        {"has_debug_information", has_debug},
                        {"process_count", program.processes.size()},
                        {"processes", std::move(processes)}});
    }
    if (found.empty())
        text = fmt::format("no running program that may be probed matches `{}`\n", pattern);
    return json_text(to_json(ToolResult{{{"programs", std::move(list)},
                                         {"total", found.size()},
                                         {"omitted", found.size() - std::min(found.size(), most_programs)}},
                                        text}));
}

Started begin_find_programs(const Json& arguments, const Policies& policies) {
    return WorkerTask{
        [pattern = arguments.value("pattern", ""), policies] { return list_programs(pattern, policies); }};
}

Json find_programs_arguments(const Policies&) {
    return object_schema(
        {{"pattern", text_schema("A part of the path or of the command line, or a pattern with `*` for all of it. "
                                 "Without it, all running programs are listed")}});
}

Json find_programs_result() {
    return {{"type", "object"},
            {"properties",
             {{"programs",
               {{"type", "array"},
                {"items",
                 {{"type", "object"},
                  {"properties",
                   {{"path", {{"type", "string"}, {"description", "For process(\"PATH\")"}}},
                    {"has_debug_information",
                     {{"type", "boolean"},
                      {"description", "Without it, probes have no lines and no $variables; functions need symbols"}}},
                    {"process_count", {{"type", "integer"}}},
                    {"processes",
                     {{"type", "array"},
                      {"description", "The newest first, at most 20"},
                      {"items", {{"type", "object"}}}}}}}}}}},
              {"total", {{"type", "integer"}}},
              {"omitted", {{"type", "integer"}, {"description", "Programs that are not in the list"}}}}},
            {"required", {"programs", "total", "omitted"}}};
}

// ---- find_points

Started begin_find_points(const Json& arguments, const Policies& policies) {
    ChildTask out;
    out.setting.words = confined(policies);
    add_process(arguments, out.setting.words);
    out.setting.words.emplace_back(arguments.value("variables", false) ? "-L" : "-l");
    out.setting.words.push_back(arguments["pattern"].get<std::string>());
    out.setting.output_bytes = most_listed;
    out.finish = [most = arguments.value("max", 100)](const Outcome& outcome) {
        std::vector<std::string> lines = lines_of(outcome.output);
        Json messages = messages_of(outcome.errors);
        if (outcome.status != 0 && lines.empty()) {
            std::string all;
            for (const Json& one : messages)
                all += one.get<std::string>() + "\n";
            return failed(all.empty() ? "no probe point matches\n" : all);
        }
        const size_t total = lines.size(), shown = std::min<size_t>(total, static_cast<size_t>(most));
        lines.resize(shown);
        std::string text = fmt::format("{}\n", fmt::join(lines, "\n"));
        if (shown < total)
            text += fmt::format("... and {} more: use a narrower pattern, or `max`\n", total - shown);
        for (const Json& one : messages)
            text += one.get<std::string>() + "\n";
        return ToolResult{
            {{"points", lines}, {"total", total}, {"omitted", total - shown}, {"messages", std::move(messages)}}, text};
    };
    return out;
}

Json find_points_arguments(const Policies&) {
    return object_schema(
        {{"pattern",
          text_schema("A probe point with wildcards, as in process(\"/srv/shop\").function(\"*order*\"), "
                      "process(\"/srv/shop\").statement(\"*@shop.c:74\"), syscall.open*, kernel.trace(\"sched:*\"); or "
                      "one word, which is searched everywhere")},
         {"variables", flag_schema("Also list the $variables of each point, with their types")},
         {"pid", process_schema()},
         {"max", whole_schema("At most this many points (100)", 1, 2000)}},
        {"pattern"});
}

Json find_points_result() {
    return {{"type", "object"},
            {"properties",
             {{"points", {{"type", "array"}, {"items", {{"type", "string"}}}}},
              {"total", {{"type", "integer"}}},
              {"omitted", {{"type", "integer"}, {"description", "Points that match, but are not in the list"}}},
              {"messages", {{"type", "array"}, {"items", {{"type", "string"}}}}}}},
            {"required", {"points", "total", "omitted", "messages"}}};
}

// ---- explain_variable

Started begin_explain(const Json& arguments, const Policies& policies) {
    ChildTask out;
    out.setting.words = confined(policies);
    add_process(arguments, out.setting.words);
    out.setting.words.push_back("--why=" + arguments["variable"].get<std::string>());
    out.setting.words.emplace_back("--");
    out.setting.words.push_back(arguments["point"].get<std::string>());
    out.setting.output_bytes = most_listed;
    out.finish = [](const Outcome& outcome) {
        ToolResult result;
        result.is_error = outcome.status != 0;
        result.text = outcome.output;
        for (const std::string& one : messages_of(outcome.errors))
            result.text += one + "\n";
        return result;
    };
    return out;
}

Json explain_arguments(const Policies&) {
    return object_schema({{"variable", text_schema("A variable or member, as in $order or $order->item->name")},
                          {"point", text_schema("The probe point at which a script would read the variable")},
                          {"pid", process_schema()}},
                         {"variable", "point"});
}

} // namespace

std::vector<Tool> finding_tools() {
    return {{"find_programs", "Find running programs",
             "List running programs that can be probed, with their processes and whether they have debug information.",
             find_programs_arguments, find_programs_result, begin_find_programs},
            {"find_points", "Find probe points",
             "List the probe points that match a pattern: functions, lines and marks of programs, system calls, "
             "tracepoints and functions of the kernel. With `variables`, also the variables that a script can read "
             "there. Nothing is probed.",
             find_points_arguments, find_points_result, begin_find_points},
            {"explain_variable", "Explain a variable",
             "Explain where a variable is stored at a probe point, and if a script cannot read it there, why, and what "
             "to do instead.",
             explain_arguments, nullptr, begin_explain}};
}

} // namespace sonde::mcp
