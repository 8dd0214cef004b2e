#include "driver/options.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <wordexp.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/processes.h"
#include "base/suggest.h"
#include "base/trusted_file.h"
#include "driver/cache_folder.h"
#include "driver/called_as.h"
#include "driver/completion/complete.h"
#include "driver/metric_facts.h"
#include "driver/option_messages.h"
#include "driver/option_parser.h"
#include "driver/push_options.h"
#include "driver/tools.h"
#include "frontend/parse/preprocess.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

constexpr int exit_failure = 1;

// What stap knows and sonde has no use for: accepted, so that command lines written for stap work.
struct Accepted {
    const char* names;
    bool takes_value;
    const char* why;
    const char* values = nullptr; // those that it takes, between |; 0: a number, too; null: any
};
constexpr Accepted accepted[] = {
    {"-k", false, "nothing is kept in temporary files"},
    {"-b", false, "what every CPU prints arrives in order, in one stream"},
    {"-q", false, "there is no coverage database"},
    {"-P", false, "where arguments are complete is found out for every function"},
    {"--prologue-searching", true, "as -P", "auto|always|never"},
    {"-R", true, "there is no runtime to compile"},
    {"-B", true, "nothing is compiled by make"},
    {"--modinfo", true, "there is no kernel module"},
    {"--all-modules", false, "the symbols of all modules are known"},
    {"--ldd", false, "the libraries of probed programs are known in any case"},
    {"--tmpdir", true, "there are no temporary files"},
    {"--save-uprobes", false, "there is no uprobes module"},
    {"--sign-module", false, "there is no kernel module"},
    {"--download-debuginfo", true, "DEBUGINFOD_URLS says where debug information comes from", "yes|no|ask|always|0"},
    {"--check-version", false, "no construct has changed its meaning; see --compatible"},
    {"--use-server-on-error", true, "nothing is compiled elsewhere", "yes|no|ask|always"},
};

// What stap can and sonde cannot, in words.
struct Refused {
    const char* names;
    const char* why;
};
constexpr Refused refused[] = {
    {"-i,--interactive", "scripts cannot be put together interactively"},
    {"--language-server", "there is no language server"},
    {"--remote,--remote-prefix", "sonde runs where it is called: copy a saved plan (-p4) and run it there"},
    {"--use-server,--list-servers,--trust-servers,--use-http-server",
     "there are no compile servers: nothing is compiled "
     "but to BPF"},
    {"--unprivileged,--build-as", "BPF programs need CAP_BPF and CAP_PERFMON; there are no lesser levels"},
    {"--sysroot,--sysenv", "sonde translates for the machine it runs on"},
    {"--example", "give the path of the example"},
};

// --overload: the message, or nothing.
std::string set_overload(Options& options, const std::string& text) {
    char* end = nullptr;
    const double percent = std::strtod(text.c_str(), &end);
    if (text == "off")
        options.overload = std::numeric_limits<double>::infinity();
    else if (text.empty() || *end || !std::isfinite(percent) || percent <= 0)
        return fmt::format("--overload: `{}` is neither a percentage nor `off`", text);
    else
        options.overload = percent;
    return "";
}

// --live: the message, or nothing.
std::string set_live(Options& options, const std::string& text) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (text.empty() || (*end || !std::isfinite(seconds) || seconds < 0.05 || seconds > 86400))
        return fmt::format("--live: `{}` is no number of seconds from 0.05 to 86400", text);
    options.live_s = seconds;
    return "";
}

// --lossy-ok=KIND,...: the message, or nothing.
std::string set_tolerated(Options& options, const std::string& text) {
    Result<LossKinds> kinds = parse_loss_kinds(text);
    if (!kinds)
        return "--lossy-ok: " + kinds.error().message;
    options.tolerated |= *kinds;
    return "";
}

