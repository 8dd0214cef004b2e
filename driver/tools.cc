// A tool's command line becomes an ordinary command line: its options become -G, its arguments become those of the
// script, and -d and -p become -T and -x. For example, `sonde opensnoop -f -d 5` becomes
//
//     sonde -T 5 -G only_failed=1 -w -D MAXACTION_INTERRUPTIBLE=1000000000 --tool opensnoop --
//
// So the rest of sonde does not distinguish a tool from another script, except for the few properties in the tool's
// head (driver/tool_head.h).
#include "driver/tools.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/glob.h"
#include "base/result.h"
#include "base/suggest.h"
#include "driver/log_place.h"
#include "driver/option_messages.h"
#include "driver/option_table.h"
#include "driver/tool_head.h"
#include "driver/tool_point.h"
#include "frontend/bridge/log_text.h"
#include "frontend/hints/foreign_words.h"
#include "frontend/probes/kinds.h"
#include "runtime/text/messages.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

constexpr int exit_failure = 1;

// Options of every tool.
const ToolOption duration{'d', "duration", "SECONDS", ToolValue::Seconds, "", "", "", ""};
const ToolOption process{'p', "pid", "PID", ToolValue::Number, "", "", "", ""};

// Options that choose the script. They have no meaning for a tool, which is a script already.
constexpr std::string_view no_options_of_tools[] = {"-e", "-E", "-l", "-L", "--why", "--relink"};

bool is_number(std::string_view text) {
    return !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_above_0(std::string_view text) {
    return is_number(text) && text.find_first_not_of('0') != std::string_view::npos;
}

// Reads "10ms" or, if the unit is optional, "0.5". Returns seconds, or nothing if the text is not a time above 0.
std::optional<double> read_time(const std::string& text, bool needs_unit) {
    constexpr std::pair<std::string_view, double> units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}};
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || !std::isfinite(number) || number <= 0 || number > 1e9)
        return {};
    std::string_view unit = end;
    if (unit.empty())
        return needs_unit ? std::nullopt : std::optional(number);
    const auto* found = std::ranges::find(units, unit, &std::pair<std::string_view, double>::first);
    return found == std::end(units) ? std::nullopt : std::optional(number * found->second);
}

// Rejects `sonde strace ls`: a program in place of system calls. The script itself reports other unknown names, and
// suggests the nearest one.
Result<std::string> check_calls(const std::string& word) {
    const std::string first = word.substr(0, word.find(','));
    if (has_wildcard(first) || is_syscall(first, host_architecture()) || !find_in_path(first).ok())
        return word;
    return Error(fmt::format("`{0}` is a program and no system call: -c {0} runs it under the tool, with its own words "
                             "in quotes (-c '{0} ...')",
                             first));
}

// Converts a word of the command line to the value for the script.
Result<std::string> convert(ToolValue type, const std::string& word, const PointTarget& target) {
    const auto wrong = [&](std::string_view expected) { return Error(fmt::format("`{}` is {}", word, expected)); };
    switch (type) {
    case ToolValue::Flag:
        return std::string("1");
    case ToolValue::Number:
        return is_number(word) ? Result(word) : wrong("no number of digits");
    case ToolValue::Duration:
        if (std::optional<double> seconds = read_time(word, true))
            return std::to_string(std::llround(*seconds * 1e6));
        return wrong("no time with its unit: `500us`, `10ms`, `1.5s`, `1m`");
    case ToolValue::Seconds:
        return is_above_0(word) ? Result(word) : wrong("no number of whole seconds");
    case ToolValue::Text:
        return word;
    case ToolValue::Calls:
        return check_calls(word);
    case ToolValue::Point:
        return expand_point(word, target);
    case ToolValue::Database:
        if (word.find('/') == std::string::npos && find_in_path(word + "d").ok())
            return find_library_path(word + "d", target);
        return find_library_path(word, target);
    case ToolValue::Library:
        return find_library_path(word, target);
    case ToolValue::Place:
    case ToolValue::Variables:
    case ToolValue::Format:
        break; // Reader::value_of()
    case ToolValue::Process:
        break; // Reader::read_arguments()
    case ToolValue::Condition:
        return log_condition(word);
    }
    return word;
}

