// Completion has three steps. read_request() finds the command and the words before the cursor. complete() decides
// which kind of value the unfinished word is: an option, a point, a process. complete_value() lists the values of that
// kind.
//
// The kinds come from the rows of options/*.def and from the heads of tools, and the points come from -l. So a new
// option or point needs no change here. Completion reports no errors: the user is still typing, and wrong input has
// no completions.
#include "driver/completion/complete.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/processes.h"
#include "driver/commands.h"
#include "driver/completion/point_completions.h"
#include "driver/completion/shell_line.h"
#include "driver/option_table.h"
#include "driver/options.h"
#include "driver/tool_head.h"
#include "driver/tool_point.h"
#include "driver/tools.h"
#include "driver/translation.h"
#include "frontend/probes/probe.h"
#include "frontend/sema/sema.h"
#include "frontend/tapset/inventory.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

// The words that the shell itself adds.
enum class Beside { Nothing, Files, Folders, Commands };

struct Answer {
    std::vector<Completion> words;
    Beside beside = Beside::Nothing;
};

// The kind of value that an option takes. A word in its placeholder decides.
enum class Value : uint8_t { Script, Point, Command, Process, File, Folder, Architecture, Other };
struct Placeholder {
    std::string_view word;
    Value value;
};
constexpr Placeholder placeholders[] = {
    {"SCRIPT", Value::Script},
    {"POINT", Value::Point},
    {"COMMAND", Value::Command},
    {"PID", Value::Process},
    {"FILE", Value::File},
    {"FOLDER", Value::Folder},
    {"ARCHITECTURE", Value::Architecture},
};

Value value_of(const OptionRow& row) {
    for (const Placeholder& one : placeholders)
        if (row.argument.find(one.word) != row.argument.npos)
            return one.value;
    return Value::Other;
}

// ---- the line
// -----------------------------------------------------------------------------------------------------------

// The words of the line after the program's name, and the target and library folders among them.
struct Request {
    ShellLine line;
    std::vector<std::string> words;
    std::string tool; // empty: none
    PointTarget target;
    std::vector<std::string> folders; // -I
    bool has_script = false;          // -e, or a file
    bool asks_why = false;            // --why VARIABLE
    size_t positional = 0;
};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

const ToolOption* find_tool_option(const ToolHead& head, const std::string& name) {
    const auto found = std::ranges::find_if(head.options, [&](const ToolOption& one) {
        return name == "--" + one.name || (name.size() == 2 && name[1] == one.letter);
    });
    return found == head.options.end() ? nullptr : &*found;
}

// Returns whether the next word is the value of this option.
bool takes_value(const Request& request, const std::string& name) {
    if (!request.tool.empty()) {
        if (name == "-d" || name == "--duration" || name == "-p" || name == "--pid")
            return true;
        const ToolHead head = read_tool_head(find_tool(request.tool));
        if (const ToolOption* option = find_tool_option(head, name))
            return option->type != ToolValue::Flag;
    }
    const OptionRow* row = find_option(name);
    return row && row->takes_next_word();
}

// The program need not be the first word: `sudo sonde -l`.
Request read_request(ShellLine line) {
    Request out;
    auto program = std::ranges::find_if(
        line.words, [](const std::string& word) { return file_name(word) == "sonde" || file_name(word) == "stap"; });
    // No word is `sonde` if the user completes a shell alias. Assume that the first word is the program.
    if (program == line.words.end())
        program = line.words.begin();
    if (program != line.words.end())
        out.words.assign(program + 1, line.words.end());
    out.line = std::move(line);
    for (size_t i = 0; i < out.words.size(); i++) {
        const std::string& word = out.words[i];
        if (i == 0 && !find_tool(word).empty()) {
            out.tool = word;
        } else if (word.starts_with('-') && word.size() > 1) {
            out.has_script |= word == "-e";
            if (i + 1 >= out.words.size() || !takes_value(out, word))
                continue;
            const std::string& value = out.words[++i];
            if (word == "-c")
                out.target.command = value;
            else if (word == "-x" || (!out.tool.empty() && (word == "-p" || word == "--pid")))
                out.target.pid = std::strtoll(value.c_str(), nullptr, 10);
            else if (word == "-I")
                out.folders.push_back(value);
            else if (word == "--why")
                out.asks_why = true;
        } else {
            out.positional++;
        }
    }
    return out;
}