// -D NAME=VALUE: the message, or nothing.
std::string set_limit(Limits& limits, const std::string& define) {
    struct Row {
        const char* name;
        uint64_t Limits::* field;
        int64_t least, most;
    };
    constexpr Row rows[] = {
        {"MAXSTRINGLEN", &Limits::max_string, 8, 65536},
        {"MAXACTION", &Limits::max_action, 1, INT64_MAX / 10},
        {"MAXACTION_INTERRUPTIBLE", &Limits::max_action_interruptible, 1, INT64_MAX},
        {"MAXERRORS", &Limits::max_errors, 0, INT64_MAX},
        {"MAXSKIPPED", &Limits::max_skipped, 0, INT64_MAX},
        {"MAXMAPENTRIES", &Limits::max_map_entries, 1, 1 << 24},
        {"MAXNESTING", &Limits::max_nesting, 1, 256},
        {"MAXBACKTRACE", &Limits::max_backtrace, 1, INT64_MAX},
        {"HIST_ELISION", &Limits::hist_elision, -1, INT64_MAX},
        {"HIST_WIDTH", &Limits::hist_width, 1, 1000},
        {"STP_MAX_BUCKETS", &Limits::max_buckets, 3, 1 << 16},
        {"STP_NO_OVERLOAD", &Limits::no_overload, 0, 1},
        {"STP_OVERLOAD_THRESHOLD", &Limits::overload_threshold, 1, INT64_MAX},
        {"STP_OVERLOAD_INTERVAL", &Limits::overload_interval, 1, INT64_MAX},
    };
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
            return fmt::format("-D {}: `{}` is not a number from {} to {}", name, text, row.least, row.most);
        limits.*row.field = static_cast<uint64_t>(value);
        return "";
    }
    // Other names are limits of SystemTap's, which mean nothing here.
    std::vector<std::string> names;
    for (const Row& row : rows)
        names.emplace_back(row.name);
    std::string upper = name;
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(toupper(c)); });
    if (const std::string near = nearest_name(upper, names); !near.empty())
        warn(fmt::format("-D {}: there is no such limit, and it changes nothing; did you mean `{}`?", name, near));
    return "";
}

// What -D has not said. Stacks that break off have wrong roots in a picture, and are wrong in a tool's table: there is
// room for all addresses that a handler takes, and for their text.
void choose_stack_limits(Options& options) {
    const bool whole = options.whole_stacks || std::ranges::any_of(options.pictures, [](const PictureRequest& picture) {
                           return facts_of(picture.kind).of_stacks;
                       });
    Limits& limits = options.limits;
    if (limits.max_backtrace == 0)
        limits.max_backtrace = whole ? 128 : 20;
    if (limits.max_string == 0)
        limits.max_string = whole ? 2048 : 512;
}

// What takes a value that is none of its own: the message, or nothing.
std::string check_value(const Accepted& option, const std::string& value) {
    if (!option.values)
        return "";
    std::string list;
    for (std::string_view rest = option.values; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find('|'));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        if (one == "0" ? !value.empty() && value.find_first_not_of("0123456789") == std::string::npos : one == value)
            return "";
        list += fmt::format("{}{}", list.empty() ? "" : ", ", one == "0" ? "a number" : one);
    }
    return fmt::format("{}: `{}` is none of {}", option.names, value, list);
}

// The name of -D NAME=VALUE and -G NAME=VALUE: the message, or nothing.
std::string check_name(const char* option, const std::string& text) {
    const std::string name = text.substr(0, text.find('='));
    const bool good =
        !name.empty() && !isdigit(static_cast<unsigned char>(name[0])) &&
        std::ranges::all_of(name, [](char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)); });
    return good ? "" : fmt::format("{} {}: `{}` is no name", option, text, name);
}

// --vp ABCDE: a digit more for each pass.
std::string add_verbosity(std::array<int, 5>& verbose, const std::string& digits) {
    if (digits.empty() || digits.size() > verbose.size() || digits.find_first_not_of("0123456789") != std::string::npos)
        return fmt::format("--vp {}: expected up to five digits, one for each pass", digits);
    for (size_t i = 0; i < digits.size(); i++)
        verbose[i] += digits[i] - '0';
    return "";
}

// -S SIZE[,N]: megabytes, files.
std::string set_rotation(Options& options, const std::string& text) {
    constexpr uint64_t most = 1 << 20;
    uint64_t size = 0, files = 0;
    char comma = 0, more = 0;
    int fields = std::sscanf(text.c_str(), "%lu%c%lu%c", &size, &comma, &files, &more);
    bool good = fields == 1 || (fields == 3 && comma == ',' && files > 0);
    if (!good || text.find('-') != std::string::npos || size == 0 || size > most || files > most)
        return fmt::format("-S {}: expected SIZE[,N]: the megabytes of a file, and how many files are kept", text);
    options.output_bytes = size << 20;
    options.output_files = files;
    return "";
}

// -x PID
std::string set_target(Options& options, const std::string& text) {
    const std::string wrong = why_no_target("-x", text);
    if (wrong.empty())
        options.target_pid = std::strtoll(text.c_str(), nullptr, 10);
    return wrong;
}

std::string set_buffer(Options& options, uint64_t megabytes) {
    if (megabytes < 1 || megabytes > 1024)
        return fmt::format("-s {}: expected 1 to 1024 megabytes", megabytes);
    // A ring buffer's size is a power of two.
    for (options.ring_bytes = 1 << 20; options.ring_bytes < megabytes << 20;)
        options.ring_bytes *= 2;
    return "";
}

