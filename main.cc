// sonde: options, then the pipeline as one function. The only file that sees every layer.
//
//   1 parse    script -> syntax tree; the library is only indexed
//   2 analyze  probe points to addresses, `$variables` to locations, names, types: HIR
//   3 generate HIR -> LLVM -> Plan (lowering and compiling are passes 3 and 4 of -p and -v)
//   5 run      the Plan: load, attach, pump events, detach, report
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/fd.h"
#include "base/glob.h"
#include "base/source.h"
#include "codegen/codegen.h"
#include "frontend/ast/ast.h"
#include "frontend/parse/parser.h"
#include "frontend/parse/preprocess.h"
#include "frontend/probes/probe.h"
#include "frontend/sema/sema.h"
#include "frontend/tapset/library.h"
#include "runtime/plan_file.h"
#include "runtime/session.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

constexpr int exit_failure = 1;

struct Options {
    std::string script; // -e
    bool has_script = false;
    std::vector<std::string> extras; // -E
    std::string list_point;          // -l, -L
    bool list = false, list_variables = false;
    std::vector<std::string> positional;       // FILE and script arguments
    std::string command;                       // -c
    int64_t target_pid = 0;                    // -x
    std::string output;                        // -o
    double time_limit_s = 0;                   // -T
    std::vector<std::string> defines;          // -D
    std::vector<std::string> globals;          // -G
    std::vector<std::string> folders;          // -I
    std::vector<std::string> files;            // -d
    std::string module = "sonde";              // -m: name of the plan that -p4 writes
    std::string compatible{systemtap_version}; // --compatible
    std::string dump;                          // --dump
    std::string host_probes = "host";          // --host-probes
    std::string attach;                        // --attach
    std::string loops;                         // --loops
    int last_pass = 5;                         // -p
    int verbose = 0;
    bool guru = false, warnings_off = false, warnings_fatal = false, unoptimized = false, timing = false;
    bool no_global_display = false, ldd = false, skip_bad_variables = false;
};

// Limits that -D sets; anything else is accepted and has no effect, as scripts pass macros meant for other runtimes.
struct Limits {
    uint64_t max_string = 512, max_action = 1000, max_errors = 0, max_skipped = 100, max_map_entries = 2048,
             max_nesting = 16, max_backtrace = 20, hist_elision = 2, hist_width = 50;
};

void say_error(const std::string& message) { fmt::print(stderr, "ERROR: {}\n", message); }

Result<Limits> parse_limits(const std::vector<std::string>& defines) {
    struct Row {
        const char* name;
        uint64_t Limits::* field;
        int64_t least, most;
    };
    constexpr Row rows[] = {
        {"MAXSTRINGLEN", &Limits::max_string, 8, 65536},
        {"MAXACTION", &Limits::max_action, 1, INT64_MAX},
        {"MAXERRORS", &Limits::max_errors, 0, INT64_MAX},
        {"MAXSKIPPED", &Limits::max_skipped, 0, INT64_MAX},
        {"MAXMAPENTRIES", &Limits::max_map_entries, 1, 1 << 24},
        {"MAXNESTING", &Limits::max_nesting, 1, 256},
        {"MAXBACKTRACE", &Limits::max_backtrace, 1, 128},
        {"HIST_ELISION", &Limits::hist_elision, -1, INT64_MAX},
        {"HIST_WIDTH", &Limits::hist_width, 1, 1000},
    };
    Limits limits;
    for (const std::string& define : defines) {
        size_t equals = define.find('=');
        std::string name = define.substr(0, equals);
        for (const Row& row : rows) {
            if (name != row.name)
                continue;
            std::string text = equals == std::string::npos ? "1" : define.substr(equals + 1);
            char* end = nullptr;
            errno = 0;
            int64_t value = std::strtoll(text.c_str(), &end, 0);
            if (text.empty() || *end || errno || value < row.least || value > row.most)
                return Error(fmt::format("-D {}: `{}` is not a number from {} to {}", name, text, row.least, row.most));
            limits.*row.field = static_cast<uint64_t>(value);
        }
    }
    return limits;
}

// Times a pass and says it at -v, as stap does.
class PassTimer {
  public:
    PassTimer(int pass, int verbose) : pass_(pass), verbose_(verbose), start_(now()) {}