// ---- what there is
// ------------------------------------------------------------------------------------------------------

// Runs pass 1 as -l does, but without messages. `t` is empty if that fails.
std::optional<Translation>& open_translation(std::optional<Translation>& t, const Request& request, Options& options,
                                             bool with_variables) {
    options = Options();
    options.translate.warnings_off = true;
    options.session.command = options.translate.target_command = request.target.command;
    options.session.target_pid = request.target.pid;
    options.translate.folders = request.folders;
    options.driver.list = true;
    options.driver.list_variables = with_variables;
    t.emplace(options);
    Result<UserTexts> texts = read_user_texts(options);
    if (!texts || !parse(*t, options, *std::move(texts)))
        t.reset();
    return t;
}

// Returns the lines of -l or -L; empty if the point is wrong.
std::vector<std::string> list_quietly(const Request& request, const std::string& point, bool with_variables) {
    Options options;
    std::optional<Translation> t;
    if (!open_translation(t, request, options, with_variables))
        return {};
    const FileId file = t->sources.add("<input>", point);
    const std::vector<ast::ProbePoint*> points =
        parse_probe_points(file, t->sources, t->parse_options, t->arena, t->diags);
    if (t->diags.has_errors())
        return {};
    return list_points(points, with_variables, t->files, *t->library, t->env, t->arena, t->diags);
}

PointSources make_sources(const Request& request) {
    PointSources out;
    out.forms = probe_point_forms();
    Options options;
    std::optional<Translation> t;
    if (open_translation(t, request, options, false))
        for (const std::string& line : describe_aliases(*t->library))
            out.aliases.push_back(line.substr(0, line.find(" = ")));
    out.list = [&request](const std::string& point, bool with_variables) {
        return list_quietly(request, point, with_variables);
    };
    out.functions = [&request] {
        Options options;
        std::optional<Translation> t;
        return open_translation(t, request, options, false) ? describe_functions(*t->library, false)
                                                            : std::vector<std::string>();
    };
    return out;
}

// Completes the number of a running process. The help is its name.
std::vector<Completion> complete_process(const std::string& text) {
    std::vector<Completion> out;
    for (int64_t process : all_processes()) {
        const std::string pid = std::to_string(process);
        if (!pid.starts_with(text))
            continue;
        std::ifstream file(fmt::format("/proc/{}/comm", process));
        std::string name;
        std::getline(file, name);
        out.push_back({pid, name, true});
    }
    return out;
}

// ---- what the word may be
// -----------------------------------------------------------------------------------------------

// Completes a tool's POINT: a whole point, or the last part of a short form.
std::vector<Completion> complete_tool_point(const Request& request) {
    const std::string& text = request.line.word;
    if (text.find('(') != std::string::npos ||
        (text.find('.') != std::string::npos && text.find(':') == std::string::npos))
        return complete_point(text, make_sources(request));
    // Expand the short form with a `*` at its end: "c:mal" becomes process("/lib/libc.so.6").function("mal*"). Cut the
    // point before the `*` to get an unfinished point, complete that, and put the short form's own beginning in front
    // again.
    Result<std::string> point = expand_point(text + "*", request.target);
    const size_t open = point ? point->rfind("*\"") : std::string::npos;
    std::vector<Completion> out;
    if (open == std::string::npos)
        return out;
    const std::string unfinished = point->substr(0, open), typed = unfinished.substr(unfinished.rfind('"') + 1);
    const std::string before = text.substr(0, text.size() - std::min(text.size(), typed.size()));
    for (const Completion& one : complete_point(unfinished, make_sources(request)))
        if (std::string name = listed_name(one.text, count_components(one.text) - 1); !name.empty())
            out.push_back({before + name, one.help, true});
    return out;
}