// -a ARCH: that of this machine.
std::string check_machine(const std::string& given, char (utsname::*field)[65], const char* what) {
    utsname system{};
    uname(&system);
    if (given.empty() || given == system.*field)
        return "";
    return fmt::format("this is {} {}, not {}: translate the script there", what, system.*field, given);
}

std::string check_version(const std::string& text) {
    bool version = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
    if (version && strverscmp(text.c_str(), std::string(systemtap_version).c_str()) <= 0)
        return "";
    return fmt::format("`{}` is no version up to {}", text, systemtap_version);
}

std::string set_resource_limit(__rlimit_resource resource, uint64_t value) {
    rlimit limit{value, value};
    if (setrlimit(resource, &limit) == 0)
        return "";
    return fmt::format("cannot set the resource limit {}: {}", value, strerror(errno));
}

// ---- the options ----------------------------------------------------------------------------------------------------

void add_script_options(CLI::App& app, Options& o) {
    app.add_option("-e", o.script, "Run this script text")->take_last();
    app.add_option("-E", o.extras, "Add this script text to the script")->allow_extra_args(false);
    app.add_option("--from", o.from,
                   "Print the script, which is in the language of bpftrace, dtrace or perf (perf probe), in sonde's")
        ->check(CLI::IsMember({"bpftrace", "dtrace", "perf"}));
    app.add_option("-l", o.list_point, "List the probe points that match; '*': all families, a WORD: whatever has it")
        ->take_last();
    app.add_option("-L", o.list_point, "List them with their variables")->take_last();
    app.add_option("--why", o.why, "Say where this variable lives, and why it is not there at POINT");
    app.add_option_function<std::vector<std::string>>(
           "-D",
           [&o](const std::vector<std::string>& defines) {
               for (const std::string& define : defines) {
                   require(check_name("-D", define));
                   require(set_limit(o.limits, define));
               }
           },
           "Set a limit: NAME=VALUE")
        ->allow_extra_args(false);
    app.add_option_function<std::vector<std::string>>(
           "-G",
           [&o](const std::vector<std::string>& assignments) {
               for (const std::string& text : assignments) {
                   const size_t equals = text.find('=');
                   if (equals == std::string::npos || equals == 0)
                       require(fmt::format("-G {}: expected NAME=VALUE", text));
                   require(check_name("-G", text));
                   o.globals.emplace_back(text.substr(0, equals), text.substr(equals + 1));
               }
           },
           "Set a global's initial value: NAME=VALUE")
        ->allow_extra_args(false);
    app.add_option_function<std::string>(
           "--target-namespaces",
           [&o](const std::string& text) {
               // A global of stdlib/task.stp: a process, or -1.
               char* end = nullptr;
               long long process = text == "host" ? -1 : std::strtoll(text.c_str(), &end, 10);
               if (end && (*end || process <= 0))
                   throw CLI::ValidationError("--target-namespaces", text + " is no process, nor `host`");
               o.globals.emplace_back("__target_namespaces", std::to_string(process));
           },
           "The ns_ functions give process numbers as this process' PID namespace has them, or `host`: the machine's")
        ->allow_extra_args(false);
    app.add_option("-I", o.folders, "Add a folder of library scripts")->allow_extra_args(false);
    app.add_option("--compatible", o.compatible, "Read the script as that version of SystemTap did")
        ->check(check_version);
    app.add_flag("-g", o.guru, "Guru mode: allow what can change the traced program");
    app.add_flag("-w", o.warnings_off, "No warnings");
    app.add_flag("-W", o.warnings_fatal, "Warnings are errors");
    app.add_flag("-u", o.unoptimized, "Keep unused variables and functions");
    app.add_flag("--skip-badvars", o.skip_bad_variables, "Take 0 for a `$variable` that is not there");
    app.add_flag("--suppress-handler-errors", o.suppress_handler_errors,
                 "An error ends its handler and nothing else; skipped probes are only counted");
    app.add_flag_callback(
        "--suppress-time-limits",
        [&o] {
            o.limits.max_action = INT64_MAX / 16; // ten times as many are allowed on the host
            o.limits.max_action_interruptible = 0;
        },
        "No limit to the statements of a handler (needs -g)");
}

