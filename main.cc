// sonde: options, then the pipeline as one function. The only file that sees every layer.
//
//   1 parse    script -> syntax tree; the library is only indexed
//   2 analyze  probe points to addresses, `$variables` to locations, names, types: HIR
//   3 generate HIR -> LLVM -> Plan (lowering and compiling are passes 3 and 4 of -p and -v)
//   5 run      the Plan: load, attach, pump events, detach, report
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/fd.h"
#include "base/glob.h"
#include "base/kernel_files.h"
#include "base/source.h"
#include "base/terminal_text.h"
#include "base/trusted_file.h"
#include "codegen/codegen.h"
#include "codegen/session_legs.h"
#include "frontend/ast/ast.h"
#include "frontend/parse/parser.h"
#include "frontend/parse/preprocess.h"
#include "frontend/probes/probe.h"
#include "frontend/probes/record_files.h"
#include "frontend/probes/why.h"
#include "frontend/sema/sema.h"
#include "frontend/tapset/inventory.h"
#include "frontend/tapset/library.h"
#include "frontend/types/kernel_types.h"
#include "options.h"
#include "relink.h"
#include "runtime/messages.h"
#include "runtime/plan_file.h"
#include "runtime/privileges.h"
#include "runtime/session.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

constexpr int exit_failure = 1;

void say_error(const std::string& message) { say("ERROR: " + message); }

// What programs are made of has names of theirs.
void print_lines(const std::vector<std::string>& lines, bool raw) {
    const bool for_terminal = !raw && isatty(STDOUT_FILENO) == 1;
    for (const std::string& line : lines)
        fmt::print("{}\n", for_terminal ? terminal_text(line) : line);
}

// Times a pass and says it at -v, as stap does.
class PassTimer {
  public:
    PassTimer(int pass, const Options& options)
        : pass_(pass), verbose_(options.verbose[static_cast<size_t>(pass) - 1]), start_(now()) {}

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
    std::error_code ignored;
    std::string out = path.ok() ? *path : word;
    return out.find('/') == std::string::npos ? out : std::filesystem::absolute(out, ignored).string();
}

// Of a kernel that does not run here: what only its boot decides is left to the session.
KernelProbing read_kernel_probing(const KernelFiles& kernel, const std::string& forced) {
    FeaturesByTypes has = read_features(kernel.types);
    KernelProbing out;
    out.tracepoint_cookie = has.tracepoint_cookie;
    out.only_breakpoints = forced == "kprobe";
    out.fentry = has.fentry && !out.only_breakpoints;
    out.kprobe = has.kprobe;
    if (!has.netfilter)
        out.why_not_netfilter = "it has no BPF programs for them (CONFIG_NETFILTER_BPF_LINK)";
    if (!has.lsm)
        out.why_not_lsm = "it is built without them (CONFIG_BPF_LSM)";
    return out;
}

KernelProbing find_kernel_probing(const std::string& forced) {
    KernelFunctionProbing functions = probe_kernel_functions();
    KernelProbing out;
    out.tracepoint_cookie = probe_kernel_features().tracepoint_cookie;
    out.only_breakpoints = forced == "kprobe";
    out.fentry = functions.why_not_fentry.empty() && !out.only_breakpoints;
    out.kprobe = functions.why_not_kprobe.empty();
    out.why_not_netfilter = why_no_netfilter();
    out.why_not_lsm = why_no_lsm();
    return out;
}

// One translation: what all passes share.
struct Translation {
    Sources sources;
    Arena arena;
    Diagnostics diags{sources};
    MacroTable macros; // the library's
    std::optional<KernelConfig> kernel_config;
    std::optional<KernelFiles> other_kernel; // -r
    ParseOptions parse_options;
    ProbeEnvironment env;
    std::optional<KernelProbing> kernel_probing;
    std::optional<Library> library;
    std::vector<const ast::File*> files;
    const plan::Origin* origin = nullptr; // --relink: the texts of script and library are these
    plan::Origin texts;                   // what was read, for a plan that is saved
    size_t library_files = 0;
    bool in_color;

