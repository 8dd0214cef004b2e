// Explains why a pattern matched nothing, and suggests functions, files or lines that the user may have meant.
//
// A pattern has several parts, "function@file:line", and the message should name the part that is wrong. The functions
// ask from the outside inward: does the module have debug information, does the file exist, does the function exist, is
// the line in that function, does the line have code? The first "no" is the answer.
//
// This code runs only after a failure, so it may be slow: it reads all names of the module.
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/demangle.h"
#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/dwarf/function_pattern.h"
#include "frontend/dwarf/return_sites.h"
#include "frontend/points/debug_problems.h"
#include "frontend/probes/kind_process.h"

namespace sonde {
namespace {

// Maximum number of suggestions in a message.
constexpr size_t max_suggestions = 3;

// The end of a message that names the module.
std::string place_of(DwarfModule& module) { return fmt::format("in `{}`", module.path()); }

DiagBuilder report(Resolving& resolving, const ProcessPattern& pattern, DiagId id, const std::string& message) {
    return resolving.diags.report(id, pattern.component->arg_range, message);
}

// Returns the last part of a name, without classes, packages and namespaces.
std::string_view last_part(std::string_view name) {
    name = name.substr(0, name.find('<'));
    return name.substr(name.find_last_of(".:") + 1);
}

// Also suggests names that differ only in their classes or packages: `main.Price` and `main.(*Shop).Price`.
void add_names(DiagBuilder builder, const std::string& wanted, const std::vector<std::string>& candidates) {
    std::vector<std::string> near = nearest_names(wanted, candidates, max_suggestions);
    if (near.empty() && wanted.find_first_of("*?[:.") != std::string::npos)
        for (const std::string& name : candidates)
            if (near.size() < max_suggestions && !last_part(wanted).empty() && last_part(name) == last_part(wanted) &&
                std::find(near.begin(), near.end(), name) == near.end())
                near.push_back(name);
    if (near.empty())
        return;
    std::string text = "did you mean ";
    for (size_t i = 0; i < near.size(); i++)
        text += fmt::format("{}`{}`", i == 0 ? "" : i + 1 == near.size() ? " or " : ", ", near[i]);
    builder.help(text + "?");
}

// Adds what can be probed in this program without debug information.
void add_what_is_left(DiagBuilder& builder, DwarfModule& module) {
    std::string list;
    if (size_t count = module.function_names().size())
        list += fmt::format("{} function{} with symbols (`sonde -l` lists them), ", count, count == 1 ? "" : "s");
    if (size_t count = module.file().plt().size())
        list += fmt::format("{} calls of libraries (`.plt(\"*\")`), ", count);
    if (size_t count = module.file().marks().size())
        list += fmt::format("{} mark{} (`.mark(\"*\")`), ", count, count == 1 ? "" : "s");
    builder.note({}, fmt::format("you can still probe {}any address of its code (`.statement(0x1234)`), and `.begin`, "
                                 "`.end`, `.thread.begin` and `.syscall`",
                                 list));
}

// If a pattern with a file needs a line table and the module has none, reports that and returns true.
bool lacks_debug_info(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern) {
    if (module.has_debug_info() || (pattern.parsed.file.empty() && !pattern.is_statement))
        return false;
    DiagBuilder builder =
        report(resolving, pattern, DiagId::NoDebugInfo,
               fmt::format("`{}` has no debug information, so source files and lines are unknown", module.path()));
    builder.help(debug_information_advice(false));
    add_debug_problems(builder, module);
    add_what_is_left(builder, module);
    return true;
}

// If no source file of the module matches, reports that and returns true.
bool lacks_file(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern) {
    const std::string& file = pattern.parsed.file;
    if (file.empty())
        return false;
    std::vector<std::string> names;
    for (const std::string& path : module.source_files()) {
        if (file_matches(file, path))
            return false;
        names.push_back(std::filesystem::path(path).filename());
    }
    DiagBuilder builder =
        report(resolving, pattern, DiagId::NoMatch, fmt::format("no source file `{}` {}", file, place_of(module)));
    add_names(builder, std::filesystem::path(file).filename(), names);
    add_debug_problems(builder, module);
    return true;
}

// If no function of the module has the name, reports that and returns true.
bool lacks_function(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern) {
    FunctionPattern only_name;
    only_name.function = pattern.parsed.function;
    std::vector<FunctionInstance> elsewhere = module.functions(only_name);
    if (!elsewhere.empty())
        return false;
    DiagBuilder builder = report(resolving, pattern, DiagId::NoMatch,
                                 fmt::format("no function `{}` {}", pattern.parsed.function, place_of(module)));
    add_names(builder, pattern.parsed.function, module.function_names());
    note_script(builder, resolving, module.path());
    const std::string& name = pattern.parsed.function;
    size_t line = name.find_last_not_of("0123456789");
    bool is_line =
        line != std::string::npos && line + 1 < name.size() && name[line] == ':' && pattern.parsed.file.empty();
    if (is_line && line > 0 && name[line - 1] != ':')
        builder.help(fmt::format("write a line of a source file as `.statement({})`", quoted("*@" + name)));
    if (!module.has_debug_info()) {
        builder.note({}, "the program has no debug information, so only its symbols are known")
            .help(debug_information_advice(false));
        add_what_is_left(builder, module);
    }
    add_debug_problems(builder, module);
    return true;
}

// Returns the different names, quoted. Counts of these functions are wrong, so the list is long.
template <typename Reason> std::string list_of_functions(const std::vector<std::pair<std::string, Reason>>& functions) {
    constexpr size_t most = 20;
    std::set<std::string> names;
    for (const auto& [name, reason] : functions)
        names.insert(name);
    std::string text;
    size_t listed = 0;
    for (auto name = names.begin(); name != names.end() && listed < most; ++name, ++listed)
        text += fmt::format("{}`{}`", listed == 0 ? "" : ", ", *name);
    return names.size() > most ? fmt::format("{}, and {} more", text, names.size() - most) : text;
}

} // namespace

void warn_of_missed_calls(Resolving& resolving, const ProcessPattern& pattern,
                          const std::vector<std::pair<std::string, std::string>>& doubts) {
    report(resolving, pattern, DiagId::LeftOut,
           fmt::format("the probe may miss calls of {}", list_of_functions(doubts)))
        .note({}, doubts[0].second);
}

void explain_no_return(Resolving& resolving, const ProcessPattern& pattern,
                       const std::vector<std::pair<std::string, Error>>& left_out, size_t others) {
    const Error& first = left_out[0].second;
    bool unsafe = first.os_error == unsafe_return;
    std::string text = first.message;
    if (left_out.size() > 1 || others != 0) {
        text =
            fmt::format("{} function{} of {} that match{} skipped: ", left_out.size(), left_out.size() == 1 ? "" : "s",
                        left_out.size() + others, left_out.size() == 1 ? " is" : " are");
        text += list_of_functions(left_out);
    }
    const DiagId left_out_id = first.os_error == unclear_entry ? DiagId::LeftOut : DiagId::NoSafeReturn;
    DiagBuilder builder = report(resolving, pattern, others == 0 ? DiagId::NoMatch : left_out_id, text);
    if (left_out.size() > 1 || others != 0)
        builder.note({}, first.message);
    if (unsafe)
        builder.help("probe the entry instead, or use --attach=uretprobe, which changes return addresses on the "
                     "program's stack and may break exceptions, cancelled threads, coroutines and backtrace()");
}

void explain_address(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern, Address address,
                     const InstructionPlace& place) {
    auto written = static_cast<Address>(pattern.component->number);
    std::string function;
    if (std::optional<std::pair<std::string, Address>> symbol = module.symbols().at(address)) {
        std::optional<std::string> plain = demangle(symbol->first);
        function = fmt::format(" (`{}`+{:#x})", plain.value_or(symbol->first), address - symbol->second);
    }
    DiagBuilder builder =
        report(resolving, pattern, DiagId::NoInstruction,
               fmt::format("no instruction begins at {:#x}{} {}: {}", written, function, place_of(module),
                           place.why.empty() ? "sonde knows nothing about this address" : place.why));
    if (place.before)
        builder.help(fmt::format("the nearest instruction before it begins at {:#x}", *place.before));
    else
        builder.help("write an address as `nm` and `objdump -d` print it");
    builder.note({}, "a breakpoint inside of an instruction would change the program's behavior");
}

void explain_statement(Resolving& resolving, const ProcessPattern& pattern, Address start) {
    report(resolving, pattern, DiagId::NoInstruction,
           fmt::format("address {:#x} does not match the beginning of a statement (try {:#x})",
                       static_cast<Address>(pattern.component->number), start))
        .help("add `.absolute` to probe any address where an instruction begins, without `$variables`");
}

void explain_no_function(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern, bool any) {
    if (any) {
        const std::string& name =
            pattern.component->arg == ast::PointComponent::String ? pattern.component->text : pattern.component->name;
        if (pattern.suffix == "inline")
            report(resolving, pattern, DiagId::NoMatch, fmt::format("`{}` is not inlined", name))
                .help("write `.call`, or no suffix");
        else if (pattern.suffix == "exported")
            report(resolving, pattern, DiagId::NoMatch, fmt::format("`{}` is not exported", name))
                .help("write `.call`, or no suffix");
        else
            report(resolving, pattern, DiagId::NoMatch,
                   fmt::format("`{}` is inlined everywhere, so it has no `.{}`", name, pattern.suffix))
                .help("write `.inline`, or no suffix");
        return;
    }
    if (lacks_debug_info(resolving, module, pattern) || lacks_file(resolving, module, pattern) ||
        lacks_function(resolving, module, pattern))
        return;
    DiagBuilder builder = report(resolving, pattern, DiagId::NoMatch,
                                 fmt::format("no function matches `{}` {}", pattern.component->text, place_of(module)));
    FunctionPattern only_name;
    only_name.function = pattern.parsed.function;
    std::vector<FunctionInstance> others = module.functions(only_name);
    if (!pattern.parsed.parameters.empty()) {
        std::set<std::string> signatures;
        for (const FunctionInstance& one : others)
            signatures.insert(fmt::format("`{}{}`", one.name, module.signature(one)));
        std::string list;
        for (const std::string& signature : signatures)
            list += (list.empty() ? "" : ", ") + signature;
        builder.help("the functions of this name are " + list);
    }
    for (const FunctionInstance& one : others)
        if (!one.file.empty() && pattern.parsed.parameters.empty()) {
            builder.note({}, fmt::format("`{}` is at {}:{}", one.name, one.file, one.line));
            break;
        }
}

void explain_no_statement(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern) {
    if (lacks_debug_info(resolving, module, pattern) || lacks_file(resolving, module, pattern) ||
        lacks_function(resolving, module, pattern))
        return;
    FunctionPattern elsewhere = pattern.parsed;
    if (elsewhere.line_kind == FunctionPattern::Relative) {
        FunctionPattern only_name;
        only_name.function = pattern.parsed.function;
        FunctionInstance first = module.functions(only_name).front();
        elsewhere.file = first.file;
        elsewhere.line += first.line;
        elsewhere.line_kind = FunctionPattern::Absolute;
    }
    elsewhere.function = "*";
    std::vector<Statement> others =
        pattern.parsed.function == "*" ? std::vector<Statement>() : module.statements(elsewhere);
    if (!others.empty()) {
        report(resolving, pattern, DiagId::NoMatch,
               fmt::format("line {} is not in `{}`", others[0].line, pattern.parsed.function))
            .help(fmt::format("the line belongs to `{}`", others[0].function.name));
        return;
    }
    DiagBuilder builder = report(resolving, pattern, DiagId::NoMatch,
                                 fmt::format("no code at `{}` {}", pattern.component->text, place_of(module)));
    add_debug_problems(builder, module);
    if (elsewhere.line_kind != FunctionPattern::Absolute || elsewhere.file.empty())
        return;
    std::vector<int> lines = module.statement_lines(elsewhere.file);
    auto after = std::lower_bound(lines.begin(), lines.end(), elsewhere.line);
    if (after != lines.end() && *after == elsewhere.line)
        builder.help("the line has code, but in a function that the debug information does not describe");
    else if (after != lines.begin() && after != lines.end())
        builder.help(fmt::format("the nearest lines with code are {} and {}", *std::prev(after), *after));
    else if (!lines.empty())
        builder.help(fmt::format("the nearest line with code is {}", after == lines.end() ? lines.back() : *after));
}

} // namespace sonde
