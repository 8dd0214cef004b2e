// Reads the head line by line. A heading such as `Options:` begins a part, and decides how the following lines are
// read. Columns are separated by two or more blanks, because a column can contain single ones:
//
//     -m, --min DURATION    least    minimum duration
//
// The default of an option is read from the script's own declaration, `global least = 1000`, so that help and script
// cannot differ.
#include "driver/tool_head.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace sonde {
namespace {

constexpr std::pair<std::string_view, ToolValue> placeholders[] = {
    {"NUMBER", ToolValue::Number},       {"DURATION", ToolValue::Duration}, {"SECONDS", ToolValue::Seconds},
    {"TEXT", ToolValue::Text},           {"POINT", ToolValue::Point},       {"LIBRARY", ToolValue::Library},
    {"PROGRAM", ToolValue::Library},     {"DATABASE", ToolValue::Database}, {"CALLS", ToolValue::Calls},
    {"PLACE", ToolValue::Place},         {"FORMAT", ToolValue::Format},     {"CONDITION", ToolValue::Condition},
    {"VARIABLES", ToolValue::Variables}, {"PID", ToolValue::Process},
};

ToolValue value_of(std::string_view placeholder) {
    const auto* row = std::ranges::find(placeholders, placeholder, &std::pair<std::string_view, ToolValue>::first);
    return row == std::end(placeholders) ? ToolValue::Text : row->second;
}

// Returns the lines of the comment, without the slashes and one blank.
std::vector<std::string> comment_lines(std::string_view script) {
    std::vector<std::string> out;
    while (script.starts_with("//")) {
        std::string_view line = script.substr(2, script.find('\n') - 2);
        script.remove_prefix(std::min(script.size(), line.size() + 3));
        if (line.starts_with(' '))
            line.remove_prefix(1);
        out.emplace_back(line);
    }
    return out;
}

// Splits a line at two or more blanks: "-m, --min DURATION", "least", "minimum duration".
std::vector<std::string> columns(const std::string& line) {
    std::vector<std::string> out;
    for (size_t at = line.find_first_not_of(' '); at < line.size();) {
        size_t end = std::min(line.find("  ", at), line.size());
        out.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(' ', end);
    }
    return out;
}

// Returns the initial value of a global as the script writes it: `global least = 0`, one declaration in a line.
std::string initial_value(std::string_view script, const std::string& global) {
    size_t at = script.find(fmt::format("\nglobal {} = ", global));
    if (at == std::string_view::npos)
        return "";
    at = script.find('=', at) + 2;
    std::string value(script.substr(at, script.find('\n', at) - at));
    if (size_t comment = value.find(" //"); comment != std::string::npos)
        value.erase(value.find_last_not_of(' ', comment) + 1);
    return value == "0" || value == "\"\"" ? "" : value;
}

// Writes microseconds as a user would write a DURATION.
std::string shown_initial(const ToolOption& option) {
    if (option.type != ToolValue::Duration || option.initial.empty() || option.sets_argument())
        return option.initial;
    if (option.initial.ends_with("000000"))
        return option.initial.substr(0, option.initial.size() - 6) + "s";
    if (option.initial.ends_with("000"))
        return option.initial.substr(0, option.initial.size() - 3) + "ms";
    return option.initial + "us";
}

// Splits `NAME=VALUE`. Leaves `value` unchanged if there is none.
void split_at_equals(std::string& name, std::string& value) {
    const size_t equals = name.find('=');
    if (equals == std::string::npos)
        return;
    value = name.substr(equals + 1);
    name.erase(equals);
}

void add_option(ToolHead& head, const std::string& line, std::string_view script) {
    std::vector<std::string> parts = columns(line);
    if (parts.size() != 3 || parts[0].size() < 6 || parts[0][0] != '-' || parts[0].substr(2, 4) != ", --")
        return;
    ToolOption option;
    option.letter = parts[0][1];
    size_t blank = parts[0].find(' ', 4);
    option.name = parts[0].substr(6, blank == std::string::npos ? blank : blank - 6);
    if (blank != std::string::npos) {
        option.placeholder = parts[0].substr(blank + 1);
        split_at_equals(option.placeholder, option.initial);
        option.type = value_of(option.placeholder);
    }
    option.global = parts[1];
    option.help = parts[2];
    if (option.sets_argument())
        split_at_equals(option.global, option.given);
    else
        option.initial = initial_value(script, option.global);
    head.options.push_back(std::move(option));
}

void add_argument(ToolHead& head, const std::string& line) {
    std::vector<std::string> parts = columns(line);
    if (parts.empty() || parts.size() > 2)
        return;
    ToolArgument argument;
    std::string& name = parts[0];
    if (name.starts_with('[') && name.ends_with(']')) {
        argument.optional = true;
        name = name.substr(1, name.size() - 2);
        if (size_t equals = name.find('='); equals != std::string::npos) {
            argument.initial = name.substr(equals + 1);
            if (argument.initial.find('|') != std::string::npos) {
                for (size_t at = equals + 1, end = 0; end != std::string::npos; at = end + 1) {
                    end = name.find('|', at);
                    argument.choices.push_back(name.substr(at, end - at));
                }
                argument.initial = argument.choices[0];
            }
            name.erase(equals);
        }
    }
    argument.placeholder = name;
    argument.type = value_of(name);
    if (parts.size() == 2) // otherwise the next line has the text
        argument.help = parts[1];
    head.arguments.push_back(std::move(argument));
}

void continue_text(std::string& text, const std::string& line) {
    text += (text.empty() ? "" : " ") + line.substr(line.find_first_not_of(' '));
}

// Shortens a long list. The script has the whole list.
std::string shortened(const std::string& text) {
    constexpr size_t most = 40;
    return text.size() <= most ? text : text.substr(0, text.rfind(',', most) + 1) + "...";
}

// Prints two aligned columns.
void list_rows(std::string& out, const std::vector<std::pair<std::string, std::string>>& rows) {
    size_t width = 0;
    for (const auto& [left, right] : rows)
        width = std::max(width, left.size());
    for (const auto& [left, right] : rows)
        out += fmt::format("  {:<{}}  {}\n", left, width, right);
}

} // namespace