// Reads the words of a tool's command line one by one, and translates them to sonde's own command line.
class Reader {
  public:
    Reader(std::string name, const ToolHead& head, const std::vector<std::string>& words)
        : name_(std::move(name)), head_(head), words_(words) {}

    // Returns sonde's own words, or nothing if a word asks about the tool (wanted()). Errors: a word is wrong.
    Result<std::vector<std::string>> read() {
        bool ended = false; // by --
        for (at_ = 1; at_ < words_.size(); at_++) {
            const std::string& word = words_[at_];
            if (!ended && word == "--") {
                ended = true;
                continue;
            }
            if (ended || word.size() < 2 || word[0] != '-') {
                if (Result<void> taken = take_argument(word); !taken)
                    return std::move(taken).error();
            } else if (Result<void> read = word[1] == '-' ? read_long(word) : read_short(word); !read)
                return std::move(read).error();
            if (wanted_ != Wanted::Session)
                return std::vector<std::string>();
        }
        for (const auto& [option, word] : given_) {
            if (option->given.starts_with("--"))
                out_.push_back(option->given);
            if (option->sets_argument())
                continue; // read_arguments()
            Result<std::string> value = value_of(option->type, word);
            // A number of lines or bytes whose default is above 0 must not be 0: the tool would print nothing, and hide
            // that.
            if (value && option->type == ToolValue::Number && is_above_0(option->initial) && !is_above_0(word))
                value = Error(fmt::format("`{}` is not a number from 1 on", word));
            if (!value)
                return std::move(value).error().in(fmt::format("--{} {}", option->name, option->placeholder));
            out_.insert(out_.end(), {"-G", fmt::format("{}={}", option->global, *value)});
        }
        // A warning that a point was never hit is useful if the user chose the point. Other tools have several points
        // for one event, of which some are never hit.
        if (std::ranges::none_of(head_.arguments, [](const auto& one) {
                return one.type == ToolValue::Point || one.type == ToolValue::Place;
            }))
            out_.emplace_back("-w");
        // Allow handlers at the end to print long tables.
        out_.insert(out_.end(), {"-D", "MAXACTION_INTERRUPTIBLE=1000000000", "--tool", name_});
        if (Result<void> read = read_arguments(); !read)
            return std::move(read).error();
        out_.emplace_back("--");
        out_.insert(out_.end(), values_.begin(), values_.end());
        return std::move(out_);
    }

    enum class Wanted : uint8_t { Session, Help, Source };
    Wanted wanted() const { return wanted_; }

  private:
    // Handles the options that ask about the tool. Returns false for others.
    bool asks(std::string_view option) {
        if (option == "-h" || option == "--help")
            wanted_ = Wanted::Help;
        if (option == "--source")
            wanted_ = Wanted::Source;
        return wanted_ != Wanted::Session;
    }

    // Takes a word that is not an option. A process is an option of sonde itself, which must come before `--`.
    Result<void> take_argument(const std::string& word) {
        const size_t index = arguments_.size();
        arguments_.push_back(word);
        if (index < head_.arguments.size() && head_.arguments[index].type == ToolValue::Process)
            return take_own("-x", word, head_.arguments[index].placeholder);
        return {};
    }

    // Returns the next word, which is the value of the option.
    Result<std::string> next_word(const std::string& option, const std::string& placeholder) {
        if (at_ + 1 >= words_.size())
            return Error(fmt::format("{} needs a value: {}", option, placeholder));
        return words_[++at_];
    }

    const ToolOption* find(const auto& matches) const {
        auto found = std::ranges::find_if(head_.options, matches);
        if (found != head_.options.end())
            return &*found;
        return matches(duration) ? &duration : matches(process) ? &process : nullptr;
    }

    Result<void> take(const ToolOption& option, const std::string& value) {
        if (&option == &duration) {
            std::optional<double> seconds = read_time(value, false);
            if (!seconds)
                return Error(fmt::format("--duration SECONDS: `{}` is no time above 0: `10`, `0.5`, `5m`", value));
            out_.insert(out_.end(), {"-T", fmt::format("{}", *seconds)});
        } else if (&option == &process) {
            return take_own("-x", value, "--pid PID");
        } else {
            given_.emplace_back(&option, value);
        }
        return {};
    }

