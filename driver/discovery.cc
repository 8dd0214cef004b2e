// A search must answer quickly, so it does not resolve points to addresses: that takes several seconds for
// the whole library. Names come from the kernel's types, the library's index, and symbol tables. An alias counts as
// available if the kernel has one of its functions or tracepoints. That test is cheap but not exact: an alias can still
// fail to resolve, for example because a function was inlined everywhere.
#include "driver/discovery.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "base/glob.h"
#include "base/processes.h"
#include "base/shared_libraries.h"
#include "base/suggest.h"
#include "driver/pass.h"
#include "driver/reference.h"
#include "driver/tool_head.h"
#include "driver/tool_point.h"
#include "frontend/parse/parser.h"
#include "frontend/probes/kinds.h"
#include "frontend/probes/probe.h"
#include "frontend/sema/sema.h"
#include "runtime/text/messages.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

constexpr size_t most_shown = 8; // lines of each kind in a search

// ---- the library's aliases that mean something on this kernel

class Aliases {
  public:
    explicit Aliases(Translation& t) {
        if (Result<KernelTypes*> kernel = t.env.kernel()) {
            for (std::string& name : (*kernel)->function_names(""))
                functions_.insert(std::move(name));
            for (std::string& name : (*kernel)->tracepoint_names())
                tracepoints_.insert(std::move(name));
            for (std::string& name : (*kernel)->modules())
                modules_.insert(std::move(name));
        }
        for (const ast::File* file : t.library->files())
            for (const ast::Alias* alias : file->aliases)
                for (const ast::ProbePoint* name : alias->names)
                    targets_[title_of(*name)].insert(targets_[title_of(*name)].end(), alias->points.begin(),
                                                     alias->points.end());
    }

    std::vector<std::string> names() {
        std::vector<std::string> out;
        for (const auto& [name, targets] : targets_)
            if (!name.starts_with("__") && name.find('*') == std::string::npos && exists(name, 0))
                out.push_back(name);
        return out;
    }

  private:
    // The point without `?`, `!` and its condition, so that a use and its definition have the same text.
    static std::string title_of(const ast::ProbePoint& point) {
        ast::ProbePoint plain = point;
        plain.optional = plain.sufficient = false;
        plain.condition = nullptr;
        return ast::to_source(plain);
    }
    // An alias can stand for other aliases, and these again. The search ends at a point of the kernel or of a module.
    // It also ends after 8 aliases, so that a loop of aliases cannot hang it.
    bool exists(const std::string& name, int depth) {
        const auto found = targets_.find(name);
        constexpr int deepest = 8;
        if (found == targets_.end() || depth > deepest)
            return true; // a built-in kind, or an alias with a suffix: do not hide it
        return std::ranges::any_of(found->second,
                                   [&](const ast::ProbePoint* point) { return target_exists(*point, depth + 1); });
    }
    bool target_exists(const ast::ProbePoint& point, int depth) {
        const auto& components = point.components;
        const std::string& first = components[0].name;
        if (components.size() > 1 && (first == "kernel" || first == "module")) {
            const ast::PointComponent& second = components[1];
            if (first == "module")
                return has_wildcard(components[0].text) || modules_.contains(components[0].text);
            const std::string name = second.text.substr(0, second.text.find('@'));
            if (has_wildcard(name))
                return true;
            if (second.name == "function")
                return functions_.contains(name);
            if (second.name == "trace" || second.name == "tracepoint")
                return tracepoints_.contains(name.substr(name.find(':') == std::string::npos ? 0 : name.find(':') + 1));
            return true;
        }
        return exists(title_of(point), depth);
    }
    std::set<std::string> functions_, tracepoints_, modules_;
    std::map<std::string, std::vector<const ast::ProbePoint*>> targets_;
};

// ---- points of a pattern, without a report

std::vector<std::string> points_of(Translation& t, const std::string& pattern) {
    Diagnostics::Suppress quiet(t.diags);
    const FileId file = t.sources.add("<search>", pattern);
    std::vector<ast::ProbePoint*> points = parse_probe_points(file, t.sources, t.parse_options, t.arena, t.diags);
    return list_points(points, false, t.files, *t.library, t.env, t.arena, t.diags);
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (char c : text)
        out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return out + "\"";
}

bool is_word(std::string_view text) {
    return !text.empty() && !isdigit(static_cast<unsigned char>(text[0])) &&
           std::ranges::all_of(text, [](unsigned char c) { return isalnum(c) || c == '_'; });
}

// ---- families

void print_family(const std::string& pattern, const std::string& what) { fmt::print("{:<44} {}\n", pattern, what); }