void add_run_options(CLI::App& app, Options& o) {
    // What expand_tool() makes of `sonde TOOL`.
    app.add_option_function<std::string>(
           "--tool",
           [&o](const std::string& name) {
               require(find_tool(name).empty() ? fmt::format("--tool {}: there is no such tool", name) : "");
               o.tool = name;
               o.filters_target = !tool_chooses_target(name);
               o.whole_stacks = tool_keeps_stacks(name);
               if (o.attach.empty() && tool_changes_return_addresses(name))
                   o.attach = "uretprobe";
           },
           "")
        ->group("");
    const auto some = [](const std::string& text) { return text.empty() ? "it needs a value" : ""; };
    app.add_option("-c", o.command, "Run this command with every probe armed, and end with it; target() is its pid")
        ->check(some)
        ->take_last();
    app.add_option_function<std::string>(
        "-x", [&o](const std::string& text) { require(set_target(o, text)); },
        "Trace this process and its children; target() is its pid");
    struct GroupOption {
        const char *name, *help;
        plan::GroupKind kind;
    };
    for (const auto& [name, help, kind] :
         {GroupOption{"--container", "NAME|ID: trace only this container, and find programs in its file system",
                      plan::GroupKind::Container},
          {"--pod", "NAMESPACE/NAME: the same of a pod of Kubernetes that runs here", plan::GroupKind::Pod},
          {"--unit", "NAME.service: the same of a unit of systemd", plan::GroupKind::Unit},
          {"--cgroup", "PATH: the same of a control group (version 2) and all below it", plan::GroupKind::Cgroup}})
        app.add_option_function<std::vector<std::string>>(
               name,
               [&o, kind = kind](const std::vector<std::string>& names) {
                   for (const std::string& one : names)
                       o.groups.push_back({kind, one, ""});
               },
               help)
            ->allow_extra_args(false)
            ->check(some);
    app.add_option("-d", o.files, "Know a library's stacks and symbols before it is loaded")
        ->allow_extra_args(false)
        ->check(some);
    app.add_option("-o", o.output, "Write the output to this file; the name may have strftime() directives");
    app.add_option_function<std::string>(
        "-S", [&o](const std::string& text) { require(set_rotation(o, text)); },
        "SIZE[,N]: begin another output file after that many megabytes, keep the last N");
    app.add_flag(
        "--relink", o.relink,
        "FILE.sonde: translate the plan's own script anew, for the programs that are here now; with -p4 -m NAME "
        "save that");
    app.add_flag("-F", o.background, "Run in the background, with -o, and print the process id");
    app.add_option_function<uint64_t>(
        "-s", [&o](uint64_t megabytes) { require(set_buffer(o, megabytes)); },
        "Megabytes of the buffer between the kernel and sonde (16)");
    app.add_option_function<uint64_t>(
           "--output-buffer", [&o](uint64_t megabytes) { o.output_buffer = megabytes << 20; },
           "Keep that many megabytes for a reader of the output that is slow (64)")
        ->check(CLI::Range(1, 65536));
    app.add_option("--output-wait", o.output_wait_s,
                   "At the end, wait that many seconds for a reader that takes nothing (2 when told to end, else 300)")
        ->check(CLI::NonNegativeNumber);
    app.add_option_function<std::string>(
           "--format",
           [&o](const std::string& format) {
               o.format = format == "json"  ? OutputFormat::Json
                          : format == "csv" ? OutputFormat::Csv
                                            : OutputFormat::Text;
           },
           "text, json (an object a line: prints, arrays, stacks, what was lost), csv (arrays as tables)")
        ->check(CLI::IsMember({"text", "json", "csv"}));
    app.add_option_function<std::string>(
           "--histogram", [&o](const std::string& style) { o.unicode_histograms = style == "unicode"; },
           "text, unicode (finer bars, each row's share, and the percentiles 50, 90 and 99)")
        ->check(CLI::IsMember({"text", "unicode"}));
    for (size_t kind = 0; kind < std::size(picture_kinds); kind++)
        app.add_option_function<std::vector<std::string>>(
               picture_kinds[kind].option,
               [&o, kind](const std::vector<std::string>& values) {
                   for (const std::string& value : values) {
                       Result<PictureRequest> request = parse_picture(static_cast<PictureRequest::Kind>(kind), value);
                       require(request ? "" : request.error().message);
                       o.pictures.push_back(*std::move(request));
                   }
               },
               picture_kinds[kind].help)
            ->allow_extra_args(false);
    app.add_option("--flame-against", o.flame_base,
                   "FILE that --folded wrote: colours of --flame tell what became more and what less since then");
    app.add_option_function<std::string>(
        "--live,--monitor", [&o](const std::string& text) { require(set_live(o, text)); },
        "[=SECONDS] Show the script's arrays, histograms and rates on the terminal as they are now (1)");
    app.add_option_function<std::string>(
        "--metrics",
        [&o](const std::string& text) {
            Result<MetricsRequest> request = parse_metrics_address(text);
            require(request ? "" : request.error().message);
            o.metrics.host = request->host;
            o.metrics.port = request->port;
        },
        "[ADDRESS]:PORT: serve the script's globals, and how the session is, to Prometheus and its like at /metrics");
    app.add_option_function<std::vector<std::string>>(
           "--label",
           [&o](const std::vector<std::string>& texts) {
               for (const std::string& text : texts)
                   require(add_label(o, text));
           },
           "ARRAY=NAME,...: what the components of the array's key are called in --metrics")
        ->allow_extra_args(false);
    app.add_option("--metrics-series", o.metrics.series,
                   "Serve at most that many series of the script's globals; how many there are more is said (10000)")
        ->check(CLI::Range(1, 10'000'000));
    app.add_option("--metrics-token-file", o.metrics.token_file,
                   "FILE: readers of --metrics have to send the token in it, `Authorization: Bearer TOKEN`")
        ->check(some);
    app.add_option_function<std::string>(
        "--metrics-tls",
        [&o](const std::string& text) {
            const Result<void> set = set_metrics_tls(o.metrics, text);
            require(set ? "" : set.error().message);
        },
        "CERTIFICATE,KEY: serve --metrics by https, with these files (PEM)");
    add_push_options(app, o);
    app.add_flag("--raw", o.raw, "Let what traced programs say act on the terminal: no escapes for control characters");
    app.add_option("-T", o.time_limit_s, "End after that many seconds")->check([](const std::string& text) {
        return std::strtod(text.c_str(), nullptr) > 0 ? "" : fmt::format("`{}` is no number of seconds above 0", text);
    });
    app.add_flag("-t", o.timing, "Report how often each probe was hit and what that cost");
    app.add_option("--report", o.report, "Write what became of the hits, and what was lost, to this file as JSON");
    app.add_option_function<std::string>(
        "--overload", [&o](const std::string& text) { require(set_overload(o, text)); },
        "PERCENT|off: disarm a probe that takes more than that of a processor (75 of each, or off with -c and -x)");
    app.add_option_function<std::string>(
        "--lossy-ok", [&o](const std::string& text) { require(set_tolerated(o, text)); },
        "[=KIND,...] End with status 0, not 3, when events or hits were lost: any, or these kinds");
    app.add_flag("--no-global-var-display", o.no_global_display, "Do not print globals that are never read");
}

