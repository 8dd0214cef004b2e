// A user who looks at a line in an editor knows the file and the line, but not always the program. So the programs that
// run are searched: their debug information names the source files.
#include "driver/log_place.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/debug/source_names.h"
#include "base/fd.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/shared_libraries.h"
#include "driver/running_programs.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/dwarf/function_pattern.h"
#include "frontend/machine/location.h"
#include "frontend/probes/kinds.h"
#include "languages/python/program.h"
#include "languages/python/source.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

namespace fs = std::filesystem;

struct Place {
    std::string file, function; // empty: not given
    int line = 0;

    bool is_python() const { return file.ends_with(".py"); }
    std::string pattern() const { return file.empty() ? function : fmt::format("{}@{}", function, file); }
};

// Splits at the last single colon, because names of C++ and Rust contain `::`.
Place parse(const std::string& written) {
    size_t colon = written.rfind(':');
    while (colon != std::string::npos && colon > 0 && written[colon - 1] == ':')
        colon = colon >= 2 ? written.rfind(':', colon - 2) : std::string::npos;
    Place out;
    out.file = colon == std::string::npos ? "" : written.substr(0, colon);
    out.function = colon == std::string::npos ? written : written.substr(colon + 1);
    if (out.function.find_first_not_of("0123456789") == std::string::npos && out.function.size() < 9) {
        out.line = std::atoi(out.function.c_str());
        out.function.clear();
    }
    return out;
}

// The file with the place; null: it does not have it, or cannot be read.
std::unique_ptr<DwarfModule> module_with(const std::string& path, const Place& place) {
    Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(path);
    if (!module)
        return nullptr;
    if (place.line)
        return (*module)->statement_lines(place.file).empty() ? nullptr : *std::move(module);
    Result<FunctionPattern> pattern = FunctionPattern::parse(place.pattern());
    return !pattern || (*module)->functions(*pattern).empty() ? nullptr : *std::move(module);
}

// The files that the user means: the named one, or the target's program, and their libraries.
std::vector<std::string> files_of(const PointTarget& target) {
    std::string program = target.program;
    std::error_code error;
    if (program.empty() && target.pid != 0)
        program =
            path_in_process(target.pid, fs::read_symlink(fmt::format("/proc/{}/exe", target.pid), error).string());
    if (program.empty() && !target.command.empty())
        if (Result<std::string> found = find_in_path(target.command.substr(0, target.command.find(' '))))
            program = *found;
    if (program.empty())
        return {};
    std::vector<std::string> out = target.pid != 0 ? mapped_libraries(target.pid)
                                                   : shared_libraries(program, target.architecture->library_search());
    out.insert(out.begin(), fs::absolute(program, error).string());
    return out;
}

std::string describe(const RunningProgram& one) {
    return fmt::format("{} (process {}{})", one.program, one.processes[0],
                       one.processes.size() > 1 ? fmt::format(" and {} more", one.processes.size() - 1) : "");
}

// Chooses among running programs. `what`: what they have, in messages.
Result<const RunningProgram*> choose(const std::vector<RunningProgram>& found, const std::string& what) {
    if (found.empty())
        return Error(
            fmt::format("no running program has {}; name the program or library, or use -p PID or -c COMMAND", what));
    if (found.size() == 1)
        return found.data();
    std::string list;
    for (const RunningProgram& one : found)
        list += fmt::format("\n  {}", describe(one));
    return Error(fmt::format("several running programs have {}; name one of them:{}", what, list));
}

// Uses the next line with code, as debuggers do.
Result<int> line_with_code(DwarfModule& module, const Place& place) {
    const std::vector<int> lines = module.statement_lines(place.file);
    const auto next = std::ranges::lower_bound(lines, place.line);
    if (next == lines.end())
        return Error(fmt::format("`{}` has no code at line {} or after it; its last line with code is {}", place.file,
                                 place.line, lines.back()));
    if (*next != place.line)
        warn(fmt::format("line {} of `{}` has no code; sonde uses line {}", place.line, place.file, *next));
    return *next;
}