    // `called` is the option as the user wrote it.
    Result<void> take_own(const std::string& option, const std::string& value, const std::string& called) {
        if (const std::string wrong = option == "-x" ? why_no_target(called, value) : ""; !wrong.empty())
            return Error(wrong);
        out_.insert(out_.end(), {option, value});
        if (option == "-c")
            target_.command = value;
        if (option == "-x")
            target_.pid = std::strtoll(value.c_str(), nullptr, 10);
        note_machine(option);
        return {};
    }

    bool prints_json() const {
        return std::ranges::any_of(given_, [](const auto& one) { return one.first->given == "--format=json"; });
    }

    static constexpr const char* plain_stack = R"( println("stack") print_ubacktrace_fileline())";
    // Statements that print the variables of the place, and the stack.
    Result<std::string> show_all_variables() const {
        if (place_.is_python)
            return std::string(R"(println("arguments\n  ", $$parms))") + plain_stack;
        std::string out;
        for (const auto& [title, names] : {std::pair("arguments", place_.parameters), {"variables", place_.locals}}) {
            if (!names.empty())
                out += fmt::format("println(\"{}\") ", title);
            for (const std::string& name : names)
                out += fmt::format(R"(printf("  {0} = %s\n", @defined(${0}$) ? ${0}$ : "not available here") )", name);
        }
        return out + R"(println("stack") __print_stack_with_values())";
    }
    // Statements that print the expressions. Then the user wants these values only, and not those of callers.
    static Result<std::string> show_some(const std::string& expressions) {
        Result<std::string> out = show_expressions(expressions);
        return out ? *out + plain_stack : std::move(out);
    }

    Result<std::string> format_of(const std::string& word) const {
        if (!place_.omitted.empty() && logs_all_variables(word))
            warn(fmt::format("`{{*}}` omits `{}`: the compiler has optimized {} out at this place",
                             fmt::join(place_.omitted, "`, `"), place_.omitted.size() > 1 ? "them" : "it"));
        return log_format(word, prints_json() ? place_.name : "", {place_.logged, place_.is_python});
    }

    void note_machine(const std::string& option) {
        if (option == "--sysroot" || option == "--arch" || option == "-a")
            other_machine_ = option;
    }

    // Converts a word. Names of programs and libraries are looked up on this machine, so they have no meaning for
    // another one.
    Result<std::string> value_of(ToolValue type, const std::string& word) {
        if (type == ToolValue::Place) {
            Result<FoundPlace> place = find_place(word, target_);
            if (!place)
                return std::move(place).error();
            place_ = *std::move(place);
            return place_.point;
        }
        if (type == ToolValue::Format)
            return format_of(word);
        if (type == ToolValue::Variables)
            return word == "all" ? show_all_variables() : show_some(word);
        const bool is_path = type == ToolValue::Library || type == ToolValue::Database;
        if (other_machine_.empty() || !(is_path || type == ToolValue::Point))
            return convert(type, word, target_);
        if (is_path && word.starts_with('/'))
            return word;
        Result<std::string> value = convert(type, word, target_);
        if (value && (*value == word || value->find('/') == std::string::npos))
            return value;
        return Error(
            fmt::format("`{}`: with {}, write {}", word, other_machine_,
                        is_path ? "the absolute path" : "a whole probe point, `process(\"PATH\").function(\"NAME\")`"));
    }

    Result<void> read_long(const std::string& word) {
        size_t equals = word.find('=');
        std::string name = word.substr(0, equals);
        if (asks(word))
            return {};
        const ToolOption* option = find([&](const ToolOption& one) { return "--" + one.name == name; });
        if (option && option->type == ToolValue::Flag && equals != std::string::npos)
            return Error(fmt::format("{} takes no value", name));
        if (option && option->type == ToolValue::Flag)
            return take(*option, "");
        if (!option && (!is_option_of_tools(name) || !find_option(name)))
            return no_option(name);
        if (!option && (equals != std::string::npos || !find_option(name)->takes_next_word())) {
            out_.push_back(word);
            note_machine(name);
            return {};
        }
        Result<std::string> value = equals != std::string::npos ? Result(word.substr(equals + 1))
                                                                : next_word(name, option ? option->placeholder : "...");
        if (!value)
            return std::move(value).error();
        if (option)
            return take(*option, *value);
        return take_own(name, *value, name);
    }