    void done(const std::string& what) const {
        if (verbose_ < 1)
            return;
        Times t = now();
        fmt::print(stderr, "Pass {}: {} in {}usr/{}sys/{}real ms.\n", pass_, what, t.user - start_.user,
                   t.system - start_.system, t.real - start_.real);
    }

  private:
    struct Times {
        int64_t user, system, real;
    };
    static Times now() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        auto ms = [](const timeval& t) { return int64_t{t.tv_sec} * 1000 + t.tv_usec / 1000; };
        auto real = std::chrono::steady_clock::now().time_since_epoch();
        return {ms(usage.ru_utime), ms(usage.ru_stime),
                std::chrono::duration_cast<std::chrono::milliseconds>(real).count()};
    }
    int pass_, verbose_;
    Times start_;
};

// The program that -c runs, for `process` without an argument: the first word.
std::string command_program(const std::string& command) {
    size_t begin = command.find_first_not_of(" \t");
    if (begin == std::string::npos)
        return "";
    std::string word = command.substr(begin, command.find_first_of(" \t", begin) - begin);
    Result<std::string> path = find_in_path(word);
    return path.ok() ? *path : word;
}

KernelProbing find_kernel_probing(const std::string& forced) {
    KernelFunctionProbing functions = probe_kernel_functions();
    KernelProbing out;
    out.tracepoint_cookie = probe_kernel_features().tracepoint_cookie;
    out.only_breakpoints = forced == "kprobe";
    out.fentry = functions.why_not_fentry.empty() && !out.only_breakpoints;
    out.kprobe = functions.why_not_kprobe.empty();
    return out;
}

// One translation: what all passes share.
struct Translation {
    Sources sources;
    Arena arena;
    Diagnostics diags{sources};
    MacroTable macros; // the library's
    std::optional<KernelConfig> kernel_config;
    ParseOptions parse_options;
    ProbeEnvironment env;
    std::optional<KernelProbing> kernel_probing;
    std::optional<Library> library;
    std::vector<const ast::File*> files;
    size_t library_files = 0;

    explicit Translation(const Options& options) {
        utsname system{};
        uname(&system);
        parse_options.kernel_release = system.release;
        parse_options.arch = system.machine;
        parse_options.compatible = options.compatible;
        parse_options.guru = options.guru;
        parse_options.privileged = options.guru;
        parse_options.macros = &macros;
        parse_options.kernel_config = [this]() -> const KernelConfig& {
            if (!kernel_config) {
                // Without one, every CONFIG_ is undefined.
                Result<KernelConfig> read = read_kernel_config(parse_options.kernel_release);
                kernel_config = read ? *std::move(read) : KernelConfig();
            }
            return *kernel_config;
        };
        diags.warnings_off = options.warnings_off;
        diags.warnings_fatal = options.warnings_fatal;
        env.guru = options.guru;
        env.command_path = command_program(options.command);
        env.target_pid = options.target_pid;
        env.listing = options.list;
        env.kernel_probing = [this, forced = options.attach]() -> const KernelProbing& {
            if (!kernel_probing)
                kernel_probing = find_kernel_probing(forced);
            return *kernel_probing;
        };
    }

    // Prints what was reported; false if there were errors.
    bool report() {
        fmt::print(stderr, "{}", diags.render(isatty(STDERR_FILENO) == 1));
        return !diags.has_errors();
    }
};

// Scripts are looked into when a name in them is asked for; macros (.stpm) are known everywhere.
void add_library_file(Translation& t, const std::string& name, std::string text) {
    FileId file = t.sources.add(name, std::move(text), true);
    t.library_files++;
    if (name.ends_with(".stpm"))
        load_macros(file, t.sources, t.parse_options, t.macros, t.diags);
    else
        t.library->add(file);
}

Result<void> open_library(Translation& t, const Options& options) {
    t.library.emplace(t.sources, [&t](FileId file) {
        ParseOptions parse_options = t.parse_options;
        parse_options.privileged = true;
        parse_options.args.clear();
        parse_options.compatible = systemtap_version;
        return parse_file(file, t.sources, parse_options, t.arena, t.diags);
    });
    for (const StdlibFile& file : stdlib_files())
        add_library_file(t, std::string(file.name), std::string(file.text));
    for (const std::string& folder : options.folders) {
        std::error_code error;
        std::vector<std::string> paths;
        for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
             at.increment(error))
            if (at->path().extension() == ".stp" || at->path().extension() == ".stpm")
                paths.push_back(at->path().string());
        if (error)
            return Error(fmt::format("cannot read the library folder `{}`: {}", folder, error.message()));
        std::sort(paths.begin(), paths.end());
        for (const std::string& path : paths) {
            Result<std::string> text = read_file(path);
            if (!text)
                return std::move(text).error();
            add_library_file(t, path, *std::move(text));
        }
    }
    return {};
}