    explicit Translation(const Options& options)
        : in_color(options.color == When::Auto ? isatty(STDERR_FILENO) == 1 : options.color == When::Always) {
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
                Result<KernelConfig> read = read_kernel_config(parse_options.kernel_release, !other_kernel,
                                                               other_kernel ? other_kernel->root : "");
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
        env.try_counter = try_counter;
        env.listing_variables = options.list_variables;
        env.changes_return_addresses = options.attach == "uretprobe";
        env.kernel_probing = [this, forced = options.attach]() -> const KernelProbing& {
            if (!kernel_probing)
                kernel_probing =
                    other_kernel ? read_kernel_probing(*other_kernel, forced) : find_kernel_probing(forced);
            return *kernel_probing;
        };
    }

    Result<void> open_other_kernel(const std::string& given) {
        Result<KernelFiles> found = find_kernel_files(given);
        if (!found)
            return Error(fmt::format("-r {}: {}", given, found.error().message));
        other_kernel = *std::move(found);
        env.other_kernel = &*other_kernel;
        parse_options.kernel_release = other_kernel->release;
        // What is counted there is not known here.
        env.try_counter = [](const plan::PerfSpec&) { return 0; };
        return {};
    }

    // Prints what was reported; false if there were errors.
    bool report() {
        fmt::print(stderr, "{}", diags.render(in_color));
        return !diags.has_errors();
    }
};

// Scripts are looked into when a name in them is asked for; macros (.stpm) are known everywhere.
void add_library_file(Translation& t, const std::string& name, std::string text,
                      std::optional<Library::Names> declared = {}) {
    FileId file = t.sources.add(name, std::move(text), true);
    t.library_files++;
    if (name.ends_with(".stpm"))
        load_macros(file, t.sources, t.parse_options, t.macros, t.diags);
    else if (declared)
        t.library->add(file, *declared);
    else
        t.library->add(file);
}

Result<void> open_library(Translation& t, const Options& options) {
    t.library.emplace(t.sources, [&t](FileId file) {
        ParseOptions parse_options = t.parse_options;
        parse_options.privileged = true;
        parse_options.compatible = systemtap_version;
        return parse_file(file, t.sources, parse_options, t.arena, t.diags);
    });
    for (const StdlibFile& file : stdlib_files())
        add_library_file(t, std::string(file.name), std::string(file.text),
                         Library::Names{file.functions, file.globals, file.aliases});
    for (const std::string& folder : options.folders) {
        if (t.origin)
            break;
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
            Result<std::string> text = read_trusted_file(path);
            if (!text)
                return std::move(text).error();
            t.texts.library.push_back({path, *text});
            add_library_file(t, path, *std::move(text));
        }
    }
    if (t.origin)
        for (const plan::NamedText& file : t.origin->library)
            add_library_file(t, file.name, file.text);
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
    } else if (!options.list && options.why.empty() && !options.positional.empty()) {
        const std::string& path = options.positional[0];
        if (t.origin && t.origin->scripts.empty())
            return Error("the plan does not keep its script: translate that again");
        Result<std::string> text = t.origin      ? Result<std::string>(t.origin->scripts[0].text)
                                   : path == "-" ? read_standard_input()
                                                 : read_file(path);
        if (!text)
            return std::move(text).error();
        t.texts.scripts.push_back({path, *text});
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
    std::vector<std::string> lines =
        sonde::list_points(points, options.list_variables, t.files, *t.library, t.env, t.arena, t.diags);
    t.report();
    print_lines(lines, options.raw);
    return lines.empty() ? exit_failure : 0;
}

int explain_why(Translation& t, const Options& options) {
    FileId variable_file = t.sources.add("<variable>", options.why);
    FileId point_file = t.sources.add("<point>", options.positional[0]);
    const ast::TargetExpr* variable = parse_target(variable_file, t.sources, t.parse_options, t.arena, t.diags);
    std::vector<ast::ProbePoint*> points = parse_probe_points(point_file, t.sources, t.parse_options, t.arena, t.diags);
    std::vector<std::string> lines;
    if (!t.diags.has_errors())
        lines = explain_variable(*variable, resolve_listing(points, *t.library, t.env, t.arena, t.diags), t.arena,
                                 t.env, t.diags);
    if (!t.report())
        return exit_failure;
    print_lines(lines, options.raw);
    return lines.empty() ? exit_failure : 0;
}

int print_inventory(Translation& t, Inventory inventory) {
    std::vector<std::string> lines = inventory == Inventory::Functions ? describe_functions(*t.library)
                                     : inventory == Inventory::Aliases ? describe_aliases(*t.library)
                                                                       : probe_point_forms();
    for (const std::string& line : lines)
        fmt::print("{}\n", line);
    return t.report() ? 0 : exit_failure;
}