    // Several flags can share a word (-fT), and a value can follow immediately (-n5).
    Result<void> read_short(const std::string& word) {
        for (size_t letter = 1; letter < word.size(); letter++) {
            std::string name{'-', word[letter]};
            if (asks(name))
                return {};
            const ToolOption* option = find([&](const ToolOption& one) { return one.letter == word[letter]; });
            const OptionRow* own = option || !is_option_of_tools(name) ? nullptr : find_option(name);
            if (!option && !own)
                return no_option(name);
            if (option ? option->type == ToolValue::Flag : !own->takes_next_word()) {
                if (!option)
                    out_.push_back(name);
                else if (Result<void> taken = take(*option, ""); !taken)
                    return taken;
                continue;
            }
            std::string rest = word.substr(letter + 1);
            Result<std::string> value =
                !rest.empty() ? Result(rest) : next_word(name, option ? option->placeholder : "...");
            if (!value)
                return std::move(value).error();
            if (option)
                return take(*option, *value);
            return take_own(name, *value, name);
        }
        return {};
    }

    Error no_option(const std::string& name) const {
        if (!is_option_of_tools(name))
            return Error(fmt::format("{} has no effect on a tool, which is a script: `sonde {} --source` prints it",
                                     name, name_));
        std::vector<std::string> names = {"--duration", "--pid", "--help", "--source"};
        for (const ToolOption& option : head_.options)
            names.push_back("--" + option.name);
        std::string near = nearest_name(name, names);
        return Error(fmt::format("{} has no option `{}`{}", name_, name,
                                 near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
    }

    Result<void> read_arguments() {
        if (arguments_.size() > head_.arguments.size() && find_in_path(arguments_[0]).ok())
            return Error(fmt::format("{} takes no command as its words: it stands after -c, as one word: -c '{}'",
                                     name_, fmt::join(arguments_, " ")));
        if (arguments_.size() > head_.arguments.size())
            return Error(head_.arguments.empty()
                             ? fmt::format("{} takes no argument: `{}`", name_, arguments_[0])
                             : fmt::format("one argument too many: `{}`", arguments_[head_.arguments.size()]));
        for (size_t i = arguments_.size(); i < head_.arguments.size(); i++)
            if (const ToolArgument& missing = head_.arguments[i]; !missing.optional)
                return Error(fmt::format("{} needs {}: {}", name_, missing.placeholder, missing.help));
        // The program of a place is a part of the place, not an argument of the script.
        size_t count = head_.arguments.size();
        if (std::ranges::find(head_.arguments, ToolValue::Place, &ToolArgument::type) != head_.arguments.end()) {
            count--;
            if (arguments_.size() > count) {
                Result<std::string> program = value_of(ToolValue::Library, arguments_[count]);
                if (!program)
                    return std::move(program).error().in(head_.arguments[count].placeholder);
                target_.program = *std::move(program);
            }
        }
        for (size_t i = 0; i < count; i++) {
            const ToolArgument& argument = head_.arguments[i];
            if (i >= arguments_.size() && argument.initial.empty())
                break;
            const std::string& word = i < arguments_.size() ? arguments_[i] : argument.initial;
            if (!argument.choices.empty() && std::ranges::find(argument.choices, word) == argument.choices.end())
                return Error(fmt::format("{}: `{}` is none of `{}`", argument.placeholder, word,
                                         fmt::join(argument.choices, "`, `")));
            Result<std::string> value = value_of(argument.type, word);
            if (!value)
                return std::move(value).error().in(argument.placeholder);
            if (argument.type == ToolValue::Process)
                continue;
            note_word(argument.type, argument.placeholder, word);
            values_.push_back(*std::move(value));
        }
        return read_options_as_arguments();
    }

    Result<void> read_options_as_arguments() {
        for (const ToolOption& option : head_.options) {
            if (!option.sets_argument())
                continue;
            const auto given = std::ranges::find(given_, &option, &decltype(given_)::value_type::first);
            if (option.type == ToolValue::Flag) {
                values_.emplace_back(given == given_.end() ? "" : option.given);
                continue;
            }
            Result<std::string> value = value_of(option.type, given == given_.end() ? option.initial : given->second);
            if (!value)
                return std::move(value).error().in(fmt::format("--{} {}", option.name, option.placeholder));
            note_word(option.type, fmt::format("--{} {}", option.name, option.placeholder),
                      given == given_.end() ? option.initial : given->second);
            values_.push_back(*std::move(value));
        }
        return {};
    }

    // Tells messages what the user wrote where the script has the next value.
    void note_word(ToolValue type, const std::string& name, const std::string& word) {
        if (type == ToolValue::Format || type == ToolValue::Condition || type == ToolValue::Variables)
            out_.insert(out_.end(), {"--tool-word", fmt::format("{}={}={}", values_.size() + 1, name, word)});
    }

    std::string name_;
    const ToolHead& head_;
    const std::vector<std::string>& words_;
    size_t at_ = 0;
    Wanted wanted_ = Wanted::Session;
    PointTarget target_;
    FoundPlace place_;
    std::string other_machine_; // the option that names it: --sysroot, --arch
    std::vector<std::pair<const ToolOption*, std::string>> given_;
    std::vector<std::string> arguments_, out_;
    std::vector<std::string> values_; // of the script's arguments
};

// Returns whether the words after the first one contain a script, or belong to a script file.
bool words_say_script(const std::vector<std::string>& words) {
    for (size_t i = 1; i < words.size(); i++) {
        const bool takes_value = words[i] == "-c" || words[i] == "-x";
        if (takes_value)
            i++;
        else if (words[i] != "-v" && words[i] != "--raw")
            return true;
    }
    return false;
}

int fail(const std::string& message) {
    fmt::print(stderr, "ERROR: {}\n", message);
    return exit_failure;
}

std::vector<std::string> tool_names() {
    std::vector<std::string> out = {"tools"};
    for (const ToolFile& tool : tool_files())
        out.emplace_back(tool.name);
    return out;
}

// `sonde tools`, or `sonde tools WORD`: lists the tools whose name or description contains the word.
int list_tools(const std::vector<std::string>& words) {
    const std::string usage = "`sonde tools` lists all tools, `sonde tools WORD` those with that word";
    if (words.size() == 2 && (words[1] == "--help" || words[1] == "-h")) {
        fmt::print("{}\n", usage);
        return 0;
    }
    if (words.size() > 2 || (words.size() == 2 && words[1].starts_with('-')))
        return fail(usage);
    const std::string word = words.size() == 2 ? words[1] : "";
    size_t listed = 0;
    for (const ToolFile& tool : tool_files()) {
        std::string line = fmt::format("{:<14} {}\n", tool.name, read_tool_head(tool.text).title);
        if (line.find(word) == std::string::npos)
            continue;
        fmt::print("{}", line);
        listed++;
    }
    return listed > 0 ? 0
                      : fail(fmt::format("no tool has `{}` in its name or its line; `sonde tools` lists all", word));
}

} // namespace

bool is_option_of_tools(std::string_view name) {
    return std::ranges::find(no_options_of_tools, name) == std::end(no_options_of_tools);
}

std::string_view find_tool(std::string_view name) {
    const auto tools = tool_files();
    const auto found = std::ranges::find(tools, name, &ToolFile::name);
    return found == tools.end() ? std::string_view() : found->text;
}

bool tool_chooses_target(std::string_view name) { return read_tool_head(find_tool(name)).chooses_target; }
bool tool_keeps_stacks(std::string_view name) { return read_tool_head(find_tool(name)).keeps_stacks; }

bool tool_tells_cost(std::string_view name) { return read_tool_head(find_tool(name)).tells_cost; }

bool tool_changes_return_addresses(std::string_view name) {
    return read_tool_head(find_tool(name)).changes_return_addresses;
}

namespace {

// `sonde help --flame`
int explain_option(const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    if (const OptionRow* row = find_option(name); row && row->topic != Topic::Hidden)
        return fmt::print("{}", describe_option(*row, name)), 0;
    const std::string near = nearest_option(name);
    return fail(
        fmt::format("there is no option `{}`{}", name, near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
}

} // namespace

// The first word decides, in this order:
//
// 1. A file with this name is a script, even if a tool has the same name.
// 2. `help` explains the next word.
// 3. A command of another tracer, such as `perf stat`, is explained by ours.
// 4. A tool runs, and a word similar to a tool's name is an error with a suggestion.
// 5. Any other single word is a search: `sonde tcp` is `sonde -l tcp`.
std::variant<std::vector<std::string>, int> expand_tool(const std::vector<std::string>& words) {
    if (words.empty() || words[0].starts_with('-') || words[0].find('/') != std::string::npos)
        return words;
    const std::string& name = words[0];
    const std::string_view script = find_tool(name);
    const bool is_tool = name == "tools" || !script.empty();
    std::error_code ignored;
    // A folder cannot be a script.
    if (std::filesystem::exists(name, ignored) && !std::filesystem::is_directory(name, ignored)) {
        if (is_tool)
            warn(fmt::format("`{}` is a file here, and that is run; the tool `{}` runs where no such file is", name,
                             name));
        return words;
    }
    if (name == "help" && words.size() == 1)
        return std::vector<std::string>{"--help"};
    if (name == "help" && words.size() == 2 && words[1] == "options")
        return fmt::print("{}", describe_options()), 0;
    if (name == "help" && words.size() == 2 && (words[1] == "tools" || !find_tool(words[1]).empty()))
        return expand_tool({words[1], "--help"});
    if (name == "help" && words.size() == 2)
        if (const std::string text = describe_subcommand(words[1]); !text.empty())
            return fmt::print("{}", text), 0;
    if (name == "help" && words.size() == 2 && words[1].starts_with('-'))
        return explain_option(words[1]);
    if (name == "help" && words.size() == 2 && words[1].find_first_of(" \t(") != std::string::npos)
        return fail("`sonde help WORD` explains one word: a tool, an option, or a name of the language");
    if (name == "help" && words.size() == 2 && words[1].starts_with('@'))
        if (const std::string hint = hints::operator_hint(words[1], true); !hint.empty())
            return fmt::print("{}\n", hint), 0;
    if (name == "help" && words.size() == 2) // a word can be `@entry` or `$return`
        return std::vector<std::string>{"-l",
                                        words[1].substr(std::min(words[1].find_first_not_of("@$"), words[1].size()))};
    if (!is_tool && (words.size() > 1 || hints::is_tracer(name)))
        if (const std::string hint = hints::command_hint(name, words.size() > 1 ? words[1] : ""); !hint.empty())
            return fail(fmt::format("`{}` is no tool here: {}", name, hint));
    if (!is_tool) {
        const std::string near = nearest_name(name, tool_names());
        // A word that is neither a file nor similar to a tool: search all probe points for it.
        const bool is_word = std::ranges::all_of(name, [](unsigned char c) { return isalnum(c) || c == '_'; });
        const bool has_target =
            std::ranges::any_of(words, [](const std::string& one) { return one == "-c" || one == "-x"; });
        if ((near.empty() || has_target) && is_word && !is_number(name) && !words_say_script(words)) {
            std::vector<std::string> search = {"-l"};
            search.insert(search.end(), words.begin(), words.end());
            return search;
        }
        if (near.empty() || name.find('.') != std::string::npos)
            return words;
        return fail(fmt::format(
            "`{}` is neither a file here nor a tool; did you mean `{}`? `sonde tools` lists the tools", name, near));
    }
    if (name == "tools")
        return list_tools(words);
    const ToolHead head = read_tool_head(script);
    Reader reader(name, head, words);
    Result<std::vector<std::string>> read = reader.read();
    if (reader.wanted() == Reader::Wanted::Help)
        return fmt::print("{}", describe_tool(name, head)), 0;
    if (reader.wanted() == Reader::Wanted::Source)
        return fmt::print("{}", script), 0;
    if (read)
        return *std::move(read);
    return fail(fmt::format("{}\n  {}\nSee sonde {} --help.", read.error().message, tool_usage(name, head), name));
}

} // namespace sonde