Result<std::string> read_standard_input() {
    std::string text;
    char buffer[65536];
    for (ssize_t got; (got = read(STDIN_FILENO, buffer, sizeof buffer)) != 0;) {
        if (got < 0)
            return errno_error("cannot read the script from standard input", errno);
        text.append(buffer, static_cast<size_t>(got));
    }
    return text;
}

// Adds the script (-e, FILE or -) and the -E extras; fills in the script's arguments.
Result<std::vector<FileId>> add_scripts(Translation& t, const Options& options) {
    std::vector<FileId> ids;
    size_t first_argument = 0;
    if (options.has_script) {
        ids.push_back(t.sources.add("<input>", options.script));
    } else if (!options.list && !options.positional.empty()) {
        const std::string& path = options.positional[0];
        Result<std::string> text = path == "-" ? read_standard_input() : read_file(path);
        if (!text)
            return std::move(text).error();
        ids.push_back(t.sources.add(path == "-" ? "<input>" : path, *std::move(text)));
        first_argument = 1;
    }
    t.parse_options.args.assign(options.positional.begin() + static_cast<ptrdiff_t>(first_argument),
                                options.positional.end());
    for (const std::string& extra : options.extras)
        ids.push_back(t.sources.add("<input>", extra));
    return ids;
}

int list_points(Translation& t, const Options& options) {
    FileId file = t.sources.add("<input>", options.list_point);
    std::vector<ast::ProbePoint*> points = parse_probe_points(file, t.sources, t.parse_options, t.arena, t.diags);
    if (t.diags.has_errors())
        return t.report(), exit_failure;
    std::vector<ResolvedPoint> resolved = resolve_listing(points, *t.library, t.env, t.arena, t.diags);
    std::vector<std::string> lines = sonde::list_points(resolved, options.list_variables);
    t.report();
    for (const std::string& line : lines)
        fmt::print("{}\n", line);
    return lines.empty() ? exit_failure : 0;
}

SessionOptions session_options(const Options& options) {
    SessionOptions session;
    session.command = options.command;
    session.target_pid = options.target_pid;
    session.files = options.files;
    session.output = options.output;
    session.time_limit_s = options.time_limit_s;
    session.warnings_off = options.warnings_off;
    session.suppress_auto_print = options.no_global_display;
    session.verbose = options.verbose;
    session.timing = options.timing;
    session.attach = options.attach;
    return session;
}

int run_plan(const plan::Plan& plan, const Options& options) {
    PassTimer timer(5, options.verbose);
    if (options.verbose > 0)
        fmt::print(stderr, "Pass 5: starting run.\n");
    Result<int> status = run_session(plan, session_options(options));
    if (!status) {
        say_error(status.error().message);
        fmt::print(stderr, "Pass 5: run failed.\n");
        return exit_failure;
    }
    timer.done("run completed");
    return *status;
}

// `sonde FILE.sonde`: a saved Plan needs none of the other passes.
std::optional<int> run_saved_plan(const Options& options) {
    if (options.has_script || options.list || options.positional.empty() || !options.positional[0].ends_with(".sonde"))
        return std::nullopt;
    Result<plan::Plan> plan = plan::load_file(options.positional[0]);
    if (!plan) {
        say_error(plan.error().message);
        return exit_failure;
    }
    return run_plan(*plan, options);
}

