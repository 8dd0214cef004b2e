// A path in debug information is the one that the compiler saw. A program can be built in a container or on another
// machine, so the file in the user's editor can have another path. Then programs with a file of the same name are
// found, and among them those whose paths end alike. Whoever uses such a place must ask the user first.
#include "driver/running_programs.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/debug/source_names.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/processes.h"
#include "base/shared_libraries.h"
#include "frontend/dwarf/dwarf_module.h"
#include "languages/python/program.h"
#include "languages/python/source.h"

namespace sonde {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view deleted = " (deleted)"; // as /proc writes it

void add(std::vector<RunningProgram>& out, const std::string& program, int64_t process) {
    auto known = std::ranges::find(out, program, &RunningProgram::program);
    if (known == out.end())
        known = out.insert(known, {program, {}});
    known->processes.push_back(process);
}

std::vector<int64_t> newest_first() {
    std::vector<int64_t> out = all_processes();
    std::ranges::sort(out, std::greater());
    std::erase(out, getpid());
    return out;
}

// How alike two paths are: the number of equal names at their ends.
size_t count_equal_names(std::string_view a, std::string_view b) {
    size_t out = 0, length = 0;
    while (length < a.size() && length < b.size() && a[a.size() - 1 - length] == b[b.size() - 1 - length]) {
        out += a[a.size() - 1 - length] == '/';
        length++;
    }
    if (length == std::min(a.size(), b.size()) && a.size() != b.size())
        out += a.size() > b.size() ? a[a.size() - 1 - length] == '/' : b[b.size() - 1 - length] == '/';
    return out;
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Collects the places, and keeps the best ones.
class Search {
  public:
    Search(const std::string& path, int line) : path_(path), line_(line) {}

    void look_at(const std::string& program, const std::vector<int64_t>& processes) {
        if (!may_name_source(program, name_of(path_)))
            return;
        Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(program);
        if (!module || !(*module)->has_debug_info())
            return;
        for (const std::string& source : (*module)->source_files())
            if (name_of(source) == name_of(path_))
                look_at(**module, source, processes);
    }

    bool has_found() const { return !out_.places.empty() || last_line_; }

    RunningPlaces take() {
        if (out_.places.empty() && last_line_)
            out_.why_none = fmt::format("`{}` has no code at line {} or after it; its last line with code is {}", path_,
                                        line_, last_line_);
        return std::move(out_);
    }

  private:
    void look_at(DwarfModule& module, const std::string& source, const std::vector<int64_t>& processes) {
        std::error_code error;
        const bool is_same = source == path_ || fs::equivalent(source, path_, error);
        const size_t alike = is_same ? SIZE_MAX : count_equal_names(source, path_);
        if (alike < best_)
            return;
        const std::vector<int> lines = module.statement_lines(source);
        if (lines.empty())
            return; // it is a header of which nothing is used
        if (alike > best_)
            out_.places.clear(), last_line_ = 0;
        best_ = alike;
        const auto next = std::ranges::lower_bound(lines, line_);
        if (next == lines.end())
            last_line_ = std::max(last_line_, lines.back());
        else
            out_.places.push_back({module.path(), processes, source, *next, is_same});
    }

    const std::string& path_;
    const int line_;
    size_t best_ = 1; // of count_equal_names(): at least the file's name
    int last_line_ = 0;
    RunningPlaces out_;
};

std::string build_of(const std::string& file) {
    const Result<ElfFile> opened = ElfFile::open_any_machine(file);
    const std::string id = opened ? opened->build_id() : "";
    return id.empty() ? "unknown" : id.substr(0, 12);
}

// Describes a process whose program was replaced, if the old or the new program was built from the file. Returns "" if
// no process is such a one.
std::string describe_replaced(const std::string& path) {
    for (const RunningProgram& one : replaced_programs()) {
        Search search(path, 1);
        const std::string old = fmt::format("/proc/{}/exe", one.processes[0]);
        for (const std::string& file : {one.program, old})
            if (!search.has_found())
                search.look_at(file, one.processes);
        if (!search.has_found())
            continue;
        return fmt::format("process {} runs an old build of `{}`, whose file was replaced after the process began "
                           "(build ID {}, now {}); restart it",
                           one.processes[0], one.program, build_of(old), build_of(one.program));
    }
    return "";
}

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(" \t"), line.size()); }

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> out;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        out.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return out;
}

