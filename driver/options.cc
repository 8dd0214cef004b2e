// The command line, from words to Options.
//
// CLI11 splits the words into options and values, and the rows of options/*.def read the values. The order matters:
//
// * Help and the version come first. They work even if the rest of the command line is wrong.
// * --relink loads the plan's options before the rows add to them.
// * Checks of several options run when all values are known.
// * derive_needs() runs last. It computes options that the user cannot give.
#include "driver/options.h"

#include <sys/utsname.h>
#include <wordexp.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <limits>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/processes.h"
#include "base/trusted_file.h"
#include "driver/cache_folder.h"
#include "driver/called_as.h"
#include "driver/option_messages.h"
#include "driver/option_table.h"
#include "driver/recordings.h"
#include "driver/tools.h"
#include "frontend/parse/parser.h"
#include "runtime/containers/groups.h"
#include "runtime/plan/plan_file.h"

namespace sonde {
namespace {

constexpr int exit_failure = 1;

int fail(const std::string& message) {
    fmt::print(stderr, "ERROR: {}\n", message);
    return exit_failure;
}

std::string running_release() {
    utsname system{};
    uname(&system);
    return system.release;
}

// ---- from words to values -------------------------------------------------------------------------------------------

// Adds the implied value to an option without its optional value. Otherwise CLI11 would use the next word.
std::string with_value(const std::string& word) {
    if (word == "--compatible=") // the newest version
        return word + std::string(systemtap_version);
    const OptionRow* row = word.starts_with("--") ? find_option(word) : nullptr;
    return row && row->has_optional_value() ? fmt::format("{}={}", word, row->implied()) : word;
}

// The words of the command line by option. The options are in the order of the table.
class Words {
  public:
    // Returns an error message, or "".
    std::string split(std::vector<std::string> words) {
        CLI::App app;
        app.set_help_flag("");
        app.allow_extras();
        for (const OptionRow& row : option_table())
            for (const std::string& name : row.all_names())
                add(app, row, name);
        app.add_option("FILE", positional);
        std::ranges::reverse(words); // CLI11 reads them from the end
        try {
            app.parse(std::move(words));
        } catch (const CLI::ArgumentMismatch& error) {
            const std::string text = error.what(), name = text.substr(0, text.find(':'));
            return find_option(name) ? name + " needs a value" : text;
        } catch (const CLI::ParseError& error) {
            return error.what();
        }
        for (Entry& one : entries_)
            if (one.option->count() > 0) {
                one.given.count = one.option->count();
                // CLI11 also stores a value for a flag. Ignore it.
                if (!one.row->is_flag())
                    one.given.values = one.option->results();
            }
        const std::vector<std::string> unknown = app.remaining();
        const auto first = std::ranges::find_if(
            unknown, [](const std::string& word) { return word.starts_with('-') && word != "--"; });
        unknown_ = first == unknown.end() ? "" : unknown_option(*first);
        return "";
    }

    // Stores the values in the options. Returns an error message, or "".
    std::string read(Options& options) const {
        for (const Entry& one : entries_)
            if (one.given.count > 0)
                if (std::string wrong = one.row->read(options, one.given); !wrong.empty())
                    return wrong;
        return "";
    }

    // Counts the option on the command line, by any of its names.
    size_t count(std::string_view name) const {
        size_t out = 0;
        for (const Entry& one : of(name))
            out += one.given.count;
        return out;
    }
    std::vector<std::string> values(std::string_view name) const {
        std::vector<std::string> out;
        for (const Entry& one : of(name))
            out.insert(out.end(), one.given.values.begin(), one.given.values.end());
        return out;
    }
    // Rejects options that accept one value and got several.
    std::string check_counts() const;
    // The error message about the first unknown option; empty: all options are known.
    const std::string& unknown() const { return unknown_; }

    Texts positional;

  private:
    // An option with several names has an entry for each, so that messages can use the name that the user wrote.
    struct Entry {
        const OptionRow* row;
        std::string name;
        CLI::Option* option;
        Given given;
    };