int run(const Options& options) {
    if (std::optional<int> status = run_saved_plan(options))
        return *status;
    Result<Limits> limits = parse_limits(options.defines);
    if (!limits) {
        say_error(limits.error().message);
        return exit_failure;
    }

    // Pass 1: texts to trees.
    PassTimer pass1(1, options.verbose);
    Translation t(options);
    if (Result<void> opened = open_library(t, options); !opened) {
        say_error(opened.error().message);
        return exit_failure;
    }
    Result<std::vector<FileId>> scripts = add_scripts(t, options);
    if (!scripts) {
        say_error(scripts.error().message);
        return exit_failure;
    }
    for (FileId file : *scripts)
        t.files.push_back(parse_file(file, t.sources, t.parse_options, t.arena, t.diags));
    if (options.list)
        return list_points(t, options);
    if (t.diags.has_errors()) {
        t.report();
        fmt::print(stderr, "Pass 1: parse failed.\n");
        return exit_failure;
    }
    if (options.dump == "ast" || options.last_pass == 1)
        for (const ast::File* file : t.files)
            fmt::print("{}", ast::dump(*file));
    pass1.done(fmt::format("parsed user script and {} library scripts", t.library_files));
    if (options.last_pass == 1)
        return t.report() ? 0 : exit_failure;

    // Pass 2: beyond this point everything is resolved and typed; no script error can follow.
    PassTimer pass2(2, options.verbose);
    SemaOptions sema;
    sema.guru = options.guru;
    sema.unoptimized = options.unoptimized;
    sema.skip_bad_variables = options.skip_bad_variables;
    sema.kernel_host_probes = options.host_probes == "kernel";
    sema.max_map_entries = limits->max_map_entries;
    sema.hist_elision = static_cast<int64_t>(limits->hist_elision);
    sema.hist_width = limits->hist_width;
    for (const std::string& assignment : options.globals) {
        size_t equals = assignment.find('=');
        if (equals == std::string::npos || equals == 0) {
            say_error(fmt::format("-G {}: expected NAME=VALUE", assignment));
            return exit_failure;
        }
        sema.global_overrides.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
    }
    hir::Program* program = analyze(t.files, *t.library, t.env, sema, t.arena, t.diags);
    if (!t.report() || !program) {
        fmt::print(stderr, "Pass 2: analysis failed.\n");
        return exit_failure;
    }
    size_t points = 0;
    for (const hir::Handler* handler : program->handlers)
        points += handler->points.size();
    if (options.dump == "hir" || options.last_pass == 2)
        fmt::print("{}", hir::dump(*program));
    pass2.done(fmt::format("analyzed script: {} probe(s), {} function(s), {} global(s)", points,
                           program->functions.size(), program->globals.size()));
    if (options.last_pass == 2)
        return 0;

    // Passes 3 and 4: HIR to machine code; beyond this point there is nothing but the Plan.
    PassTimer pass3(3, options.verbose);
    bool any_in_kernel = std::any_of(program->handlers.begin(), program->handlers.end(),
                                     [](const hir::Handler* handler) { return handler->in_kernel; });
    CodegenOptions codegen;
    codegen.max_string = static_cast<uint32_t>(limits->max_string);
    codegen.max_action = limits->max_action;
    codegen.max_nesting = limits->max_nesting;
    codegen.max_backtrace = limits->max_backtrace;
    codegen.max_errors = limits->max_errors;
    codegen.max_skipped = limits->max_skipped;
    codegen.filter_target = !options.command.empty() || options.target_pid != 0;
    codegen.timing = options.timing;
    codegen.may_goto = any_in_kernel && options.loops.empty() && probe_kernel_features().may_goto;
    codegen.script = t.files.empty() ? "<input>" : std::string(t.sources.name(t.files[0]->id));
    CodegenDumps dumps;
    dumps.want_ir = options.dump == "ir" || options.last_pass == 3;
    dumps.want_bpf = options.dump == "bpf";
    Result<plan::Plan> plan = generate(*program, t.sources, codegen, &dumps);
    if (dumps.want_ir)
        fmt::print("{}", dumps.ir);
    if (dumps.want_bpf)
        fmt::print("{}", dumps.bpf);
    if (!plan) {
        say_error(plan.error().message);
        fmt::print(stderr, "Pass 3: translation failed.\n");
        return exit_failure;
    }
    if (options.dump == "plan")
        fmt::print("{}", plan::dump(*plan));
    pass3.done(fmt::format("translated to {} bytes of BPF and {} bytes of host code", plan->bpf_object.size(),
                           plan->host_object.size()));
    if (options.last_pass == 3 || !options.dump.empty())
        return 0;
    if (options.last_pass == 4) {
        std::string path = options.module + ".sonde";
        if (Result<void> saved = plan::save_file(*plan, path); !saved) {
            say_error(saved.error().message);
            return exit_failure;
        }
        fmt::print("{}\n", path);
        return 0;
    }
    return run_plan(*plan, options);
}