void add_pass_options(CLI::App& app, Options& o) {
    app.add_option("-p", o.last_pass, "Stop after pass 1 parse, 2 analyze, 3 translate, 4 save, 5 run")
        ->check(CLI::Range(1, 5))
        ->take_last(); // as getopt(3) has it
    app.add_option(
           "-m", o.module,
           "The session's name: that of its control files' folder, and of the file that -p4 writes (NAME.sonde)")
        ->check([](const std::string& text) {
            std::string name = text.substr(text.rfind('/') + 1);
            bool good = !name.empty() && name.size() <= 64 &&
                        std::ranges::all_of(name, [](unsigned char c) { return c == '_' || isalnum(c); });
            return good ? std::string() : fmt::format("`{}` is no name of letters, digits and _", text);
        });
    app.add_flag_callback(
        "--no-cache,--disable-cache", [&o] { o.cache = Cache::Off; },
        "Translate all of it, and keep nothing: see the cache in docs/language.md");
    app.add_flag_callback(
        "--poison-cache", [&o] { o.cache = Cache::Poison; },
        "Translate all of it, and keep the result for the next session");
    app.add_flag_function(
        "-v",
        [&o](int64_t times) {
            for (int& verbose : o.verbose)
                verbose += static_cast<int>(times);
        },
        "Say what each pass does and how long it took");
    app.add_option_function<std::string>(
        "--vp", [&o](const std::string& digits) { require(add_verbosity(o.verbose, digits)); },
        "ABCDE: a digit more of -v for each pass");
    app.add_option_function<std::string>(
           "--color,--colour",
           [&o](const std::string& when) {
               o.color = when == "never" ? When::Never : when == "auto" ? When::Auto : When::Always;
           },
           "[=WHEN] Colored messages: never, always, auto (at a terminal that TERM says can)")
        ->check(CLI::IsMember({"never", "always", "auto"}));
    app.add_option("--dump", o.dump, "Print an intermediate form and stop")
        ->check(CLI::IsMember({"ast", "hir", "ir", "bpf", "plan"}));
    for (auto [name, what, text] :
         {std::tuple("--dump-functions", Inventory::Functions, "List the library's functions"),
          {"--dump-probe-aliases", Inventory::Aliases, "List the library's probe aliases"},
          {"--dump-probe-types", Inventory::ProbeTypes, "List the forms of probe points"}})
        app.add_flag_callback(name, [&o, what = what] { o.inventory = what; }, text);
    app.add_option("--host-probes", o.host_probes, "Where begin, end and timer handlers run")
        ->check(CLI::IsMember({"host", "kernel"}));
    app.add_option("--attach", o.attach, "Force a mechanism: perf_event, uretprobe, session, kprobe, fentry")
        ->check(CLI::IsMember({"perf_event", "uretprobe", "session", "kprobe", "fentry"}));
    app.add_option("--loops", o.loops, "Force how the kernel runs loops, as one before 6.9 has to")
        ->check(CLI::IsMember({"bpf_loop"}));
    app.add_option("--arrangement", o.arrangement,
                   "Force other code that does the same, as where the kernel's compiler fails")
        ->check(CLI::Range(0, 1000));
}