// Inlined copies of a point's function that it is not about, as `.call` and `.return` are not.
uint64_t count_inlined_copies(Translation& t, const plan::Point& point) {
    bool about_calls = false;
    for (const char* suffix : {".call", ".return", ".exported"})
        about_calls = about_calls || point.pn.find(suffix) != std::string::npos;
    Result<FunctionPattern> pattern = FunctionPattern::parse(point.function);
    Result<DwarfModule*> module = t.env.module(point.path);
    if (!about_calls || !pattern || !module)
        return 0;
    std::vector<FunctionInstance> found = (*module)->functions(*pattern);
    return static_cast<uint64_t>(
        std::count_if(found.begin(), found.end(), [](const FunctionInstance& one) { return one.inlined; }));
}

using InlinedCopies = std::function<uint64_t(const plan::Point&)>;

SessionOptions session_options(const Options& options, InlinedCopies inlined_copies) {
    SessionOptions session;
    session.inlined_copies = std::move(inlined_copies);
    session.command = options.command;
    session.target_pid = options.target_pid;
    session.files = options.files;
    session.output = {options.output, options.output_bytes, options.output_files, options.output_buffer};
    session.output_wait_s = options.output_wait_s;
    session.raw = options.raw;
    session.time_limit_s = options.time_limit_s;
    session.warnings_off = options.warnings_off;
    session.suppress_auto_print = options.no_global_display;
    session.verbose = options.verbose[4];
    session.timing = options.timing;
    session.report = options.report;
    session.tolerated = options.tolerated;
    session.overload = overload_limit(options);
    session.attach = options.attach;
    return session;
}

// Makes the same plan with code in another arrangement, 1 or more (CodegenOptions).
using Rearrange = std::function<Result<plan::Plan>(uint32_t arrangement)>;

// `saved_as`: the name of a saved plan; empty: it was made just now.
int run_plan(
    const plan::Plan& plan, const Options& options, const std::string& saved_as, const Rearrange& rearrange,
    const InlinedCopies& inlined_copies, std::function<void()> armed = [] {}) {
    PassTimer timer(5, options);
    if (options.verbose[4] > 0)
        fmt::print(stderr, "Pass 5: starting run.\n");
    SessionOptions session = session_options(options, inlined_copies);
    session.armed = [&] {
        drop_privileges(plan);
        armed();
    };
    session.saved_as = saved_as;
    Result<int> status = run_session(plan, session);
    constexpr uint32_t most = 4;
    for (uint32_t i = 1; !status && status.error().os_error == kernel_cannot_compile && rearrange && i <= most; i++) {
        Result<plan::Plan> other = rearrange(i);
        status = other ? run_session(*other, session) : Result<int>(std::move(other).error());
    }
    if (!status) {
        say_error(status.error().message);
        fmt::print(stderr, "Pass 5: run failed.\n");
        return exit_failure;
    }
    timer.done("run completed");
    return *status;
}

// -F: a process of its own, which SIGTERM ends. What it has to say while it runs goes to FILE.err, kept if it said
// anything. Gives 0 when every probe is armed.
int run_in_background(const plan::Plan& plan, const Options& options, const std::string& saved_as,
                      const Rearrange& rearrange) {
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0)
        return say_error(errno_error("cannot start a background process", errno).message), exit_failure;
    Fd reader(ready[0]), writer(ready[1]);
    pid_t child = fork();
    if (child < 0)
        return say_error(errno_error("cannot start a background process", errno).message), exit_failure;
    if (child == 0) {
        setsid();
        std::string messages = options.output + ".err";
        int status = run_plan(plan, options, saved_as, rearrange, nullptr, [&] {
            Fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
            Result<Fd> said = create_file(messages, O_APPEND);
            for (int fd : {STDIN_FILENO, STDOUT_FILENO})
                dup2(nothing.get(), fd);
            dup2(said ? said->get() : nothing.get(), STDERR_FILENO);
            static_cast<void>(write(writer.get(), "", 1));
        });
        std::error_code ignored;
        if (std::filesystem::file_size(messages, ignored) == 0)
            std::filesystem::remove(messages, ignored);
        fflush(nullptr);
        _exit(status);
    }
    writer.reset();
    char armed;
    if (read(reader.get(), &armed, 1) == 1) {
        fmt::print("{}\n", child);
        return 0;
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : exit_failure;
}