// Returns the values that continue `text`.
std::vector<Completion> complete_listed(const std::vector<std::string>& values, const std::string& text) {
    std::vector<Completion> out;
    for (const std::string& value : values)
        if (value.starts_with(text))
            out.push_back({value, "", true});
    return out;
}

// Completes the architecture by the first of its names.
std::vector<Completion> complete_architecture(const std::string& text) {
    std::vector<std::string> names;
    for (const Architecture* machine : machines())
        names.emplace_back(machine->names()[0]);
    return complete_listed(names, text);
}

Answer complete_value(const Request& request, Value value) {
    const std::string& text = request.line.word;
    switch (value) {
    case Value::Script:
        return {complete_script(text, make_sources(request)), Beside::Nothing};
    case Value::Point:
        return {complete_point(text, make_sources(request)), Beside::Nothing};
    case Value::Command:
        // The first word of the command is a program. The shell cannot complete the words after it inside of the
        // quotes.
        return {{}, text.find(' ') == std::string::npos ? Beside::Commands : Beside::Nothing};
    case Value::Process:
        return {complete_process(text), Beside::Nothing};
    case Value::File:
        return {{}, Beside::Files};
    case Value::Folder:
        return {{}, Beside::Folders};
    case Value::Architecture:
        return {complete_architecture(text), Beside::Nothing};
    case Value::Other:
        break;
    }
    return {};
}

Answer complete_option_value(const Request& request, const std::string& option) {
    if (!request.tool.empty()) {
        if (option == "-p" || option == "--pid")
            return complete_value(request, Value::Process);
        if (option == "-d" || option == "--duration" ||
            find_tool_option(read_tool_head(find_tool(request.tool)), option))
            return {};
    }
    const OptionRow* row = find_option(option);
    if (!row)
        return {};
    if (const std::vector<std::string> choices = row->choices(); !choices.empty())
        return {complete_listed(choices, request.line.word), Beside::Nothing};
    return complete_value(request, value_of(*row));
}

// Completes the value in a word with `=`: `--color=al` becomes `--color=always`.
Answer complete_joined_value(Request request, size_t equals) {
    const std::string text = request.line.word, before = text.substr(0, equals + 1);
    request.line.word = text.substr(equals + 1);
    Answer out = complete_option_value(request, text.substr(0, equals));
    for (Completion& one : out.words)
        one.text.insert(0, before);
    return out;
}

// Completes the name of an option, or its value after a `=`.
Answer complete_option(const Request& request) {
    const std::string& text = request.line.word;
    Answer out;
    const auto offer = [&](const std::string& name, const std::string& help) {
        if (name.starts_with(text) && std::ranges::find(out.words, name, &Completion::text) == out.words.end())
            out.words.push_back({name, help, true});
    };
    if (const size_t equals = text.find('='); text.starts_with("--") && equals != std::string::npos)
        return complete_joined_value(request, equals);
    if (!request.words.empty() && request.words[0] == "fmt") {
        offer("--check", "change nothing, and print the names of files that are not formatted");
        offer("--help", "explain the command");
        return out;
    }
    if (!request.tool.empty()) {
        const ToolHead head = read_tool_head(find_tool(request.tool));
        for (const ToolOption& option : head.options) {
            offer(fmt::format("-{}", option.letter), option.help);
            offer("--" + option.name, option.help);
        }
        for (const char* name : {"-d", "--duration"})
            offer(name, "end after that many seconds");
        for (const char* name : {"-p", "--pid"})
            offer(name, "only this process and its children");
        offer("-c", "run this command, and trace only it and its children");
        for (const char* name : {"-h", "--help"})
            offer(name, "explain the tool");
        offer("--source", "print the script");
    }
    for (const OptionRow& row : option_table())
        for (const std::string& name : row.all_names())
            if (row.topic != Topic::Hidden && (request.tool.empty() || is_option_of_tools(name)))
                offer(name, std::string(row.help));
    return out;
}