ToolHead read_tool_head(std::string_view script) {
    ToolHead head;
    std::vector<std::string> lines = comment_lines(script);
    enum class Part : uint8_t { Paragraphs, Options, Arguments, Example } part = Part::Paragraphs;
    for (const std::string& line : lines) {
        // Continued text of an option or an argument is indented more.
        const bool goes_on = line.starts_with("      ");
        if (&line == &lines[0])
            head.title = line.ends_with('.') ? line.substr(0, line.size() - 1) : line;
        else if (line == "Target: by the script")
            head.chooses_target = true;
        else if (line == "Stacks: whole")
            head.keeps_stacks = true;
        else if (line == "Returns: on the stack")
            head.changes_return_addresses = true;
        else if (line == "Cost: reported at the end")
            head.tells_cost = true;
        else if (line == "Options:")
            part = Part::Options;
        else if (line == "Arguments:")
            part = Part::Arguments;
        else if (line == "Example:")
            part = Part::Example;
        else if (part == Part::Paragraphs)
            head.paragraphs.push_back(line);
        else if (part == Part::Example)
            head.example.push_back(line);
        else if (part == Part::Options && goes_on && !head.options.empty())
            continue_text(head.options.back().help, line);
        else if (part == Part::Arguments && goes_on && !head.arguments.empty())
            continue_text(head.arguments.back().help, line);
        else if (part == Part::Options && !line.empty())
            add_option(head, line, script);
        else if (part == Part::Arguments && !line.empty())
            add_argument(head, line);
    }
    const auto trim = [](std::vector<std::string>& some) {
        while (!some.empty() && some.back().empty())
            some.pop_back();
        while (!some.empty() && some.front().empty())
            some.erase(some.begin());
    };
    trim(head.paragraphs);
    trim(head.example);
    return head;
}

std::string tool_usage(const std::string& name, const ToolHead& head) {
    std::string out = fmt::format("sonde {} [options]", name);
    for (const ToolArgument& argument : head.arguments)
        out += argument.optional ? fmt::format(" [{}]", argument.placeholder) : " " + argument.placeholder;
    return out;
}

std::string describe_tool(const std::string& name, const ToolHead& head) {
    std::string out = fmt::format("{}: {}\n\n  {}\n", name, head.title, tool_usage(name, head));
    if (!head.paragraphs.empty())
        out += fmt::format("\n{}\n", fmt::join(head.paragraphs, "\n"));
    std::vector<std::pair<std::string, std::string>> rows;
    for (const ToolArgument& argument : head.arguments)
        rows.emplace_back(argument.placeholder,
                          argument.help +
                              (argument.initial.empty() ? "" : fmt::format(" ({})", shortened(argument.initial))));
    if (!rows.empty()) {
        out += "\nArguments:\n";
        list_rows(out, rows);
    }
    if (std::ranges::any_of(head.arguments, [](const auto& one) { return one.type == ToolValue::Point; }))
        out += "\nA POINT is `vfs_read` or `vfs_*` in the kernel, `c:malloc` in a library, `/usr/bin/bash:readline` in "
               "a program,\n"
               "`:f` in the program of -c or -x, `t:sched:sched_switch` a tracepoint, `u:LIBRARY:MARK` a static mark,\n"
               "or any probe point: `process(\"/usr/bin/bash\").function(\"r*\")`.\n";
    rows.clear();
    for (const ToolOption& option : head.options) {
        std::string left = fmt::format("-{}, --{}", option.letter, option.name);
        if (!option.placeholder.empty())
            left += " " + option.placeholder;
        std::string initial = shown_initial(option);
        rows.emplace_back(std::move(left), option.help + (initial.empty() ? "" : fmt::format(" ({})", initial)));
    }
    out += "\nOptions:\n";
    rows.emplace_back("-d, --duration SECONDS", "end after that many seconds; else Ctrl-C ends it");
    rows.emplace_back("-p, --pid PID", "only this process and its children; -x PID is the same");
    rows.emplace_back("-c COMMAND",
                      "run this command, and trace only it and its children; the tool ends when the command ends");
    rows.emplace_back("-h, --help", "this text");
    rows.emplace_back("--source", "print the script");
    list_rows(out, rows);
    out += "\nsonde's own options may stand there too, such as -o FILE (sonde --help).\n";
    if (!head.example.empty())
        out += fmt::format("\nExample:\n{}\n", fmt::join(head.example, "\n"));
    return out;
}

} // namespace sonde
