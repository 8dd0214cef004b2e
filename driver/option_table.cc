// The same .def files are included once for each part of Options, with another definition of OPTION: it names the part
// that has the member. Each .def file ends with an #undef of these macros, so they are defined again before the next
// one. Everything else about options (help, completion, suggestions) reads the resulting rows.
#include "driver/option_table.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "driver/commands.h"
#include "driver/option_readers.h"

namespace sonde {
namespace {

using namespace readers;

constexpr OptionRow rows[] = {
// Each .def file belongs to one part of Options, so the member of an OPTION is in that part.
#define SETTER(names, argument, action, topic, help)                                                                   \
    {names, argument, Topic::topic, help,                                                                              \
     [](Options& o, const Given& given) -> std::string { return static_cast<void>(o), action; }},
#define OPTION(type, member, initial, names, argument, reader, topic, help)                                            \
    SETTER(names, argument, reader(o.translate.member, given), topic, help)
#include "options/translate.def"
#define SETTER(names, argument, action, topic, help)                                                                   \
    {names, argument, Topic::topic, help,                                                                              \
     [](Options& o, const Given& given) -> std::string { return static_cast<void>(o), action; }},
#define OPTION(type, member, initial, names, argument, reader, topic, help)                                            \
    SETTER(names, argument, reader(o.session.member, given), topic, help)
#include "options/session.def"
#define SETTER(names, argument, action, topic, help)                                                                   \
    {names, argument, Topic::topic, help,                                                                              \
     [](Options& o, const Given& given) -> std::string { return static_cast<void>(o), action; }},
#define OPTION(type, member, initial, names, argument, reader, topic, help)                                            \
    SETTER(names, argument, reader(o.sinks.member, given), topic, help)
#include "options/sinks.def"
#define SETTER(names, argument, action, topic, help)                                                                   \
    {names, argument, Topic::topic, help,                                                                              \
     [](Options& o, const Given& given) -> std::string { return static_cast<void>(o), action; }},
#define OPTION(type, member, initial, names, argument, reader, topic, help)                                            \
    SETTER(names, argument, reader(o.driver.member, given), topic, help)
#include "options/driver.def"
};

constexpr std::pair<Topic, std::string_view> topics[] = {
    {Topic::Help, "Help"},
    {Topic::Script, "Script"},
    {Topic::Finding, "Finding probe points"},
    {Topic::Target, "Target"},
    {Topic::Output, "Output"},
    {Topic::Pictures, "Live view, pictures and profiles"},
    {Topic::Export, "Metrics and other programs"},
    {Topic::Session, "Session"},
    {Topic::Passes, "Passes, saved plans and the cache"},
    {Topic::Mechanisms, "Mechanisms, for tests and comparisons"},
    {Topic::Machine, "Machine"},
    {Topic::Accepted, "Options of stap without effect"},
};

constexpr size_t help_column = 30;

// "-o FILE", "--live,--monitor[=SECONDS]"
std::string shown_name(std::string_view names, const OptionRow& row) {
    const std::string argument = row.shown_argument();
    return fmt::format("{}{}{}", names, argument.empty() || row.has_optional_value() ? "" : " ", argument);
}

std::string help_line(const OptionRow& row) {
    const std::string left = "  " + shown_name(row.names, row);
    if (left.size() + 1 > help_column)
        return fmt::format("{}\n{:{}}{}\n", left, "", help_column, row.help);
    return fmt::format("{:<{}}{}\n", left, help_column, row.help);
}

} // namespace

std::vector<std::string> OptionRow::all_names() const {
    std::vector<std::string> out;
    for (std::string_view rest = names; !rest.empty();) {
        out.emplace_back(rest.substr(0, rest.find(',')));
        rest.remove_prefix(std::min(rest.size(), out.back().size() + 1));
    }
    return out;
}

std::string_view OptionRow::implied() const {
    const size_t colon = argument.find(':');
    return colon == argument.npos ? "" : argument.substr(colon + 1, argument.find(']') - colon - 1);
}

std::string OptionRow::shown_argument() const {
    std::string out(argument);
    if (repeats() && !out.ends_with(",..."))
        out.resize(out.size() - 3);
    if (has_optional_value())
        out.erase(out.find(':'), implied().size() + 1);
    return out;
}

std::vector<std::string> OptionRow::choices_of(std::string_view argument) {
    std::vector<std::string> out;
    if (argument.starts_with("[="))
        argument = argument.substr(2, argument.find(':') - 2);
    const bool lists_values =
        std::ranges::all_of(argument, [](unsigned char c) { return islower(c) || isdigit(c) || c == '_' || c == '|'; });
    for (std::string_view rest = lists_values ? argument : ""; !rest.empty();) {
        out.emplace_back(rest.substr(0, rest.find('|')));
        rest.remove_prefix(std::min(rest.size(), out.back().size() + 1));
    }
    return out;
}

std::span<const OptionRow> option_table() { return rows; }

const OptionRow* find_option(std::string_view name) {
    const auto* found = std::ranges::find_if(rows, [&](const OptionRow& row) {
        const std::vector<std::string> names = row.all_names();
        return std::ranges::find(names, name) != names.end();
    });
    return found == std::end(rows) ? nullptr : found;
}

std::string nearest_option(const std::string& name) {
    if (!name.starts_with("--"))
        return "";
    std::vector<std::string> names;
    for (const OptionRow& row : rows)
        for (std::string& one : row.all_names())
            if (row.topic != Topic::Hidden && one.starts_with("--"))
                names.push_back(std::move(one));
    std::string near = nearest_name(name, names);
    if (near.empty())
        for (const std::string& one : names)
            if (name.starts_with(one) && one.size() > near.size())
                near = one;
    return near;
}

std::string none_of(std::string_view option, const std::string& value, const std::vector<std::string>& values) {
    const std::string near = nearest_name(value, values);
    return fmt::format("{}: `{}` is none of `{}`{}", option, value, fmt::join(values, "`, `"),
                       near.empty() ? "" : fmt::format("; did you mean `{}`?", near));
}

std::string short_help() {
    std::string out =
        "Usage: sonde TOOL [OPTIONS]  or  sonde [OPTIONS] FILE [ARGUMENTS]  or  sonde [OPTIONS] -e SCRIPT\n"
        "  sonde opensnoop                                   # run a tool: print files that processes open\n"
        "  sonde -l 'process(\"./a.out\").function(\"*\")'       # list the functions of a program\n"
        "  sonde -c ./a.out -e 'probe process.function(\"f\") { println($$parms) }'  # print the parameters of calls\n";
    for (const char* name : {"-e", "-c", "-x", "-L", "-o"})
        out += help_line(*find_option(name));
    return out + "More: `sonde help options` lists all options, `sonde tools` all tools; `sonde help WORD` explains a "
                 "word\n";
}

std::string describe_subcommand(std::string_view name) {
    const auto* command = std::ranges::find_if(subcommands, [&](const Subcommand& one) { return name == one.name; });
    return command == std::end(subcommands)
               ? ""
               : fmt::format("Usage: sonde {} {}\n  {}\n", command->name, command->arguments, command->about);
}

std::string describe_options() {
    std::string out = "Usage:\n"
                      "  sonde TOOL [OPTIONS]\n"
                      "  sonde [OPTIONS] FILE [ARGUMENTS]\n"
                      "  sonde [OPTIONS] -e SCRIPT [ARGUMENTS]\n"
                      "  sonde [OPTIONS] -l|-L POINT\n"
                      "  sonde --why VARIABLE POINT\n";
    for (const Subcommand& command : subcommands)
        out += fmt::format("  sonde {} {}\n", command.name, command.arguments);
    for (const auto& [topic, title] : topics) {
        out += fmt::format("\n{}:\n", title);
        for (const OptionRow& row : rows)
            if (row.topic == topic)
                out += help_line(row);
    }
    return out + "\nExit status: 0 success, 1 failure, 3 success, but events or hits were lost (--lossy-ok: 0)\n";
}

std::string describe_option(const OptionRow& row, std::string_view name) {
    return fmt::format("{}  {}\n", shown_name(name, row), row.help);
}

} // namespace sonde
