// Resolves process("P").python("FILE").function("NAME"): functions of Python.
//
// A Python function has no address. Its probe is in the interpreter, at the places that each call, each return or each
// exception passes (languages/python/places.h). The handler compares the function's file and name with the point's
// patterns (sema/python_points.h).
//
// P is a Python program (a script with `#!`), an interpreter, or any program that contains one. The interpreter is in
// the program's own file, or in a library. process("P").python.NEXT, without an argument, is NEXT in that file: the
// interpreter's own functions of C, marks and calls.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <type_traits>

#include <elf.h>
#include <fmt/format.h>

#include "base/glob.h"
#include "base/shared_libraries.h"
#include "base/started_by_script.h"
#include "base/suggest.h"
#include "frontend/probes/kind_process.h"
#include "frontend/variables/sources.h"
#include "languages/python/places.h"
#include "languages/python/program.h"
#include "languages/python/source.h"

namespace sonde {
namespace {

using ast::PointComponent;

// The name of a script with `#!`, if `process(...)` names one; otherwise empty.
std::string script_of(const Resolving& resolving) {
    const PointComponent& target = resolving.components()[0];
    const std::string& path = target.arg == PointComponent::String ? target.text
                              : target.arg == PointComponent::None ? resolving.env.command_path
                                                                   : std::string();
    char head[2] = {};
    std::error_code error;
    if (!path.empty() && std::filesystem::is_regular_file(path, error))
        std::ifstream(path).read(head, sizeof head);
    return head[0] == '#' && head[1] == '!' ? std::filesystem::path(path).filename().string() : "";
}

struct Interpreter {
    ProcessTarget target;
    PythonInterpreter python;
};

// Finds the interpreter in the program's file or in one of its libraries. Fails if there is one that sonde does not
// support.
Result<std::optional<Interpreter>> find_interpreter(const Resolving& resolving, const ProcessTarget& program) {
    Result<std::optional<PythonInterpreter>> own = read_python(program.module->file().elf());
    if (!own)
        return std::move(own).error();
    if (*own)
        return std::optional(Interpreter{program, **std::move(own)});
    const LibrarySearch search = resolving.env.architecture->library_search();
    for (const std::string& path :
         program.pid != 0 ? mapped_libraries(program.pid) : shared_libraries(program.module->path(), search)) {
        if (std::filesystem::path(path).filename().string().find("python") == std::string::npos)
            continue;
        Result<DwarfModule*> module = resolving.env.module(path);
        if (!module)
            continue;
        Result<std::optional<PythonInterpreter>> python = read_python((*module)->file().elf());
        if (!python)
            return std::move(python).error();
        if (!*python)
            continue;
        Interpreter out{program, **std::move(python)};
        out.target.module = *module;
        if (program.pid == 0)
            out.target.program = program.module->path();
        return std::optional(std::move(out));
    }
    return std::optional<Interpreter>();
}

// The interpreter that a version manager's script starts, if `process(...)` names such a script.
Result<std::optional<Interpreter>> find_started(const Resolving& resolving, const ProcessTarget& program) {
    const PointComponent& target = resolving.components()[0];
    const std::string name = target.arg == PointComponent::None ? resolving.env.command_path : target.text;
    const Result<std::string> script = find_file(name);
    const std::string started =
        script ? program_started_by(*script, std::filesystem::path(name).filename().string()) : std::string();
    if (started.empty())
        return std::optional<Interpreter>();
    std::error_code error;
    Result<DwarfModule*> module = resolving.env.module(std::filesystem::canonical(started, error).string());
    if (!module)
        return std::move(module).error();
    ProcessTarget real = program;
    real.module = *module;
    real.text = fmt::format("process({})", quoted((*module)->path()));
    return find_interpreter(resolving, real);
}

// Returns the index of a layout in ProbeEnvironment::python_layouts. Returns nullopt after reporting that there are too
// many.
std::optional<uint32_t> number_of_layout(Resolving& resolving, const sonde_python& layout) {
    std::vector<sonde_python>& all = resolving.env.python_layouts;
    static_assert(std::has_unique_object_representations_v<sonde_python>); // no padding between its members
    const auto known =
        std::ranges::find_if(all, [&](const sonde_python& one) { return std::memcmp(&one, &layout, sizeof one) == 0; });
    const auto number = static_cast<uint32_t>(known - all.begin());
    if (number >= SONDE_PYTHON_MOST) {
        resolving.diags.report(
            DiagId::NoMatch, resolving.at(1)->range,
            fmt::format("the script probes more than {} different interpreters of Python", +SONDE_PYTHON_MOST));
        return std::nullopt;
    }
    if (known == all.end())
        all.push_back(layout);
    return number;
}

constexpr const char* suffixes[] = {"", ".return", ".exception"}; // by PythonPoint::Event

// The entries of the procedure linkage table through which a library calls PyTraceBack_Here().
std::vector<uint64_t> stubs_of(const Interpreter& interpreter) {
    std::vector<uint64_t> out;
    for (const PltEntry& entry : interpreter.target.module->file().plt())
        if (entry.name == "PyTraceBack_Here")
            out.push_back(entry.address);
    return out;
}

// A point for each place. Up to 3.10, a return of the loop is a return of the function.
Result<std::vector<ResolvedPoint>> points_in(const Interpreter& interpreter, const std::string& text,
                                             PythonPoint::Event event) {
    const ElfFile& file = interpreter.target.module->file().elf();
    const Architecture& architecture = interpreter.target.module->file().architecture();
    const PythonInterpreter& python = interpreter.python;
    std::vector<ResolvedPoint> out;
    if (event == PythonPoint::Return && python.handlers.empty() && python.layout.version < 11) {
        FunctionPattern pattern;
        pattern.function = "_PyEval_EvalFrameDefault";
        for (const FunctionInstance& loop : interpreter.target.module->functions(pattern)) {
            Result<std::vector<ResolvedPoint>> points = function_points(interpreter.target, loop, text, "return");
            if (!points)
                return std::move(points).error();
            std::ranges::move(*points, std::back_inserter(out));
        }
        Result<std::vector<PythonPlace>> entry = python_calls(file, architecture, python);
        if (!entry)
            return std::move(entry).error();
        for (ResolvedPoint& point : out)
            point.python = PythonPoint{.place = (*entry)[0], .event = event};
        return out;
    }
    Result<std::vector<PythonPlace>> places = event == PythonPoint::Return ? python_returns(file, architecture, python)
                                              : event == PythonPoint::Exception
                                                  ? python_exceptions(file, architecture, python, stubs_of(interpreter))
                                                  : python_calls(file, architecture, python);
    if (!places)
        return std::move(places).error();
    for (const PythonPlace& place : *places) {
        std::optional<ResolvedPoint> point = point_at(interpreter.target, place.address);
        if (!point)
            return Error(fmt::format("`{}` has no code at {:#x}", file.path(), place.address));
        point->point.pp = text + suffixes[event];
        point->python = PythonPoint{.place = place, .event = event};
        point->sharing.only =
            fmt::format("{} {} {} {} {}", +event, place.opcode, place.frame, place.result, file.path());
        out.push_back(*std::move(point));
    }
    return out;
}

// ---- listings

// How the program of `process(...)` is started.
PythonProgram program_of(const Resolving& resolving, const Interpreter& interpreter) {
    const PointComponent& target = resolving.components()[0];
    const int64_t running = target.arg == PointComponent::Number ? interpreter.target.pid : resolving.env.target_pid;
    PythonProgram out;
    std::error_code error;
    out.folder = std::filesystem::current_path(error).string();
    const char* jit = getenv("PYTHON_JIT");
    out.jit = jit && !resolving.env.command_path.empty() ? jit : "";
    const std::string script = script_of(resolving);
    if (running != 0)
        out.read_process(running);
    else if (target.arg == PointComponent::String && !script.empty() && !is_python_command(script))
        out.command = {target.text};
    else if (!resolving.env.command_words.empty() &&
             (!script.empty() || is_python_command(resolving.env.command_path))) {
        out.command = resolving.env.command_words;
        out.command[0] = resolving.env.command_path;
    }
    out.interpreter = interpreter.target.module->path();
    const std::string& version = interpreter.python.version;
    out.version = version.substr(0, version.find('.', version.find('.') + 1));
    return out;
}

std::string read_source(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// For -l and -L: a line for each function in the sources. A name without a class means methods, too.
std::vector<ResolvedPoint> listed_points(Resolving& resolving, const Interpreter& interpreter,
                                         const std::string& suffix) {
    const PointComponent &file = *resolving.at(1), &function = *resolving.at(2);
    std::vector<ResolvedPoint> out;
    std::vector<std::string> names;
    const std::vector<std::string> files = python_files(program_of(resolving, interpreter), file.text);
    for (const std::string& path : files)
        for (const PythonFunction& one : python_functions(read_source(path))) {
            const std::string last = one.name.substr(one.name.rfind('.') + 1);
            names.push_back(one.name);
            if (!glob_match(function.text, one.name) && !glob_match(function.text, last))
                continue;
            std::string line = fmt::format("{}.python({}).function({}){}", interpreter.target.text, quoted(path),
                                           quoted(one.name), suffix.empty() ? "" : "." + suffix);
            for (size_t i = 0; resolving.env.listing_variables && i < one.parameters.size(); i++)
                line += " $" + one.parameters[i];
            out.emplace_back().listed = std::move(line);
        }
    if (!out.empty())
        return out;
    DiagBuilder report = files.empty()
                             ? resolving.diags.report(DiagId::NoMatch, file.arg_range,
                                                      fmt::format("no source of Python matches `{}`", file.text))
                             : resolving.diags.report(DiagId::NoMatch, function.arg_range,
                                                      fmt::format("no function `{}` in the sources that match `{}`",
                                                                  function.text, file.text));
    if (files.empty())
        report.help(
            "sonde looks in the program's folder, in the interpreter's standard library and in installed packages");
    else if (std::string near = nearest_name(function.text, names); !near.empty())
        report.suggest(near);
    return out;
}

// Returns a function or file of the program whose name is similar to the point's, as a question.
std::string similar_name(const PythonProgram& program, const std::string& file, const std::string& function) {
    std::vector<std::string> names;
    const auto question = [&](const std::string& wanted) {
        const std::string near =
            has_wildcard(wanted) || std::ranges::find(names, wanted) != names.end() ? "" : nearest_name(wanted, names);
        return near.empty() ? "" : fmt::format("did you mean `{}`?", near);
    };
    const std::vector<std::string> files = python_files(program, file);
    const bool is_whole = function.find('.') != std::string::npos;
    for (const std::string& path : files)
        for (const PythonFunction& one : python_functions(read_source(path)))
            names.push_back(is_whole ? one.name : one.name.substr(one.name.rfind('.') + 1));
    if (!files.empty())
        return question(function);
    for (const std::string& path : python_files(program, "*"))
        names.push_back(std::filesystem::path(path).filename().string());
    return question(std::filesystem::path(file).filename().string());
}

// Warns if Python will translate functions of the program to machine code. Calls there do not reach the probe.
void warn_of_jit(Resolving& resolving, const PythonProgram& program) {
    if (program.jit.empty() || program.jit == "0")
        return;
    const Result<std::string> file = read_file(program.interpreter);
    if (!file || file->find("PYTHON_JIT") == std::string::npos) // built without the compiler
        return;
    resolving.diags
        .report(
            DiagId::PythonJit, resolving.at(1)->range,
            fmt::format("the program runs with PYTHON_JIT={}, and sonde does not see calls in functions that Python "
                        "has translated to machine code",
                        program.jit))
        .help("start the program with PYTHON_JIT=0");
}

// Returns the interpreter of a program. Returns nullopt after reporting that it has none, or one that is not supported.
std::optional<Interpreter> interpreter_of(Resolving& resolving, const ProcessTarget& target) {
    const PointComponent& python = *resolving.at(1);
    Result<std::optional<Interpreter>> found = find_interpreter(resolving, target);
    if (found && !*found)
        found = find_started(resolving, target);
    if (!found) {
        resolving.diags.report(DiagId::NoMatch, python.range, found.error().message);
        return std::nullopt;
    }
    if (!*found) {
        resolving.diags
            .report(DiagId::NoMatch, python.range,
                    fmt::format("`{}` contains no interpreter of Python", target.module->path()))
            .help("name a Python program, or an interpreter such as `/usr/bin/python3`");
        return std::nullopt;
    }
    return *std::move(found);
}

// Whether functions of this version can have the point's name. Reports it if not.
bool can_have_name(Resolving& resolving, const PythonInterpreter& python, const PointComponent& function) {
    if (python.layout.code_qualname != 0 || function.text.find('.') == std::string::npos)
        return true;
    resolving.diags.report(
        DiagId::NoMatch, function.range,
        fmt::format("functions of Python {} have no qualified names, such as `{}`", python.version, function.text));
    return false;
}

// The points of all calls, returns or exceptions, with what selects the function. Returns nothing after reporting an
// error.
std::vector<ResolvedPoint> complete_points(Resolving& resolving, const Interpreter& interpreter,
                                           PythonPoint::Event wanted) {
    const PointComponent &file = *resolving.at(1), &function = *resolving.at(2);
    const std::string text =
        fmt::format("{}.python({}).function({})", interpreter.target.text, quoted(file.text), quoted(function.text));
    const std::optional<uint32_t> layout = number_of_layout(resolving, interpreter.python.layout);
    if (!layout)
        return {};
    const std::string script = script_of(resolving);
    const auto find = [&](PythonPoint::Event event) {
        Result<std::vector<ResolvedPoint>> found = points_in(interpreter, text, event);
        if (!found)
            resolving.diags.report(DiagId::NoMatch, function.range, found.error().message);
        std::vector<ResolvedPoint> points = found ? *std::move(found) : std::vector<ResolvedPoint>();
        for (ResolvedPoint& point : points) {
            point.machine = resolving.env.architecture;
            point.variables = &python_source;
            point.python->layout = *layout;
            point.python->file = file.text;
            point.python->function = function.text;
            point.python->script = script;
            point.point.function = function.text;
            point.sharing.only += " " + point.point.pp; // the handler compares names
        }
        return points;
    };
    std::vector<ResolvedPoint> out = find(wanted);
    const PythonProgram program = program_of(resolving, interpreter);
    warn_of_jit(resolving, program);
    resolving.env.similar_names[text + suffixes[wanted]] = [program, file = file.text, function = function.text] {
        return similar_name(program, file, function);
    };
    if (wanted != PythonPoint::Call && !out.empty()) {
        const auto calls = std::make_shared<const std::vector<ResolvedPoint>>(find(PythonPoint::Call));
        for (ResolvedPoint& point : out)
            point.python->calls = calls;
    }
    return out;
}

// Resolves `.python.NEXT`.
std::vector<ResolvedPoint> points_of_c(Resolving& resolving) {
    static const std::vector<std::string> allowed = {"function", "statement", "mark", "provider", "plt"};
    const PointComponent* next = resolving.at(2);
    if (!next || std::ranges::find(allowed, next->name) == allowed.end()) {
        report_component(resolving, 2, allowed);
        return {};
    }
    std::vector<ResolvedPoint> out;
    for (const ProcessTarget& target : open_process_targets(resolving, 1)) {
        const std::optional<Interpreter> interpreter = interpreter_of(resolving, target);
        if (!interpreter)
            continue;
        const std::optional<uint32_t> layout = number_of_layout(resolving, interpreter->python.layout);
        if (!layout)
            return {};
        // The same point with the file's path: process("P").NEXT, or process("P").library("FILE").NEXT.
        ast::ProbePoint written = resolving.point;
        const auto name_file = [](PointComponent& component, const std::string& path) {
            component.arg = PointComponent::String;
            component.text = path;
        };
        const std::string &path = interpreter->target.module->path(), &program = interpreter->target.program;
        const bool is_process = interpreter->target.pid != 0;
        if (!is_process)
            name_file(written.components[0], program.empty() ? path : program);
        if (is_process ? interpreter->target.module == target.module : program.empty()) {
            written.components.erase(written.components.begin() + 1);
        } else {
            written.components[1].name = "library";
            name_file(written.components[1], path);
        }
        Resolving inner{written, resolving.env, resolving.diags};
        for (ResolvedPoint& point : resolve_process(inner)) {
            if (!point.variables)
                point.variables = &program_source;
            point.interpreter = layout;
            point.sharing.only += fmt::format(" {}", *layout);
            out.push_back(std::move(point));
        }
    }
    return out;
}

} // namespace

std::vector<ResolvedPoint> resolve_python(Resolving& resolving) {
    const PointComponent& file = *resolving.at(1);
    if (file.arg == PointComponent::None)
        return points_of_c(resolving);
    if (!expect_argument(resolving, file, PointComponent::String))
        return {};
    const PointComponent* function = resolving.at(2);
    if (function && (function->name == "line" || function->name == "statement")) {
        // Each instruction of Python has its own place in the interpreter. So a probe of a line would be a probe of all
        // instructions.
        resolving.diags
            .report(DiagId::Unsupported, function->range,
                    "the interpreter of Python has no place that each line passes, so sonde cannot probe lines")
            .help("probe the function around the line, `.function(\"NAME\")`, its `.return` or its `.exception`. "
                  "`pyline()` is the current line, in these probes and in timers");
        return {};
    }
    if (!function || function->name != "function") {
        report_component(resolving, 2, {"function"});
        return {};
    }
    if (!expect_argument(resolving, *function, PointComponent::String))
        return {};
    const PointComponent* suffix = resolving.at(3);
    if (suffix && suffix->name != "call" && suffix->name != "return" && suffix->name != "exception") {
        report_component(resolving, 3, {"call", "return", "exception"});
        return {};
    }
    if (suffix && (!expect_argument(resolving, *suffix, PointComponent::None) || !expect_end(resolving, 4)))
        return {};
    std::vector<ResolvedPoint> points;
    for (const ProcessTarget& target : open_process_targets(resolving, 1)) {
        const std::optional<Interpreter> interpreter = interpreter_of(resolving, target);
        if (!interpreter || !can_have_name(resolving, interpreter->python, *function))
            continue;
        const std::string name = suffix ? suffix->name : "";
        const PythonPoint::Event event = name == "return"      ? PythonPoint::Return
                                         : name == "exception" ? PythonPoint::Exception
                                                               : PythonPoint::Call;
        std::ranges::move(resolving.env.listing ? listed_points(resolving, *interpreter, name)
                                                : complete_points(resolving, *interpreter, event),
                          std::back_inserter(points));
    }
    return points;
}

} // namespace sonde