Answer complete_argument(const Request& request) {
    if (request.asks_why)
        return complete_value(request, Value::Point);
    if (!request.tool.empty()) {
        const ToolHead head = read_tool_head(find_tool(request.tool));
        if (request.positional >= head.arguments.size())
            return {};
        switch (head.arguments[request.positional].type) {
        case ToolValue::Point:
            return {complete_tool_point(request), Beside::Nothing};
        case ToolValue::Library:
        case ToolValue::Database:
            return {complete_program(request.line.word), Beside::Nothing};
        case ToolValue::Process:
            return complete_value(request, Value::Process);
        default:
            return {};
        }
    }
    Answer out;
    out.beside = Beside::Files;
    const bool asks_help = request.words.size() == 1 && request.words[0] == "help";
    if (asks_help)
        out.beside = Beside::Nothing;
    if (asks_help && std::string_view("options").starts_with(request.line.word))
        out.words.push_back({"options", "list all options", true});
    if (request.words.empty() || asks_help) {
        if (std::string_view("tools").starts_with(request.line.word))
            out.words.push_back({"tools", "list the tools", true});
        for (const Subcommand& command : subcommands)
            if (!asks_help && std::string_view(command.name).starts_with(request.line.word))
                out.words.push_back({command.name, command.help, true});
        for (const ToolFile& tool : tool_files())
            if (tool.name.starts_with(request.line.word))
                out.words.push_back({std::string(tool.name), read_tool_head(tool.text).title, true});
    }
    return out;
}

Answer complete(const Request& request) {
    const std::string& text = request.line.word;
    const bool follows_option = !request.words.empty() && request.words.back().starts_with('-') &&
                                request.words.back().size() > 1 && takes_value(request, request.words.back());
    if (follows_option)
        return complete_option_value(request, request.words.back());
    return text.starts_with('-') && !request.line.quote ? complete_option(request) : complete_argument(request);
}

} // namespace

int print_completions(const std::vector<std::string>& words) {
    constexpr std::string_view shells[] = {"bash", "zsh", "fish"};
    if (words.size() != 2 || std::ranges::find(shells, words[0]) == std::end(shells)) {
        fmt::print(stderr, "ERROR: --complete takes bash, zsh or fish and a command line up to the cursor\n");
        return 1;
    }
    const bool for_bash = words[0] == "bash";
    const Request request = read_request(read_shell_line(words[1]));
    Answer answer = complete(request);
    std::ranges::stable_sort(answer.words, {}, &Completion::text);
    const bool open = std::ranges::any_of(answer.words, [](const Completion& one) { return !one.is_whole; });
    // bash and fish close an open quote after the only word. If the word must go on, offer a second one to prevent
    // that.
    if (words[0] != "zsh" && answer.words.size() == 1 && open)
        answer.words.push_back({answer.words[0].text + " ", "", false});
    const bool several = answer.words.size() > 1;
    const bool quoted =
        std::ranges::any_of(answer.words, [&](const Completion& one) { return needs_quote(request.line, one.text); });
    fmt::print("{}\n", answer.beside == Beside::Files      ? "files"
                       : answer.beside == Beside::Folders  ? "folders"
                       : answer.beside == Beside::Commands ? "commands"
                       : open                              ? "open"
                                                           : "words");
    for (const Completion& one : answer.words) {
        if (!for_bash)
            fmt::print("{}{}{}\n", one.text, one.help.empty() ? "" : "\t", one.help);
        else if (one.text.find('\n') == std::string::npos)
            fmt::print("{}\n", quote_for_bash(request.line, one.text, quoted, several));
    }
    return 0;
}

} // namespace sonde