// Where members are is compiled into the handlers.
Result<void> check_kernel(const plan::Plan& plan) {
    if (plan.kernel.empty())
        return {};
    Result<std::unique_ptr<KernelTypes>> types = KernelTypes::open();
    if (types && (*types)->fingerprint() == plan.kernel_types)
        return {};
    utsname system{};
    uname(&system);
    return Error(
        fmt::format("it was translated for the kernel {}, whose types are not those of the running one, {}\n"
                    "  translate it again: here, or elsewhere with `-r` and this kernel's vmlinuz, or a copy of its "
                    "/sys/kernel/btf/vmlinux",
                    plan.kernel, system.release));
}

int translate(const Options& options, const plan::Origin* origin);

// `sonde --relink FILE.sonde`.
int relink_plan(const plan::Plan& plan, const Options& options) {
    Result<Options> anew = options_to_relink(plan.origin, options);
    if (!anew) {
        say_error(fmt::format("cannot relink `{}`: {}", options.positional[0], anew.error().message));
        return exit_failure;
    }
    if (plan.filter_target && anew->last_pass == 5 && anew->command.empty() && anew->target_pid == 0) {
        say_error(fmt::format("{} was made with -c or -x, and runs with one of them only", options.positional[0]));
        return exit_failure;
    }
    return translate(*anew, &plan.origin);
}

// `sonde FILE.sonde`: a saved Plan needs none of the other passes.
std::optional<int> run_saved_plan(const Options& options) {
    if (options.has_script || options.list || !options.why.empty() || options.positional.empty() ||
        !options.positional[0].ends_with(".sonde"))
        return std::nullopt;
    Result<plan::Plan> plan = plan::load_file(options.positional[0]);
    if (!plan) {
        say_error(plan.error().message);
        return exit_failure;
    }
    if (options.relink)
        return relink_plan(*plan, options);
    if (Result<void> fits = check_kernel(*plan); !fits) {
        say_error(fmt::format("{}: {}", options.positional[0], fits.error().message));
        return exit_failure;
    }
    // Whether handlers look at the target is compiled into them.
    bool has_target = !options.command.empty() || options.target_pid != 0;
    if (plan->filter_target && !has_target) {
        say_error(fmt::format("{} was made with -c or -x, and runs with one of them only", options.positional[0]));
        return exit_failure;
    }
    if (has_target && !plan->filter_target && !plan->bpf_object.empty() && !options.warnings_off)
        fmt::print(stderr, "WARNING: {} was made without -c and -x: its handlers in the kernel run for all processes\n",
                   options.positional[0]);
    return options.background ? run_in_background(*plan, options, options.positional[0], nullptr)
                              : run_plan(*plan, options, options.positional[0], nullptr, nullptr);
}