// Warns if the source was changed after the program was built: its lines may be others than those of the program.
void compare_times(DwarfModule& module, const Place& place) {
    std::error_code error;
    for (const std::string& source : module.source_files()) {
        const auto changed = fs::last_write_time(source, error);
        if (!file_matches(place.file, source) || error || changed <= fs::last_write_time(module.path(), error) || error)
            continue;
        warn(fmt::format("`{}` was changed after `{}` was built, so its lines may be others", source, module.path()));
        return;
    }
}

// Adds names that a script can write. Compilers also make variables with other names, such as `.autotmp_1` of Go.
void add_names(FoundPlace& out, const std::vector<Variable>& variables) {
    for (const Variable& one : variables) {
        std::vector<std::string>& names = one.is_parameter ? out.parameters : out.locals;
        const bool is_word = std::ranges::all_of(one.name, [](unsigned char c) { return isalnum(c) || c == '_'; });
        if (!one.name.empty() && is_word && std::ranges::find(names, one.name) == names.end())
            names.push_back(one.name);
    }
}

// Chooses the variables that `{*}` logs: those that have a value at each address of the line. A variable that is
// declared at the line or after it has no value yet, although its block has begun.
class LoggedVariables {
  public:
    void add(DwarfModule& module, const Statement& at) {
        for (const Variable& one : module.variables_in(at.function, at.address)) {
            if (one.is_result || (!one.is_parameter && one.line >= at.line))
                continue;
            const Location place = module.locate(one, at.address);
            if (place.kind == Location::Unavailable && !place.pointee)
                missing_.insert(one.name);
            if (std::ranges::find(all_, one.name, &Variable::name) == all_.end())
                all_.push_back(one);
        }
    }
    // Parameters come first, then locals as they are declared.
    void give_to(FoundPlace& out) {
        std::ranges::stable_sort(all_, {}, [](const Variable& one) { return one.is_parameter ? 0 : one.line; });
        FoundPlace names;
        for (const Variable& one : all_)
            add_names(names, {one});
        names.parameters.insert(names.parameters.end(), names.locals.begin(), names.locals.end());
        for (const std::string& name : names.parameters)
            (missing_.contains(name) ? out.omitted : out.logged).push_back(name);
    }

  private:
    std::vector<Variable> all_;
    std::set<std::string> missing_;
};

// The points of a line, each of which is hit once when the line is executed. A compiler can divide the code of a line,
// for example around a call. Then the part with the lowest address counts, as in debuggers.
Result<FoundPlace> statements_at(DwarfModule& module, const std::string& written) {
    Result<FunctionPattern> pattern = FunctionPattern::parse(written);
    if (!pattern)
        return std::move(pattern).error();
    FoundPlace out;
    std::map<std::pair<DieOffset, Address>, Address> first; // by function or inlined copy
    const std::vector<Statement> all = module.statements(*pattern);
    LoggedVariables logged;
    for (const Statement& one : all) {
        auto [known, is_new] = first.try_emplace({one.function.die, one.function.low}, one.address);
        known->second = std::min(known->second, one.address);
        out.name = fmt::format("{}:{}", one.file, one.line);
        add_names(out, module.variables_in(one.function, one.address));
    }
    for (const Statement& one : all)
        if (first[{one.function.die, one.function.low}] == one.address)
            logged.add(module, one);
    logged.give_to(out);
    if (first.size() == all.size()) {
        out.point = fmt::format("process({}).statement({})", quoted(module.path()), quoted(written));
        return out;
    }
    for (const auto& [function, address] : first)
        out.point += fmt::format("{}process({}).statement({:#x})", out.point.empty() ? "" : ", ", quoted(module.path()),
                                 address);
    return out;
}