std::string counted(size_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

struct Family {
    std::string pattern, what;
};

// Families of points outside of the kernel and the library.
std::vector<Family> families_of_kinds(const Translation& t) {
    const std::string program = t.env.command_path.empty() ? t.env.target_pid ? "process" : "process(\"PATH\")"
                                                           : fmt::format("process({})", in_quotes(t.env.command_path));
    const char* needs = t.env.command_path.empty() && !t.env.target_pid
                            ? "; PATH is a program or a library, and -c or -x names one, too"
                            : "";
    return {
        {program + ".function(\"*\")", fmt::format("functions of a program{}", needs)},
        {program + ".library(\"*\").function(\"*\")", "functions of its libraries"},
        {program + ".statement(\"*@FILE:*\")", "lines of a source file"},
        {program + ".mark(\"*\")", "static marks of a program"},
        {program + ".plt(\"*\")", "calls to functions of libraries"},
        {program + ".data(\"*\").write", "writes to its variables; four at a time can be watched"},
        {program + ".**", "all of these, and when it begins and ends"},
        {"timer.s(1)", "every second; `ms`, `us`, `hz` likewise"},
        {"timer.profile", "on every processor, a hundred times a second"},
        {"perf.sw.*", "events that the kernel counts: page faults, context switches"},
        {"perf.hw.*", "events that the processor counts, if it has counters"},
        {"procfs(\"NAME\").read", "when somebody reads the script's own file"},
    };
}

void print_kernel_families(Translation& t, bool with_modules) {
    Result<KernelTypes*> kernel = t.env.kernel();
    if (!kernel) {
        fmt::print("# the kernel's functions and tracepoints are not known: {}\n", kernel.error().message);
        return;
    }
    const std::vector<std::string> functions = (*kernel)->function_names("");
    const size_t hooks = static_cast<size_t>(
        std::ranges::count_if(functions, [](const std::string& name) { return name.starts_with("bpf_lsm_"); }));
    const size_t iterators = static_cast<size_t>(
        std::ranges::count_if(functions, [](const std::string& name) { return name.starts_with("bpf_iter_"); }));
    print_family("kernel.function(\"*\")", counted(functions.size(), "function of the kernel",
                                                   "functions of the kernel; `.return` is where they return"));
    print_family("kernel.trace(\"*\")", counted((*kernel)->tracepoint_names().size(), "tracepoint", "tracepoints"));
    if (hooks)
        print_family("kernel.lsm(\"*\")", counted(hooks, "security hook", "security hooks"));
    if (iterators)
        print_family("kernel.iter(\"*\")", "each object of one kind in the kernel");
    if (with_modules) {
        const std::vector<std::string> modules = (*kernel)->modules();
        if (!modules.empty())
            print_family("module(\"*\").function(\"*\")",
                         fmt::format("functions of {}", counted(modules.size(), "module", "modules")));
    }
}

int list_families(Translation& t, bool only_kernel) {
    if (only_kernel)
        return print_kernel_families(t, false), 0;
    for (const std::string& point : points_of(t, "*"))
        fmt::print("{}\n", point);
    print_kernel_families(t, true);
    for (const Family& family : families_of_kinds(t))
        print_family(family.pattern, family.what);
    // The points of the library, by their first word.
    std::map<std::string, size_t> families;
    for (const std::string& name : Aliases(t).names())
        if (const size_t dot = name.find('.'); dot != std::string::npos)
            families[name.substr(0, dot)]++;
    for (const auto& [name, count] : families)
        print_family(name + ".**", counted(count, "point of the library", "points of the library"));
    fmt::print("# `sonde -l 'PATTERN'` lists a line's points, `sonde -L` their variables, `sonde -l WORD` searches all "
               "of them, `sonde tools` lists the tools\n");
    return 0;
}

// ---- a word

class Search {
  public:
    // `pattern` is the user's text if it is more than a word; otherwise empty.
    Search(Translation& t, const Options& options, std::string word, std::string pattern)
        : t_(t), options_(options), word_(std::move(word)), pattern_(std::move(pattern)) {}

    int run() {
        print_language();
        print_tools();
        print_families();
        if (!pattern_.empty())
            print_points("points by this pattern", pattern_);
        print_aliases();
        print_points("system calls", fmt::format("syscall.*{}*", word_));
        print_tracepoints();
        print_programs();
        print_installed();
        print_kernel_functions();
        print_library_functions();
        // Find a system call by the name of its tracepoint or of its function.
        for (std::string_view prefix : {std::string_view("sys_enter_"), std::string_view("sys_exit_"),
                                        t_.env.architecture->system_calls().function_prefix, std::string_view("sys_")})
            if (!any_ && word_.starts_with(prefix) && is_syscall(word_.substr(prefix.size()), *t_.env.architecture)) {
                word_.erase(0, prefix.size());
                print_points("system calls", fmt::format("syscall.{}", word_));
            }
        if (!any_)
            return fail();
        if (!best_.empty()) {
            fmt::print("\n# to see its variables, and its hits:\nsonde -L '{0}'\nsonde {1}-e 'probe {0} {{ "
                       "println(execname(), \" \", pp()) }}'\n",
                       best_, target_words());
        }
        return 0;
    }

  private:
    bool matches(std::string_view text) const {
        const auto same = [](unsigned char a, unsigned char b) { return tolower(a) == tolower(b); };
        return std::search(text.begin(), text.end(), word_.begin(), word_.end(), same) != text.end();
    }
    // Sort the exact word first, then names that begin with the word, then all others.
    int rank(const std::string& name) const { return name == word_ ? 0 : name.starts_with(word_) ? 1 : 2; }

    std::string target_words() const {
        if (!options_.session.command.empty())
            return fmt::format("-c '{}' ", options_.session.command);
        return options_.session.target_pid ? fmt::format("-x {} ", options_.session.target_pid) : "";
    }

    struct Named {
        std::string name, line;
    };
    // Prints the matches of one kind, the best ones first. `rest` is the command that lists all of them. If
    // `are_points`, the best match can become the example at the end of the search.
    void print_kind(const std::string& title, std::vector<Named> found, const std::string& rest, bool are_points) {
        if (found.empty())
            return;
        std::ranges::stable_sort(found, {}, [&](const Named& one) { return std::pair(rank(one.name), one.name); });
        fmt::print("{}# {}, {}:\n", any_ ? "\n" : "", title, found.size());
        for (size_t i = 0; i < std::min(found.size(), most_shown); i++)
            fmt::print("{}\n", found[i].line);
        if (found.size() > most_shown)
            fmt::print("# and {} more: {}\n", found.size() - most_shown, rest);
        any_ = true;
        // The example at the end shows the best match of all kinds.
        if (are_points && (best_.empty() || rank(found[0].name) < best_rank_)) {
            best_ = found[0].line;
            best_rank_ = rank(found[0].name);
        }
    }

    void print_language() {
        std::vector<Named> found;
        for (std::string& line : find_in_reference(reference_text(), word_))
            found.push_back({word_, std::move(line)});
        print_kind("the language", std::move(found), "docs/reference.md", false);
    }
    void print_tools() {
        std::vector<Named> found;
        for (const ToolFile& tool : tool_files()) {
            const std::string title = read_tool_head(tool.text).title;
            if (matches(tool.name) || matches(title))
                found.push_back({std::string(tool.name), fmt::format("sonde {:<14} # {}", tool.name, title)});
        }
        print_kind("tools", std::move(found), fmt::format("sonde tools {}", word_), false);
    }
    // Searches the patterns of the families and their descriptions.
    void print_families() {
        std::vector<Named> found;
        for (const Family& family : families_of_kinds(t_))
            if (family.pattern.starts_with(word_) || matches(family.what))
                found.push_back({family.pattern, fmt::format("{:<44} {}", family.pattern, family.what)});
        print_kind("families of points", std::move(found), "sonde -l '*'", false);
    }
    void print_aliases() {
        std::vector<Named> found;
        for (const std::string& name : Aliases(t_).names())
            if (matches(name) && !name.starts_with("syscall.") && !name.starts_with("nd_syscall."))
                found.push_back({name, name});
        const bool family =
            std::ranges::any_of(found, [&](const Named& one) { return one.name.starts_with(word_ + "."); });
        print_kind("points of the library", std::move(found),
                   family ? fmt::format("sonde -l '{}.**'", word_)
                          : fmt::format("sonde --dump-probe-aliases | grep {}", word_),
                   true);
    }
    // The order of the lines depends on the name alone: `sched_switch` in `kernel.trace("sched:sched_switch")`, `f` in
    // `process("a").function("f@a.c:3")`, and the last word of a point without a string.
    void print_points(const std::string& title, const std::string& pattern) {
        std::vector<Named> found;
        for (const std::string& line : points_of(t_, pattern)) {
            const size_t quote = line.rfind('"', line.size() - std::min<size_t>(line.size(), 3));
            std::string name = line.ends_with("\")") ? line.substr(quote + 1, line.size() - quote - 3)
                                                     : line.substr(line.rfind('.') + 1);
            if (name.find(':') != std::string::npos && name.find('@') == std::string::npos)
                name.erase(0, name.find(':') + 1);
            found.push_back({name.substr(0, name.find('@')), line});
        }
        print_kind(title, std::move(found), fmt::format("sonde {}-l '{}'", target_words(), pattern), true);
    }
    void print_tracepoints() { print_points("tracepoints", fmt::format("kernel.trace(\"*{}*\")", word_)); }
    void print_kernel_functions() {
        print_points("functions of the kernel", fmt::format("kernel.function(\"*{}*\")", word_));
    }

    // Searches the target's program and its libraries; without a target, the C library.
    void print_programs() {
        std::string program = t_.env.command_path;
        std::vector<std::string> libraries;
        if (t_.env.target_pid) {
            program = process_program(t_.env.target_pid);
            libraries = mapped_libraries(t_.env.target_pid);
        } else if (!program.empty()) {
            libraries = shared_libraries(program, t_.env.architecture->library_search());
        } else if (Result<std::string> path = find_library_path("libc", {.architecture = t_.env.architecture})) {
            libraries.push_back(*path);
        }
        if (!program.empty()) {
            if (Result<ElfFile> file = ElfFile::open_any_machine(program); !file)
                warn(fmt::format("the target's own functions are not searched: {}", file.error().message));
            print_points(fmt::format("functions of {}", program),
                         fmt::format("process({}).function(\"*{}*\")", in_quotes(program), word_));
            print_points(fmt::format("marks of {}", program),
                         fmt::format("process({}).mark(\"*{}*\")", in_quotes(program), word_));
        }
        for (const std::string& library : libraries)
            if (library != program) {
                print_symbols(library);
                if (!program.empty())
                    print_points(fmt::format("marks of {}", library),
                                 fmt::format("process({}).mark(\"*{}*\")", in_quotes(library), word_));
            }
    }
    // Without a target: lists programs in $PATH whose name begins with the word, with their processes. Also lists
    // processes of such programs outside of $PATH.
    void print_installed() {
        if (!t_.env.command_path.empty() || t_.env.target_pid)
            return;
        std::map<std::string, std::vector<int64_t>> running;
        for (int64_t process : t_.env.is_elsewhere ? std::vector<int64_t>() : all_processes())
            if (const std::string path = process_program(process); begins_so(file_name(path)))
                running[path].push_back(process);
        std::vector<Named> found;
        std::set<std::string> installed; // files, without links
        for (const std::string& path : programs_beginning(word_)) {
            if (is_script(path))
                continue;
            std::error_code ignored;
            const std::string file = std::filesystem::canonical(path, ignored).string(), name = file_name(path);
            const auto processes = running.find(file);
            found.push_back(
                {name,
                 installed_line(name, path, processes == running.end() ? std::vector<int64_t>() : processes->second)});
            installed.insert(file);
        }
        for (const auto& [path, processes] : running)
            if (!installed.contains(path))
                found.push_back({file_name(path), installed_line(path, path, processes)});
        print_kind("programs", std::move(found), fmt::format("compgen -c {}", word_), false);
    }
    bool begins_so(std::string_view name) const { return matches(name.substr(0, word_.size())); }
    static std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
    static std::string installed_line(const std::string& name, const std::string& path,
                                      const std::vector<int64_t>& processes) {
        std::string runs;
        for (size_t i = 0; i < std::min<size_t>(processes.size(), 3); i++)
            runs += fmt::format("{}{}", i ? ", " : ", runs as ", processes[i]);
        if (processes.size() > 3)
            runs += fmt::format(" and {} more", processes.size() - 3);
        return fmt::format("sonde -l 'process({}).**' # {}{}", in_quotes(name), path, runs);
    }
    void print_symbols(const std::string& library) {
        Result<ElfFile> file = ElfFile::open_any_machine(library);
        if (!file)
            return;
        std::set<std::string> names;
        file->for_each_symbol([&](const ElfSymbol& symbol) {
            const bool function =
                (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && symbol.section != SHN_UNDEF;
            if (function && matches(symbol.name) && !symbol.name.starts_with("_Z"))
                names.emplace(symbol.name);
            return true;
        });
        const std::string process = fmt::format("process({}).function", in_quotes(library));
        std::vector<Named> found;
        for (const std::string& name : names)
            found.push_back({name, fmt::format("{}({})", process, in_quotes(name))});
        print_kind(fmt::format("functions of {}", library), std::move(found),
                   fmt::format("sonde -l '{}(\"*{}*\")'", process, word_), true);
    }
    void print_library_functions() {
        std::vector<Named> found;
        for (const std::string& name : t_.library->function_names())
            if (matches(name) && !name.starts_with("_"))
                found.push_back({name, fmt::format("{}()", name)});
        print_kind("functions to call in a script, which docs/library.md explains", std::move(found),
                   fmt::format("sonde --dump-functions | grep {}", word_), false);
    }

    int fail() {
        std::vector<std::string> names = t_.library->alias_names();
        for (const ToolFile& tool : tool_files())
            names.emplace_back(tool.name);
        if (Result<KernelTypes*> kernel = t_.env.kernel())
            for (std::string& name : (*kernel)->tracepoint_names())
                names.push_back(std::move(name));
        const std::string near = nearest_name(word_, names);
        const bool has_target = !t_.env.command_path.empty() || t_.env.target_pid;
        const bool is_bare =
            !t_.env.command_path.empty() &&
            points_of(t_, fmt::format("process({}).function(\"*\")", in_quotes(t_.env.command_path))).empty();
        say_error(fmt::format("nothing that can be probed has `{}` in its name: no tool, alias, system call, "
                              "tracepoint, {}function of the kernel{}{}",
                              word_, has_target ? "" : "program, ",
                              has_target ? ", of the target or of its libraries"
                                         : " or of the C library; -c or -x searches a program and its libraries, too",
                              near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
        if (is_bare)
            say_error(fmt::format("`{0}` is stripped, so its functions have no names; its other probe points are "
                                  "listed by `sonde -l 'process(\"{0}\").**'`",
                                  t_.env.command_path));
        return exit_failure;
    }

    Translation& t_;
    const Options& options_;
    std::string word_, pattern_, best_;
    int best_rank_ = 0;
    bool any_ = false;
};

} // namespace

// Returns the word in `*sched_switch*`, which is how bpftrace users search, or in `sched_*`. Returns any other text as
// it is.
static std::string searched_word(const std::string& text) {
    const size_t begin = text.find_first_not_of('*'), end = text.find_last_not_of('*');
    if (begin == std::string::npos)
        return text;
    const std::string word = text.substr(begin, end + 1 - begin);
    return is_word(word) ? word : text;
}

// Returns `timer.` for `timer.*`: these points have arguments, so the pattern matches no listing. Empty for other
// texts.
static std::string searched_family(const Translation& t, const std::string& text) {
    const size_t dot = text.find('.');
    if (dot == std::string::npos || (text.substr(dot) != ".*" && text.substr(dot) != ".**"))
        return "";
    const std::string family = text.substr(0, dot + 1);
    return std::ranges::any_of(families_of_kinds(t), [&](const Family& one) { return one.pattern.starts_with(family); })
               ? family
               : "";
}

// Returns whether the text is like `process("P").**`. The pattern itself does not match functions and marks, because
// these have an argument, but the user wants to see them.
static bool asks_for_all_of_program(const std::string& text) {
    return text.ends_with(".**") && (text.starts_with("process(") || text.starts_with("process."));
}

static int list_program(Translation& t, const std::string& text) {
    const std::string program = text.substr(0, text.size() - 2);
    for (const std::string& pattern : {text, program + "mark(\"*\")", program + "function(\"*\")"})
        for (const std::string& point : points_of(t, pattern))
            fmt::print("{}\n", point);
    return 0;
}

bool is_discovery(Translation& t, const Options& options) {
    const std::string& text = options.driver.list_point;
    if (t.env.recording) // a list of its points
        return false;
    if (text == "*" || text == "**" || text == "kernel.*" || text == "kernel.**")
        return true;
    if (options.driver.list_variables)
        return false;
    if (asks_for_all_of_program(text))
        return !points_of(t, text).empty();
    // A single word that is a point, such as `begin`, is listed as a point.
    if (is_word(searched_word(text)))
        return (text.starts_with('*') && text.ends_with('*')) || points_of(t, text).empty();
    return !searched_family(t, text).empty() && points_of(t, text).empty();
}

int discover(Translation& t, const Options& options) {
    if (asks_for_all_of_program(options.driver.list_point))
        return list_program(t, options.driver.list_point);
    if (const std::string family = searched_family(t, options.driver.list_point); !family.empty()) {
        for (const Family& one : families_of_kinds(t))
            if (one.pattern.starts_with(family))
                print_family(one.pattern, one.what);
        return 0;
    }
    const std::string word = searched_word(options.driver.list_point);
    if (word.find('*') != std::string::npos)
        return list_families(t, word.starts_with("kernel"));
    return Search(t, options, word, word == options.driver.list_point ? "" : options.driver.list_point).run();
}

} // namespace sonde