// Whether a line is in the body of a function that begins at another line. Both are counted from 1.
bool is_in_body(const std::vector<std::string_view>& lines, size_t begin, size_t line) {
    const size_t indent = indent_of(lines[begin - 1]);
    for (size_t i = begin; i < line; i++) {
        const size_t own = indent_of(lines[i]);
        const bool is_blank = own == lines[i].size() || lines[i][own] == '\r' || lines[i][own] == '#';
        const bool closes = !is_blank && std::string_view(")]}").find(lines[i][own]) != std::string_view::npos;
        if (!is_blank && !closes && own <= indent)
            return false;
    }
    return true;
}

} // namespace

std::vector<RunningProgram> running_programs() {
    std::vector<RunningProgram> out;
    for (const int64_t process : newest_first()) {
        std::error_code error;
        const std::string link = fmt::format("/proc/{}/exe", process);
        const std::string program = fs::read_symlink(link, error).string();
        if (!error && fs::equivalent(program, link, error))
            add(out, program, process);
    }
    return out;
}

std::vector<RunningProgram> replaced_programs() {
    std::vector<RunningProgram> out;
    for (const int64_t process : newest_first())
        if (const std::string program = process_program(process); program.ends_with(deleted))
            add(out, program.substr(0, program.size() - deleted.size()), process);
    return out;
}

std::vector<RunningProgram> running_scripts(const std::string& file) {
    std::vector<RunningProgram> out;
    for (const RunningProgram& one : running_programs())
        for (const int64_t process : one.processes) {
            const Result<std::string> words = read_file(fmt::format("/proc/{}/cmdline", process));
            const size_t end = words ? words->find('\0') : std::string::npos;
            if (end != std::string::npos && is_python_file(file, words->c_str() + end + 1))
                out.push_back({one.program, {process}});
        }
    return out;
}

RunningPlaces find_running_places(const std::string& path, int line) {
    Search search(path, line);
    const std::vector<RunningProgram> programs = running_programs();
    for (const RunningProgram& one : programs)
        search.look_at(one.program, one.processes);
    if (!search.has_found()) {
        std::vector<RunningProgram> libraries;
        for (const RunningProgram& one : programs)
            for (const int64_t process : one.processes)
                for (const std::string& library : mapped_libraries(process))
                    add(libraries, library, process);
        for (const RunningProgram& one : libraries)
            search.look_at(one.program, one.processes);
    }
    RunningPlaces out = search.take();
    if (out.places.empty() && out.why_none.empty())
        out.why_none = describe_replaced(path);
    if (out.places.empty() && out.why_none.empty())
        out.why_none = fmt::format("no running program has debug information about `{}`; start the program, and build "
                                   "it with debug information (-g)",
                                   path);
    return out;
}

Result<RunningPlaces> find_places_in(const std::string& program, const std::string& path, int line) {
    Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(program);
    if (!module)
        return std::move(module).error();
    std::vector<int64_t> processes;
    std::error_code error;
    for (const RunningProgram& one : running_programs())
        if (fs::equivalent(one.program, program, error))
            processes.insert(processes.end(), one.processes.begin(), one.processes.end());
    Search search(path, line);
    search.look_at(program, processes);
    RunningPlaces out = search.take();
    if (out.places.empty() && out.why_none.empty())
        out.why_none =
            (*module)->has_debug_info()
                ? fmt::format("`{}` has no debug information about `{}`", program, path)
                : fmt::format("`{}` has no debug information; build it with debug information (-g)", program);
    return out;
}

Result<PythonLogPlace> find_python_place(const std::string& path, int line) {
    Result<std::string> source = read_file(path);
    if (!source)
        return std::move(source).error();
    const std::vector<std::string_view> lines = lines_of(*source);
    std::vector<PythonFunction> functions = python_functions(*source);
    std::ranges::reverse(functions);
    for (const PythonFunction& one : functions)
        if (one.line <= line && static_cast<size_t>(line) <= lines.size() &&
            is_in_body(lines, static_cast<size_t>(one.line), static_cast<size_t>(line)))
            return PythonLogPlace{one.name, one.line};
    return Error(
        fmt::format("line {} of `{}` is in no function; sonde logs Python only where a function begins", line, path));
}

RunningPlaces find_running_python(const std::string& path) {
    RunningPlaces out;
    for (const bool is_script : {true, false}) {
        const std::vector<RunningProgram> programs = is_script ? running_scripts(path) : running_programs();
        for (const RunningProgram& one : programs)
            for (const int64_t process : one.processes)
                if (is_script || is_python_command(one.program))
                    out.places.push_back({one.program, {process}, path, 0, is_script});
        if (!out.places.empty())
            return out;
    }
    out.why_none = "no process of Python is running";
    return out;
}

} // namespace sonde