void add_machine_options(CLI::App& app, Options& o) {
    app.add_option_function<std::string>(
        "-r",
        [&o](const std::string& kernel) {
            utsname system{};
            uname(&system);
            o.kernel = kernel == system.release ? "" : kernel;
        },
        "Translate (-p4) for another kernel: its release, or the path of its vmlinux, vmlinuz or BTF");
    app.add_option_function<std::string>(
        "-a", [](const std::string& arch) { require(check_machine(arch, &utsname::machine, "an")); },
        "The machine's architecture: this one's");
    app.add_option_function<std::string>(
           "--runtime", [](const std::string&) {}, "bpf: everything runs on it; others are accepted")
        ->check(CLI::IsMember({"bpf", "kernel", "dyninst"}));
    app.add_flag_callback("--bpf,--dyninst", [] {}, "As --runtime");
    app.add_option_function<std::string>(
           "--privilege",
           [](const std::string& level) {
               if (level != "stapdev")
                   require(fmt::format("--privilege={}: BPF programs need CAP_BPF and CAP_PERFMON; there are no lesser "
                                       "levels",
                                       level));
           },
           "stapdev: there are no other levels")
        ->check(CLI::IsMember({"stapusr", "stapsys", "stapdev"}));
    for (auto [name, resource] : {std::pair("--rlimit-as", RLIMIT_AS),
                                  {"--rlimit-cpu", RLIMIT_CPU},
                                  {"--rlimit-nproc", RLIMIT_NPROC},
                                  {"--rlimit-stack", RLIMIT_STACK},
                                  {"--rlimit-fsize", RLIMIT_FSIZE}})
        app.add_option_function<uint64_t>(
            name, [resource = resource](uint64_t value) { require(set_resource_limit(resource, value)); },
            "Limit sonde itself (setrlimit)");
    for (const Accepted& option : accepted) {
        CLI::Option* added = option.takes_value ? app.add_option_function<std::vector<std::string>>(
                                                         option.names,
                                                         [&option](const std::vector<std::string>& values) {
                                                             for (const std::string& value : values)
                                                                 require(check_value(option, value));
                                                         },
                                                         option.why)
                                                      ->allow_extra_args(false)
                                                : app.add_flag_callback(option.names, [] {}, option.why);
        added->group("Accepted, as command lines for stap have them, and without effect");
    }
    // Hidden from --help; here for their messages.
    for (const Refused& option : refused) {
        std::istringstream names(option.names);
        for (std::string name; std::getline(names, name, ',');)
            app.add_option_function<std::vector<std::string>>(
                   name,
                   [problem = fmt::format("{}: {}", name, option.why)](const std::vector<std::string>&) {
                       require(problem);
                   },
                   "")
                ->expected(0, 1)
                ->take_last()
                ->group("");
    }
}

// ---- the words ------------------------------------------------------------------------------------------------------

// The words of the file with default options: split and expanded as the shell does, without running commands.
Result<std::vector<std::string>> read_defaults() {
    const char* folder = std::getenv("SYSTEMTAP_DIR");
    const char* home = std::getenv("HOME");
    std::string path = folder ? std::string(folder) + "/rc" : home ? std::string(home) + "/.systemtap/rc" : "";
    std::error_code ignored;
    if (path.empty() || !std::filesystem::exists(path, ignored))
        return std::vector<std::string>();
    Result<std::string> text = read_trusted_file(path);
    if (!text)
        return std::move(text).error();
    std::vector<std::string> words;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        size_t first = line.find_first_not_of(" \t");
        if (first == std::string::npos || line[first] == '#')
            continue;
        wordexp_t expanded{};
        int failed = wordexp(line.c_str(), &expanded, WRDE_NOCMD);
        if (!failed)
            words.insert(words.end(), expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
        wordfree(&expanded);
        if (failed)
            return Error(fmt::format("{}: cannot split `{}` into words", path, line));
    }
    return words;
}