// All passes. `origin`: the texts to take instead of files; null: none.
int translate(const Options& options, const plan::Origin* origin) {
    // Pass 1: texts to trees.
    PassTimer pass1(1, options);
    Translation t(options);
    t.origin = origin;
    // Relative paths in the script and among the words are those of then.
    std::optional<OriginFolder> folder(std::in_place, origin ? origin->folder : "");
    if (!options.kernel.empty())
        if (Result<void> opened = t.open_other_kernel(options.kernel); !opened) {
            say_error(opened.error().message);
            return exit_failure;
        }
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
    if (options.inventory != Inventory::None)
        return print_inventory(t, options.inventory);
    if (!options.why.empty())
        return explain_why(t, options);
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
    PassTimer pass2(2, options);
    SemaOptions sema;
    sema.guru = options.guru;
    sema.unoptimized = options.unoptimized;
    sema.skip_bad_variables = options.skip_bad_variables;
    sema.kernel_host_probes = options.host_probes == "kernel";
    sema.max_map_entries = options.limits.max_map_entries;
    sema.max_string = options.limits.max_string;
    sema.hist_elision = static_cast<int64_t>(options.limits.hist_elision);
    sema.hist_width = options.limits.hist_width;
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

    Result<std::vector<plan::ProbedFile>> files = record_files(*program, t.env);
    if (!files) {
        say_error(files.error().message);
        fmt::print(stderr, "Pass 2: analysis failed.\n");
        return exit_failure;
    }
    program->files = *std::move(files);
    folder.reset(); // beyond this point paths are those of now

    // Passes 3 and 4: HIR to machine code; beyond this point there is nothing but the Plan.
    PassTimer pass3(3, options);
    bool any_in_kernel = std::any_of(program->handlers.begin(), program->handlers.end(),
                                     [](const hir::Handler* handler) { return handler->in_kernel; });
    CodegenOptions codegen;
    codegen.max_string = static_cast<uint32_t>(options.limits.max_string);
    codegen.max_action = options.limits.max_action;
    codegen.max_nesting = options.limits.max_nesting;
    codegen.max_backtrace = options.limits.max_backtrace;
    codegen.max_errors = options.limits.max_errors;
    codegen.max_skipped = options.limits.max_skipped;
    codegen.ring_bytes = options.ring_bytes;
    codegen.filter_target = !options.command.empty() || options.target_pid != 0;
    codegen.timing = options.timing || !options.report.empty();
    codegen.suppress_errors = options.suppress_handler_errors;
    codegen.arrangement = options.arrangement;
    codegen.may_goto =
        any_in_kernel && options.loops.empty() &&
        (t.other_kernel ? read_features(t.other_kernel->types).may_goto : probe_kernel_features().may_goto);
    codegen.kernel_types = t.other_kernel || access("/sys/kernel/btf/vmlinux", R_OK) == 0;
    bool any_session = std::any_of(program->handlers.begin(), program->handlers.end(),
                                   [](const hir::Handler* handler) { return fits_session(*handler); });
    codegen.uprobe_session =
        any_session && options.attach != "perf_event" && options.attach != "uretprobe" &&
        (t.other_kernel ? read_features(t.other_kernel->types).uprobe_session : has_uprobe_session());
    codegen.target_program = t.env.command_path;
    if (std::error_code failed; options.target_pid != 0 && options.command.empty())
        codegen.target_program =
            std::filesystem::read_symlink(fmt::format("/proc/{}/exe", options.target_pid), failed).string();
    codegen.script = t.files.empty() ? "<input>" : std::string(t.sources.name(t.files[0]->id));
    codegen.module = !options.module.empty()  ? options.module.substr(options.module.rfind('/') + 1)
                     : options.last_pass == 4 ? "sonde"
                                              : fmt::format("sonde_{}", getpid());
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
        if (const KernelTypes* types = t.env.needed_kernel()) {
            plan->kernel = t.other_kernel && t.parse_options.kernel_release.empty() ? t.other_kernel->path
                                                                                    : t.parse_options.kernel_release;
            plan->kernel_types = types->fingerprint();
        }
        if (origin) {
            plan->origin = *origin;
        } else {
            plan->origin = describe_origin(options);
            plan->origin.scripts = std::move(t.texts.scripts);
            plan->origin.library = std::move(t.texts.library);
        }
        std::string path = (options.module.empty() ? plan->module : options.module) + ".sonde";
        if (Result<void> saved = plan::save_file(*plan, path); !saved) {
            say_error(saved.error().message);
            return exit_failure;
        }
        fmt::print("{}\n", path);
        return 0;
    }
    Rearrange rearrange = [&](uint32_t arrangement) {
        codegen.arrangement = options.arrangement + arrangement;
        return generate(*program, t.sources, codegen, nullptr);
    };
    auto inlined_copies = [&](const plan::Point& point) { return count_inlined_copies(t, point); };
    return options.background ? run_in_background(*plan, options, "", rearrange)
                              : run_plan(*plan, options, "", rearrange, inlined_copies);
}

int run(const Options& options) {
    std::optional<int> status = run_saved_plan(options);
    return status ? *status : translate(options, nullptr);
}

} // namespace
} // namespace sonde

int main(int argc, char** argv) try {
    std::variant<sonde::Options, int> read = sonde::read_command_line(argc, argv);
    if (const int* status = std::get_if<int>(&read))
        return *status;
    return sonde::run(std::get<sonde::Options>(read));
} catch (const std::bad_alloc&) {
    std::fputs("sonde: out of memory\n", stderr);
    return 1;
} catch (const std::exception& bug) {
    std::fprintf(stderr, "sonde: internal error: %s\n", bug.what());
    return 1;
} catch (...) {
    std::fputs("sonde: internal error\n", stderr);
    return 1;
}
