// The command line: SystemTap's options, as far as they mean something here, and sonde's own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/metrics/otlp_request.h"
#include "runtime/sinks/metrics/request.h"
#include "runtime/sinks/pictures/request.h"
#include "runtime/text/accounting.h"
#include "runtime/text/output.h"

namespace sonde {

// Limits that -D sets; anything else is accepted and has no effect, as scripts pass macros meant for other runtimes.
struct Limits {
    uint64_t max_string = 0, max_action = 1000, max_action_interruptible = 0, max_errors = 0, max_skipped = 100,
             max_map_entries = 2048, max_nesting = 16, max_backtrace = 0, hist_elision = 2, hist_width = 50,
             max_buckets = 128, no_overload = 0, overload_threshold = 0,
             overload_interval = 1'000'000'000; // in cycles of a processor; 0: not given, as for
                                                // max_action_interruptible, and max_string and
                                                // max_backtrace until the command line is read
};

enum class When { Auto, Never, Always };
// Poison: nothing is taken from it.
enum class Cache { On, Poison, Off };
enum class Inventory { None, Functions, Aliases, ProbeTypes };

struct Options {
    std::string script; // -e
    bool has_script = false;
    std::vector<std::string> extras; // -E
    std::string from;                // --from: another tracer's language
    std::string list_point;          // -l, -L
    bool list = false, list_variables = false;
    std::string why;                       // --why: the variable; the point is the first positional argument
    Inventory inventory = Inventory::None; // --dump-functions, --dump-probe-aliases, --dump-probe-types
    std::vector<std::string> words;        // what all of this was read from
    std::vector<std::string> positional;   // FILE and script arguments
    std::string command;                   // -c
    int64_t target_pid = 0;                // -x
    std::vector<plan::GroupName> groups;   // --container, --pod, --unit, --cgroup
    std::string tool;                      // the tool whose script runs (driver/tools.h)
    bool filters_target = true;            // false: the tool's script asks for target() itself
    std::string report;                    // --report
    LossKinds tolerated;                   // --lossy-ok
    bool raw = false;                      // --raw
    std::optional<double> overload;        // --overload: percent of a processor; infinity: off
    std::string output;                    // -o
    std::vector<PictureRequest> pictures;  // --folded, --flame, --timeline, --heatmap
    std::optional<double> live_s;          // --live, --monitor
    OtlpRequest otlp;                      // --otlp, --otlp-...
    HttpSettings pprof_push;               // --pprof-header
    double pprof_interval_s = 0;           // --pprof-interval; 0: without
    std::string tls_ca;                    // --tls-ca; empty: the machine's
    MetricsRequest metrics;                // --metrics, --metrics-token-file, --metrics-series
    std::vector<std::pair<std::string, std::vector<std::string>>> labels; // --label: array, names
    std::string flame_base;                                               // --flame-against
    bool wants(PictureRequest::Kind kind) const {
        return std::ranges::any_of(pictures, [kind](const PictureRequest& one) { return one.kind == kind; });
    }
    OutputFormat format = OutputFormat::Text; // --format
    bool unicode_histograms = false;          // --histogram=unicode
    uint64_t output_bytes = 0;                // -S: a file's most; 0: no limit
    uint64_t output_files = 0;                // -S: how many are kept; 0: all
    uint64_t output_buffer = 64 << 20;        // --output-buffer
    std::optional<double> output_wait_s;      // --output-wait
    bool relink = false;                      // --relink: the positional argument is a saved plan
    bool background = false;                  // -F
    uint64_t ring_bytes = 16 << 20;           // -s
    double time_limit_s = 0;                  // -T
    Limits limits;                            // -D
    bool whole_stacks = false;                // a tool that shows stacks from arrays, or a picture of some
    std::vector<std::pair<std::string, std::string>> globals; // -G: name, value
    std::vector<std::string> folders;                         // -I
    std::vector<std::string> files;                           // -d
    std::string module;               // -m: the session's name, and that of the plan that -p4 writes
    std::string compatible;           // --compatible
    std::string dump;                 // --dump
    std::string host_probes = "host"; // --host-probes
    std::string attach;               // --attach
    std::string loops;                // --loops
    uint32_t arrangement = 0;         // --arrangement
    std::string kernel;           // -r: another kernel's release, or a file with its types; empty: the running one's
    int last_pass = 5;            // -p
    std::array<int, 5> verbose{}; // -v, --vp: of each pass
    When color = When::Auto;      // --color
    Cache cache = Cache::On;      // --no-cache, --poison-cache
    bool guru = false, warnings_off = false, warnings_fatal = false, unoptimized = false, timing = false;
    bool no_global_display = false, skip_bad_variables = false, suppress_handler_errors = false;
};

// What the words ask for; or the exit status, when that is all there is to do (help, version, nothing to clean) or when
// they cannot be understood, which is said on standard error. The words of $SYSTEMTAP_DIR/rc (default
// ~/.systemtap/rc) come before those of the command line, as stap(1) has it.
std::variant<Options, int> read_command_line(int argc, char** argv);
// The same of words that a command line had, without those of the file.
std::variant<Options, int> read_words(std::vector<std::string> words);

// The percentage of a processor from which on a probe is disarmed, by --overload or by SystemTap's macros; empty: the
// session's own.
std::optional<double> overload_limit(const Options& options);

} // namespace sonde