// What only all options together can get wrong.
std::string check_together(const Options& o, bool lifts_limits, bool asks_why) {
    if (asks_why && (o.why.empty() || o.positional.size() != 1))
        return "--why takes a variable and one probe point: sonde --why '$x' 'process(\"PATH\").function(\"NAME\")'";
    if (o.list && (o.list_point == "v" || o.list_point == "n") && !o.positional.empty())
        return fmt::format("`-l{}` is another tracer's: `-L '{}'` lists points with their variables, `-l` without",
                           o.list_point, o.positional[0]);
    if (lifts_limits && !o.guru)
        return "--suppress-time-limits needs guru mode (-g): a handler without limit can stop the machine";
    if (o.background && o.output.empty())
        return "-F needs -o FILE: there is no other place where a background process's output could be kept";
    if (o.background && !o.command.empty())
        return "-F and -c exclude each other: a background process has no command to wait for";
    if (!o.from.empty() && (o.list || !o.why.empty() || o.last_pass != 5 || !o.dump.empty()))
        return "--from prints a script's translation and nothing else; `sonde --from=LANGUAGE FILE | sonde -` runs it";
    if (!o.command.empty() && o.target_pid != 0)
        return "You can't specify -c and -x together: each says what the target is";
    if (o.target_pid != 0 && o.last_pass == 5 && !is_process(o.target_pid))
        return fmt::format("-x {}: there is no such process", o.target_pid);
    if (o.relink && (o.has_script || o.positional.empty() || !o.positional[0].ends_with(".sonde")))
        return "--relink takes a saved plan: sonde --relink FILE.sonde";
    const auto has_colours = [](const PictureRequest& request) {
        return request.kind == PictureRequest::Flame && !request.file.ends_with(".json");
    };
    if (!o.flame_base.empty() && std::ranges::none_of(o.pictures, has_colours))
        return "--flame-against needs --flame FILE.svg or FILE.html: it colours that picture";
    if (o.live_s && o.background)
        return "--live and -F exclude each other: a background process has no terminal";
    if (o.format != OutputFormat::Text && std::ranges::any_of(o.pictures, [](const PictureRequest& picture) {
            return picture.kind == PictureRequest::Heatmap && picture.file == "-";
        }))
        return "--heatmap - is text on standard output, which --format makes another; give a FILE.svg or FILE.html";
    if (!o.metrics.wanted() && !o.metrics.token_file.empty())
        return "--metrics-token-file needs --metrics=ADDRESS:PORT: it says who may read them";
    if (!o.metrics.wanted() && !o.metrics.certificate_file.empty())
        return "--metrics-tls needs --metrics=ADDRESS:PORT: it says how they are served";
    if (o.output_bytes && o.output.empty())
        return "-S needs -o FILE";
    if (!o.kernel.empty() && o.last_pass == 5 && o.dump.empty() && !o.list && o.why.empty() &&
        o.inventory == Inventory::None)
        return fmt::format("-r {}: that is not the kernel that runs here; add `-p4 -m NAME` and run NAME.sonde there",
                           o.kernel);
    if (std::error_code error; !o.has_script && o.tool.empty() && !o.list && !o.positional.empty() &&
                               !find_tool(o.positional[0]).empty() && !std::filesystem::exists(o.positional[0], error))
        return fmt::format("`{0}` is a tool, and its name comes first: sonde {0} [options]", o.positional[0]);
    bool has_work = o.has_script || !o.tool.empty() || o.list || o.inventory != Inventory::None ||
                    !o.positional.empty() || !o.extras.empty();
    return has_work ? "" : "no script: give a FILE, - or -e SCRIPT (see sonde --help)";
}

// Options that were given more than once, or that contradict each other by their numbers: the message, or nothing.
std::string check_counts(const CLI::App& app) {
    if (app.count("-l") + app.count("-L") > 1)
        return "-l and -L take one pattern: several stand in it with commas, as `-l 'begin, end'`";
    if (app.count("-e") > 1)
        return "-e is there twice: -E adds another script text";
    const std::vector<std::string> passes = app.get_option("-p")->results();
    for (const std::string& pass : passes)
        if (pass != passes[0])
            return fmt::format("-p{} and -p{} contradict each other: give the last pass that is to run", passes[0],
                               pass);
    for (const char* name : {"-c", "-x"})
        if (app.count(name) > 1)
            return fmt::format("{} is there twice: a session has one target", name);
    return "";
}