int parse_options_and_run(int argc, char** argv) {
    Options options;
    CLI::App app{"Traces programs and the kernel: runs SystemTap's language on BPF.\n"
                 "  sonde [options] FILE [ARGS]\n  sonde [options] -e SCRIPT [ARGS]\n  sonde [options] -l|-L POINT"};
    app.name("sonde");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.set_version_flag("-V,--version", "sonde " SONDE_VERSION);
    CLI::Option* script = app.add_option("-e", options.script, "Run this script text");
    app.add_option("-E", options.extras, "Add this script text to the script")->allow_extra_args(false);
    CLI::Option* list = app.add_option("-l", options.list_point, "List the probe points that match");
    CLI::Option* list_variables = app.add_option("-L", options.list_point, "List them with their variables");
    app.add_option("-c", options.command,
                   "Run this command with every probe armed, and end with it; target() is its pid");
    app.add_option("-x", options.target_pid, "Trace this process and its children; target() is its pid");
    app.add_option("-o", options.output, "Write the output to this file");
    app.add_option("-T", options.time_limit_s, "End after that many seconds");
    app.add_option("-D", options.defines, "Set a limit: NAME=VALUE")->allow_extra_args(false);
    app.add_option("-G", options.globals, "Set a global's initial value: NAME=VALUE")->allow_extra_args(false);
    app.add_option("-I", options.folders, "Add a folder of library scripts")->allow_extra_args(false);
    app.add_option("-d", options.files, "Know a library's stacks and symbols before it is loaded")
        ->allow_extra_args(false);
    app.add_flag("--ldd", options.ldd, "Accepted: the libraries of probed programs are known in any case");
    app.add_option("-m", options.module, "Name of the file that -p4 writes (NAME.sonde)");
    app.add_option("-p", options.last_pass, "Stop after pass 1 parse, 2 analyze, 3 translate, 4 save, 5 run")
        ->check(CLI::Range(1, 5));
    app.add_flag("-v", options.verbose, "Say what each pass does and how long it took");
    app.add_flag("-g", options.guru, "Guru mode: allow what can change the traced program");
    app.add_flag("-w", options.warnings_off, "No warnings");
    app.add_flag("-W", options.warnings_fatal, "Warnings are errors");
    app.add_flag("-u", options.unoptimized, "Keep unused variables and functions");
    app.add_flag("-t", options.timing, "Report how often each probe was hit and what that cost");
    app.add_flag("--no-global-var-display", options.no_global_display, "Do not print globals that are never read");
    app.add_flag("--skip-badvars", options.skip_bad_variables, "Take 0 for a `$variable` that is not there");
    app.add_option("--compatible", options.compatible, "Read the script as that version of SystemTap did")
        ->check([](const std::string& text) {
            bool version = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
            if (version && strverscmp(text.c_str(), std::string(systemtap_version).c_str()) <= 0)
                return std::string();
            return fmt::format("`{}` is no version up to {}", text, systemtap_version);
        });
    app.add_option("--dump", options.dump, "Print an intermediate form and stop")
        ->check(CLI::IsMember({"ast", "hir", "ir", "bpf", "plan"}));
    app.add_option("--host-probes", options.host_probes, "Where begin, end and timer handlers run")
        ->check(CLI::IsMember({"host", "kernel"}));
    app.add_option("--attach", options.attach, "Force a mechanism: perf_event, kprobe")
        ->check(CLI::IsMember({"perf_event", "kprobe"}));
    app.add_option("--loops", options.loops, "Force how the kernel runs loops, as one before 6.9 has to")
        ->check(CLI::IsMember({"bpf_loop"}));
    app.add_option("FILE", options.positional, "The script (- for standard input), then its arguments");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_failure;
    }
    options.has_script = script->count() > 0;
    options.list = list->count() > 0 || list_variables->count() > 0;
    options.list_variables = list_variables->count() > 0;
    if (!options.has_script && !options.list && options.positional.empty() && options.extras.empty()) {
        say_error("no script: give a FILE, - or -e SCRIPT (see sonde --help)");
        return exit_failure;
    }
    return run(options);
}

} // namespace
} // namespace sonde

int main(int argc, char** argv) { return sonde::parse_options_and_run(argc, argv); }