Result<FoundPlace> place_in(DwarfModule& module, const Place& place) {
    if (!place.file.empty())
        compare_times(module, place);
    if (!place.line) {
        FoundPlace out;
        out.point = fmt::format("process({}).function({})", quoted(module.path()), quoted(place.pattern()));
        out.name = place.function;
        if (Result<FunctionPattern> pattern = FunctionPattern::parse(place.pattern()))
            for (const FunctionInstance& function : module.functions(*pattern))
                add_names(out, module.parameters(function));
        out.logged = out.parameters;
        return out;
    }
    Result<int> line = line_with_code(module, place);
    if (!line)
        return std::move(line).error();
    return statements_at(module, fmt::format("*@{}:{}", place.file, *line));
}

// A function of Python: `shop.py:Order.price`.
Result<std::string> point_of_python(const Place& place, const PointTarget& target) {
    if (place.line) {
        std::string name = "FUNCTION";
        if (Result<std::string> source = read_file(place.file))
            for (const PythonFunction& one : python_functions(*source))
                name = one.line <= place.line ? one.name : name;
        return Error(fmt::format("sonde cannot log at a line of Python, only where a function begins or returns: "
                                 "`{}:{}`",
                                 place.file, name));
    }
    std::string process = target.program.empty() ? "process" : fmt::format("process({})", quoted(target.program));
    if (target.program.empty() && target.command.empty() && target.pid == 0) {
        const std::vector<RunningProgram> running = running_scripts(place.file);
        Result<const RunningProgram*> chosen = choose(running, fmt::format("`{}` as its script", place.file));
        if (!chosen)
            return std::move(chosen).error();
        process = fmt::format("process({})", (*chosen)->processes[0]);
    }
    return fmt::format("{}.python({}).function({})", process, quoted(place.file), quoted(place.function));
}

} // namespace

Result<FoundPlace> find_place(const std::string& written, const PointTarget& target) {
    const Place place = parse(written);
    if (written.find_first_of("\"\\") != std::string::npos || (place.line == 0 && place.function.empty()) ||
        (place.line && place.file.empty()))
        return Error(fmt::format("`{}` is neither FILE:LINE nor the name of a function", written));
    if (place.is_python()) {
        Result<std::string> point = point_of_python(place, target);
        if (!point)
            return std::move(point).error();
        FoundPlace out;
        out.point = *std::move(point);
        out.name = written;
        out.is_python = true;
        return out;
    }
    const std::string what =
        place.line ? fmt::format("debug information about `{}`", place.file) : fmt::format("a function `{}`", written);
    const std::vector<std::string> files = files_of(target);
    if (files.empty() && target.pid != 0)
        return Error(fmt::format("process {} has ended, or its program is hidden from this user", target.pid));
    if (files.empty() && !target.command.empty())
        return Error(fmt::format("`{}` runs no program that sonde finds; name the program", target.command));
    for (const std::string& path : files)
        if (const std::unique_ptr<DwarfModule> module = module_with(path, place))
            return place_in(*module, place);
    if (!files.empty()) {
        const bool runs_python = is_python_command(files[0]) || is_script(files[0]);
        return Error(fmt::format("neither `{}` nor its libraries have {}{}", files[0], what,
                                 runs_python ? "; a function of Python is FILE.py:FUNCTION" : ""));
    }
    std::vector<RunningProgram> found = running_programs();
    const std::string name = place.file.substr(place.file.rfind('/') + 1);
    const bool is_searched = !name.empty() && !has_wildcard(name);
    std::erase_if(found, [&](const RunningProgram& one) {
        return (is_searched && !may_name_source(one.program, name)) || !module_with(one.program, place);
    });
    Result<const RunningProgram*> chosen = choose(found, what);
    if (!chosen)
        return std::move(chosen).error();
    fmt::print(stderr, "sonde: `{}` is in {}\n", written, describe(**chosen));
    const std::unique_ptr<DwarfModule> module = module_with((*chosen)->program, place);
    return module ? place_in(*module, place) : Result<FoundPlace>(Error("the program has changed"));
}

} // namespace sonde