int fail(const std::string& message) {
    fmt::print(stderr, "ERROR: {}\n", message);
    return exit_failure;
}

} // namespace

std::string with_value(const std::string& word) {
    for (const char* name :
         {"--color", "--colour", "--prologue-searching", "--download-debuginfo", "--use-server-on-error"})
        if (word == name)
            return word + "=always";
    if (word == "--compatible=") // asks for nothing
        return word + std::string(systemtap_version);
    if (word == "--live" || word == "--monitor")
        return word + "=1"; // a second
    return word == "--lossy-ok" ? word + "=all" : word;
}

void require(const std::string& problem) {
    if (!problem.empty())
        throw CLI::ValidationError(problem);
}

void add_options(CLI::App& app, Options& options) {
    add_script_options(app, options);
    add_run_options(app, options);
    add_pass_options(app, options);
    add_machine_options(app, options);
}

std::variant<Options, int> read_words(std::vector<std::string> words) {
    Options options;
    options.words = words;
    options.compatible = systemtap_version;
    CLI::App app{"Traces programs and the kernel: runs SystemTap's language on BPF.\n"
                 "  sonde TOOL [options]    (`sonde tools` lists them)\n"
                 "  sonde [options] FILE [ARGS]\n  sonde [options] -e SCRIPT [ARGS]\n  sonde [options] -l|-L POINT\n"
                 "  sonde --why '$VARIABLE' POINT\n"
                 "Exit status: 0 success, 1 failure, 3 success, but events or hits were lost (--lossy-ok: 0)"};
    app.name("sonde");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.failure_message([](const CLI::App*, const CLI::Error& error) {
        return fmt::format("ERROR: {}\nSee sonde --help.\n", explain_option_error(error.what()));
    });
    // Scripts that make scripts read "version N.N" here, and decide by it what they write.
    app.set_version_flag("-V,--version",
                         fmt::format("sonde {}: SystemTap's language, version {}", SONDE_VERSION, systemtap_version));
    add_options(app, options);
    bool clean = false;
    app.add_flag("--clean-cache", clean,
                 "Delete of the cache what has not been used for longest, down to its limit, and end");
    app.add_option("FILE", options.positional, "The script (- for standard input), then its arguments");

    std::reverse(words.begin(), words.end()); // as CLI11 takes them
    try {
        app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_failure;
    }
    options.has_script = app.count("-e") > 0;
    options.list_variables = app.count("-L") > 0;
    options.list = app.count("-l") > 0 || options.list_variables;
    if (clean) {
        const Result<void> cleaned = CacheFolder::clean();
        return cleaned ? 0 : fail("--clean-cache: " + cleaned.error().message);
    }
    if (std::string problem = check_counts(app); !problem.empty())
        return fail(problem);
    if (options.suppress_handler_errors)
        options.limits.max_skipped = UINT64_MAX;
    choose_stack_limits(options);
    if (std::string problem = check_pushes(app, options); !problem.empty())
        return fail(problem);
    if (std::string problem = check_together(options, app.count("--suppress-time-limits") > 0, app.count("--why") > 0);
        !problem.empty())
        return fail(problem);
    return options;
}

std::variant<Options, int> read_command_line(int argc, char** argv) {
    Result<std::vector<std::string>> words = read_defaults();
    if (!words)
        return fail(words.error().message);
    if (argc > 1 && std::string_view(argv[1]) == "--complete")
        return print_completions({argv + 2, argv + argc});
    Result<std::vector<std::string>> given =
        words_as(argc > 0 ? argv[0] : "", std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
    if (!given)
        return fail(given.error().message);
    std::variant<std::vector<std::string>, int> expanded = expand_tool(*given);
    if (const int* status = std::get_if<int>(&expanded))
        return *status;
    for (const std::string& word : std::get<0>(expanded))
        words->push_back(with_value(word));
    return read_words(*std::move(words));
}

std::optional<double> overload_limit(const Options& options) {
    const Limits& limits = options.limits;
    if (options.overload)
        return options.overload;
    if (limits.no_overload)
        return std::numeric_limits<double>::infinity();
    if (limits.overload_threshold)
        return 100 * static_cast<double>(limits.overload_threshold) / static_cast<double>(limits.overload_interval);
    return {};
}

} // namespace sonde