    void add(CLI::App& app, const OptionRow& row, const std::string& name) {
        Entry& entry = entries_.emplace_back(Entry{&row, name, nullptr, {}});
        entry.given.name = entry.name;
        entry.given.argument = row.argument;
        if (row.is_flag()) {
            entry.option = app.add_flag(name)->disable_flag_override();
            return;
        }
        entry.option = app.add_option(name)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        if (row.argument.starts_with("[ANY]"))
            entry.option->expected(0, 1);
        else
            entry.option->type_size(1)->expected(1)->allow_extra_args(false);
    }
    std::vector<Entry> of(std::string_view name) const {
        std::vector<Entry> out;
        const OptionRow* row = find_option(name);
        std::ranges::copy_if(entries_, std::back_inserter(out), [&](const Entry& one) { return one.row == row; });
        return out;
    }

    std::deque<Entry> entries_; // `given` refers to the entry's name
    std::string unknown_;
};

std::string Words::check_counts() const {
    if (count("-l") + count("-L") > 1)
        return "-l and -L take one pattern: write several with commas, as in `-l 'begin, end'`";
    if (count("-e") > 1)
        return "-e is given twice: use -E to add another script text";
    for (const char* name : {"-c", "-x"})
        if (count(name) > 1)
            return fmt::format("{} is given twice: a session has one target", name);
    for (const OptionRow& row : option_table()) {
        if (row.is_flag() || row.repeats())
            continue;
        const std::string name = row.all_names()[0];
        if (values(name).size() > 1 && name != "-p") // the last -p counts
            return fmt::format("{} is given more than once, but takes one value", name);
    }
    return "";
}

// ---- all options together -------------------------------------------------------------------------------------------

// The checks return the message about the first conflict between options, or "".
std::string check_finding(const Options& o, const Words& words) {
    const DriverOptions& driver = o.driver;
    const Texts& positional = o.translate.positional;
    if (words.count("--why") > 0 && (driver.why.empty() || positional.size() != 1))
        return "--why takes a variable and one probe point: sonde --why '$x' 'process(\"PATH\").function(\"NAME\")'";
    if (driver.list && (driver.list_point == "v" || driver.list_point == "n") && !positional.empty())
        return fmt::format("`-l{}` is an option of another tracer: `-L '{}'` lists points with their variables, `-l` "
                           "lists them without",
                           driver.list_point, positional[0]);
    if (o.sinks.live_s && (driver.list || driver.inventory != Inventory::None))
        return "--live and --monitor show a running session, and a list has none";
    if (!driver.from.empty() && (driver.list || !driver.why.empty() || driver.last_pass != 5 || !driver.dump.empty()))
        return "--from only prints the translation of a script; `sonde --from=LANGUAGE FILE | sonde -` runs it";
    return "";
}

std::string check_estimate(const Options& o) {
    if (!o.driver.estimate_s)
        return "";
    if (!o.session.command.empty())
        return "--estimate samples the running system, and -c starts its command only in the session: start the "
               "command "
               "yourself, and give -x PID";
    if (!o.driver.saved_plan.empty() && !o.driver.relink)
        return fmt::format("--estimate needs a script, and `{}` is a saved plan", o.driver.saved_plan);
    if (!o.driver.replay.empty() || !o.sinks.record.empty() || o.driver.background)
        return "--estimate runs no session: leave out --record, replay and -F";
    if (!o.runs())
        return "--estimate samples the script's probes, so it excludes -p, --dump and lists";
    return "";
}

std::string check_session(const Options& o) {
    const SessionOptions& session = o.session;
    if (o.translate.suppress_time_limits && !o.translate.guru)
        return "--suppress-time-limits needs guru mode (-g): a handler without a limit can stop the machine";
    if (o.driver.background && session.output.path.empty())
        return "-F needs -o FILE: a background process has no terminal for its output";
    if (o.driver.background && !session.command.empty())
        return "-F and -c exclude each other: a background process cannot wait for a command";
    if (!session.command.empty() && session.target_pid != 0)
        return "You can't specify -c and -x together: each of them names the target";
    if (session.target_pid != 0 && o.driver.last_pass == 5 && !is_process(session.target_pid))
        return fmt::format("-x {}: this process does not exist", session.target_pid);
    if (o.sinks.live_s && o.driver.background)
        return "--live and -F exclude each other: a background process has no terminal";
    if (session.output.bytes && session.output.path.empty())
        return "-S needs -o FILE";
    if (o.driver.editable && !o.driver.saved_plan.empty() && !o.driver.relink)
        return "--editable needs the script: a saved plan has no declarations that added probes could use";
    if (o.driver.editable && (o.driver.last_pass != 5 || session.dry_run))
        return "--editable is for a session that runs; leave out -p and --dry-run";
    return "";
}

std::string check_pictures(const SinkOptions& sinks, OutputFormat format) {
    const auto has_colours = [](const PictureRequest& request) {
        return request.kind == PictureRequest::Flame && !request.file.ends_with(".json");
    };
    if (!sinks.flame_base.empty() && std::ranges::none_of(sinks.pictures, has_colours))
        return "--flame-against needs --flame FILE.svg or FILE.html: it sets the colours of that picture";
    if (format != OutputFormat::Text && std::ranges::any_of(sinks.pictures, [](const PictureRequest& picture) {
            return picture.kind == PictureRequest::Heatmap && picture.file == "-";
        }))
        return fmt::format(
            "--heatmap - prints text, but --format={} prints another format; give a FILE.svg or FILE.html",
            traits(format).name);
    return "";
}

std::string check_export(const SinkOptions& sinks, const Words& words) {
    const auto is_pushed = [](const PictureRequest& request) { return request.is_pushed(); };
    const auto is_https = [](const PictureRequest& request) { return request.target.has_tls; };
    const MetricsRequest& metrics = sinks.metrics;
    if (!metrics.wanted() && !metrics.token_file.empty())
        return "--metrics-token-file needs --metrics=ADDRESS:PORT: the token is for its readers";
    if (!metrics.wanted() && !metrics.certificate_file.empty())
        return "--metrics-tls needs --metrics=ADDRESS:PORT";
    if (!sinks.otlp.wanted())
        for (const OptionRow& row : option_table())
            if (row.names.starts_with("--otlp-") && words.count(row.names) > 0)
                return fmt::format("{} needs --otlp=URL", row.names);
    if (!sinks.otlp.wanted() && !metrics.wanted() && words.count("--metrics-series") > 0)
        return "--metrics-series needs --metrics=ADDRESS:PORT or --otlp=URL";
    const bool pushes_profile = std::ranges::any_of(sinks.pictures, is_pushed);
    if (!sinks.pprof_push.headers.empty() && !pushes_profile)
        return "--pprof-header needs --pprof=URL";
    if (sinks.pprof_interval_s > 0 && !pushes_profile)
        return "--pprof-interval needs --pprof=URL";
    if (words.count("--tls-ca") > 0 && !sinks.otlp.target.has_tls && std::ranges::none_of(sinks.pictures, is_https))
        return "--tls-ca needs --otlp or --pprof with an https:// URL";
    return "";
}

// Checks the options of a translation for another machine: its processes and its events are not here.
std::string check_machine(const Options& o) {
    const DriverOptions& driver = o.driver;
    if (!o.name_other_machine())
        return "";
    const std::string option = driver.sysroot.empty() ? fmt::format("--arch {}", driver.architecture->names()[0])
                                                      : "--sysroot " + driver.sysroot;
    if (!driver.saved_plan.empty() && !driver.relink)
        return fmt::format("{}: `{}` is translated already; run it on its machine", option, driver.saved_plan);
    if (o.runs() && driver.sysroot.empty())
        return fmt::format(
            "{}: this machine is {}, so the script cannot run here; add `-p4 -m NAME` and run NAME.sonde "
            "there",
            option, host_architecture().name());
    if (o.runs())
        return fmt::format("{}: the script is for the machine with these files; add `-p4 -m NAME` and run NAME.sonde "
                           "there",
                           option);
    if (o.session.target_pid != 0)
        return fmt::format("{} and -x {} exclude each other: the process is on this machine", option,
                           o.session.target_pid);
    if (!o.translate.groups.empty())
        return fmt::format("{} and {} {} exclude each other: sonde finds programs of a group only on its machine",
                           option, option_of(o.translate.groups[0].kind), o.translate.groups[0].name);
    return "";
}

std::string check_work(const Options& o) {
    const DriverOptions& driver = o.driver;
    const Translate& translate = o.translate;
    if (!driver.replay.empty()) // a script is optional
        return "";
    if (std::string wrong = check_machine(o); !wrong.empty())
        return wrong;
    if (!driver.kernel.empty() && o.runs())
        return fmt::format("-r {}: this kernel does not run here; add `-p4 -m NAME` and run NAME.sonde there",
                           driver.kernel);
    if (driver.relink)
        return "";
    if (std::error_code error; !translate.has_script && translate.tool.empty() && !driver.list &&
                               !translate.positional.empty() && !find_tool(translate.positional[0]).empty() &&
                               !std::filesystem::exists(translate.positional[0], error))
        return fmt::format("`{0}` is a tool, and its name comes first: sonde {0} [options]", translate.positional[0]);
    const bool has_work = translate.has_script || !translate.tool.empty() || driver.list ||
                          driver.inventory != Inventory::None || !translate.positional.empty() ||
                          !translate.extras.empty();
    return has_work ? "" : "no script: give a FILE, - or -e SCRIPT (see sonde --help)";
}

// A replay has sinks, and a script may run over its events. It has no session of the running system.
std::string check_recordings(const Options& o, const Words& words) {
    constexpr std::string_view fit[] = {"--live",         "--replay",  "--since",
                                        "--until",        "--pid",     "--tid",
                                        "--execname",     "-o",        "-S",
                                        "--format",       "--raw",     "--color",
                                        "--flame",        "--folded",  "--flame-against",
                                        "--timeline",     "--heatmap", "--pprof",
                                        "--report",       "-w",        "--output-buffer",
                                        "--pprof-header", "--tls-ca",  "--no-global-var-display"};
    // Options of a script over a recording.
    constexpr std::string_view fit_script[] = {"-e",
                                               "-E",
                                               "-G",
                                               "-I",
                                               "-D",
                                               "-W",
                                               "-u",
                                               "-l",
                                               "-L",
                                               "-p",
                                               "-v",
                                               "-t",
                                               "--dump",
                                               "--vp",
                                               "--histogram",
                                               "--label",
                                               "--suppress-handler-errors",
                                               "--compatible",
                                               "--lossy-ok"};
    const bool has_script = words.count("-e") > 0 || words.count("-l") > 0 || words.count("-L") > 0 ||
                            words.count("-E") > 0 || !words.positional.empty();
    if (o.sinks.records_hits && o.sinks.record.empty())
        return "--record-hits needs --record FILE";
    if (o.sinks.flight.is_wanted && o.sinks.record.empty())
        return "--flight needs --record FILE: its recordings are FILE.1, FILE.2 and so on";
    if (words.count("--flight-files") > 0 && !o.sinks.flight.is_wanted)
        return "--flight-files needs --flight";
    if (words.count("--flight-total") > 0 && !o.sinks.flight.is_wanted)
        return "--flight-total needs --flight";
    if (!o.sinks.dump_when.empty() && !o.sinks.flight.is_wanted)
        return "--dump-when needs --flight, whose recordings it triggers: `sonde record --flight=30s -o FILE ...`";
    if (o.driver.replay.empty()) {
        for (const char* name : {"--since", "--until", "--pid", "--tid", "--execname"})
            if (words.count(name) > 0)
                return fmt::format("{0} selects events of a recording: sonde replay FILE {0}=...{1}", name,
                                   name == std::string_view("--pid") ? "; -x PID traces a process" : "");
        return "";
    }
    const auto has = [](std::span<const std::string_view> names, const std::string& name) {
        return std::ranges::find(names, name) != names.end();
    };
    for (const OptionRow& row : option_table()) {
        const std::string name = row.all_names()[0];
        if (words.count(name) == 0 || has(fit, name) || (has_script && has(fit_script, name)))
            continue;
        if (has(fit_script, name))
            return fmt::format("{} needs a script over the recording: sonde replay FILE -e SCRIPT", name);
        return fmt::format("{} has no effect on a replay, which runs no session: it takes -o, --format, pictures such "
                           "as --flame, and a script",
                           name);
    }
    if (has_script && o.sinks.live_s)
        return "--live shows a recording at the speed of its session, and a script reads it at once: leave out one of "
               "them";
    if (has_script && o.driver.last_pass == 4)
        return "-p4 saves a script for the running system, and this one is for a recording";
    if (const EventFilter& only = o.driver.only;
        only.since && only.until && only.since->kind == only.until->kind && only.since->ns >= only.until->ns)
        return "--since must be before --until";
    return "";
}

std::string check_together(const Options& o, const Words& words) {
    for (std::string wrong :
         {check_recordings(o, words), check_finding(o, words), check_estimate(o), check_session(o),
          check_pictures(o.sinks, o.session.output.format), check_export(o.sinks, words), check_work(o)})
        if (!wrong.empty())
            return wrong;
    return "";
}

// Derives the needs of the session and of the tool. For example, --timeline needs a record of every hit (tells_hits),
// and --flame needs arrays with whole stacks. A plan that is translated again keeps its earlier needs: its next session
// may have them, too.
void derive_needs(Options& o) {
    Translate& t = o.translate;
    const SessionOptions& session = o.session;
    const SinkOptions& sinks = o.sinks;
    if (!t.tool.empty() && t.attach.empty() && tool_changes_return_addresses(t.tool))
        t.attach = "uretprobe";
    if (session.has_target()) {
        t.filters_target |= t.tool.empty() || !tool_chooses_target(t.tool);
        t.target_command = session.command;
    }
    const bool exports_metrics = sinks.metrics.wanted() || sinks.otlp.wants(OtlpMetrics);
    o.session.tells_cost |= !t.tool.empty() && tool_tells_cost(t.tool);
    t.keeps_times |= t.timing || session.tells_cost || o.driver.editable || !sinks.report.empty() || exports_metrics;
    const bool records = !sinks.record.empty();
    o.session.has_flight = sinks.flight.is_wanted;
    t.tells_hits |= sinks.wants(PictureRequest::Timeline) || sinks.otlp.wants(OtlpTraces) || sinks.records_hits;
    t.tells_context |= records || t.tells_hits || traits(session.output.format).tells_context;
    t.keeps_distributions |= exports_metrics;
    t.keeps_whole_stacks |= records || (!t.tool.empty() && tool_keeps_stacks(t.tool));
    if (records) // a heatmap may be drawn of any statistic
        t.keeps_quantiles.emplace_back();
    for (const PictureRequest& picture : sinks.pictures) {
        t.keeps_whole_stacks |= facts_of(picture.kind).of_stacks;
        if (picture.kind == PictureRequest::Heatmap &&
            std::ranges::find(t.keeps_quantiles, picture.global) == t.keeps_quantiles.end())
            t.keeps_quantiles.push_back(picture.global);
    }
    t.settable_globals = o.driver.last_pass == 4;
}

// SystemTap has macros (-D) instead of --overload.
void derive_overload(const Limits& limits, std::optional<double>& overload) {
    if (overload)
        return;
    if (limits.no_overload)
        overload = std::numeric_limits<double>::infinity();
    else if (limits.overload_threshold)
        overload = 100 * static_cast<double>(limits.overload_threshold) / static_cast<double>(limits.overload_interval);
}

// --relink: starts with the options of the plan. The command line then adds to them, but a group on the command line
// replaces the plan's groups.
Result<void> begin_with_plan(const std::string& path, const Words& words, Options& options) {
    Result<plan::Plan> plan = plan::load_file(path);
    if (!plan)
        return std::move(plan).error();
    if (plan->origin.scripts.empty() && !plan->translate.has_script)
        return Error(fmt::format("cannot relink `{}`: it does not keep its script: translate that again", path));
    const bool has_target = words.count("-c") > 0 || words.count("-x") > 0;
    const std::vector<std::string> passes = words.values("-p");
    if (plan->filter_target && !has_target && (passes.empty() || passes.back() == "5"))
        return Error(why_no_session_without_target(path));
    options.translate = std::move(plan->translate);
    options.driver.origin = std::move(plan->origin);
    for (const char* name : {"--container", "--pod", "--unit", "--cgroup"})
        if (words.count(name) > 0)
            options.translate.groups.clear();
    return {};
}

// Reads the words without a row (FILE, --relink), then the rows of the table.
std::string read_script_words(const Words& words, Options& options) {
    DriverOptions& driver = options.driver;
    const bool is_plan = !words.positional.empty() && words.positional[0].ends_with(".sonde");
    const bool has_script = words.count("-e") > 0;
    driver.list_variables = words.count("-L") > 0;
    driver.list = words.count("-l") > 0 || driver.list_variables;
    if (words.count("--relink") > 0) {
        if (has_script || !is_plan)
            return "--relink takes a saved plan: sonde --relink FILE.sonde";
        if (Result<void> begun = begin_with_plan(words.positional[0], words, options); !begun)
            return begun.error().message;
    } else {
        options.translate.has_script = has_script;
        options.translate.positional = words.positional;
    }
    if (is_plan && !has_script && words.count("--tool") == 0 && !driver.list && words.count("--why") == 0)
        driver.saved_plan = words.positional[0];
    return words.read(options);
}

std::variant<Options, int> read_words(std::vector<std::string> given) {
    const auto refuse = [](const std::string& problem) { return fail(problem + "\nSee sonde --help."); };
    Options options;
    options.driver.words = options.sinks.command = given;
    Words words;
    if (std::string wrong = words.split(std::move(given)); !wrong.empty())
        return refuse(wrong);
    if (words.count("--help") > 0)
        return fmt::print("{}", short_help()), 0;
    // Scripts that generate scripts look for "version N.N" here, and adapt their output to this version.
    if (words.count("--version") > 0)
        return fmt::print("sonde {}: SystemTap's language, version {}\n", SONDE_VERSION, systemtap_version), 0;
    if (!words.unknown().empty())
        return refuse(words.unknown());
    if (std::string wrong = words.check_counts(); !wrong.empty())
        return refuse(wrong);
    if (std::string wrong = read_script_words(words, options); !wrong.empty())
        return refuse(wrong);
    if (options.driver.asks == Question::CleanCache) {
        const Result<void> cleaned = CacheFolder::clean();
        return cleaned ? 0 : fail("--clean-cache: " + cleaned.error().message);
    }
    // The running kernel needs no -r. That of another machine can have the same release.
    if (!options.name_other_machine() && options.driver.kernel == running_release())
        options.driver.kernel.clear();
    if (std::string wrong = check_together(options, words); !wrong.empty())
        return fail(wrong);
    derive_needs(options);
    derive_overload(options.translate.limits, options.session.overload);
    return options;
}

// ---- the file with default options ----------------------------------------------------------------------------------

// Returns the words of the file with default options, split and expanded as by the shell. Commands are not run.
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

} // namespace

std::string why_no_session_without_target(const std::string& plan) {
    return fmt::format("{} was made with -c or -x, and runs with one of them only", plan);
}

std::variant<Options, int> read_command_line(int argc, char** argv) {
    Result<std::vector<std::string>> words = read_defaults();
    if (!words)
        return fail(words.error().message);
    Result<std::vector<std::string>> given =
        words_as(argc > 0 ? argv[0] : "", std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
    if (!given)
        return fail(given.error().message);
    std::variant<std::vector<std::string>, int> expanded = expand_recording(*given);
    if (const int* status = std::get_if<int>(&expanded))
        return *status;
    expanded = expand_tool(std::get<0>(expanded));
    if (const int* status = std::get_if<int>(&expanded))
        return *status;
    // Words after `--` are the script's.
    bool is_option = true;
    for (const std::string& word : std::get<0>(expanded)) {
        is_option = is_option && word != "--";
        words->push_back(is_option ? with_value(word) : word);
    }
    std::variant<Options, int> read = read_words(*std::move(words));
    if (Options* options = std::get_if<Options>(&read))
        options->driver.named_stap = argc > 0 && std::filesystem::path(argv[0]).filename() == "stap";
    return read;
}

} // namespace sonde
