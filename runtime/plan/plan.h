// The Plan: the result of translation. The runtime gets nothing else from the compiler.
//
// A plan contains data only. It has no pointers, file descriptors, or other values that are valid in one process only.
// So it can be saved, and run later or on another machine without the script, debug information or LLVM. Everything
// that depends on the running kernel is decided when a session begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "arch/calls_32.h"
#include "options/translate.h"
#include "runtime/plan/batch.h"
#include "runtime/plan/group_names.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/quantile.h"
#include "runtime/plan/session_words.h"

namespace sonde {
enum class Hazard : uint8_t; // arch/instruction_hazards.h; 0 is None
}

namespace sonde::plan {

// ---- values in memory (shared by kernel code, host code and the runtime) --------------------------------------------

using SessionWords = sonde_session_words;
// The message of the error that ends a handler which has used all of its statements.
constexpr const char* no_actions_left = "MAXACTION exceeded";
enum SessionState : uint64_t { Arming = SONDE_ARMING, Running = SONDE_RUNNING, Stopping = SONDE_STOPPING };

// Elements of arrays, and statistics. An element's value in a map is `u64 insertion` (the number of its insertion)
// followed by an int64, a string of max_string bytes, or a StatsBlock. A key consists of its components in order:
// int64s, and strings padded with NULs to the component's size. All are aligned to 8 bytes, in native byte order.
//
// StatsNeeds lists the parts of a statistic that a script uses, because each part costs time and memory.
struct StatsNeeds {
    bool variance = false;
    enum Histogram : uint8_t { None, Log, Linear } histogram = None;
    int64_t low = 0, high = 0, width = 0; // Linear
    int64_t variance_shift = 0;
    // How to draw a histogram: how many empty rows to keep on both sides of omitted rows (-1: omit none), and the
    // length of the longest bar.
    int64_t elision = 2;
    uint64_t bar_width = 50;
    bool unicode = false;   // bars in eighths of a character, with shares and percentiles
    bool quantiles = false; // for @percentile: SONDE_QUANTILE_BUCKETS follow the histogram's buckets (quantile.h)

    // The number of buckets of the histogram. Log: 128, of which bucket 64 counts zeros. Linear: (high - low) / width +
    // 3, of which the first counts smaller values and the last counts larger values.
    uint32_t buckets() const {
        return histogram == Log ? 128 : histogram == Linear ? static_cast<uint32_t>((high - low) / width + 3) : 0;
    }
    bool operator==(const StatsNeeds&) const = default;
};
// A statistic. It is followed by buckets() u64s, and by the buckets for percentiles. An empty statistic consists of
// zeros.
//
// Handlers on several processors update it at the same time, so each update is an atomic add or an atomic unsigned
// maximum. Therefore the minimum and maximum are stored in a form in which 0 is the least value: `max_biased` is max +
// 2^63, and `min_biased` is ~(min + 2^63). The sum of squares has 128 bits.
struct StatsBlock {
    uint64_t count;
    int64_t sum;
    uint64_t min_biased;
    uint64_t max_biased;
    uint64_t squares_low;
    uint64_t squares_high;
};
// The offset of the buckets for percentiles, and the size of the whole statistic, in bytes.
inline uint64_t quantiles_at(const StatsNeeds& needs) { return sizeof(StatsBlock) + 8ull * needs.buckets(); }
inline uint64_t stats_bytes(const StatsNeeds& needs) {
    return quantiles_at(needs) + (needs.quantiles ? 8ull * SONDE_QUANTILE_BUCKETS : 0);
}

// ---- printf -------------------------------------------------------------------------------------------------------

// The origin of a value in a record. Output for programs (--format=json) has members in addition to the script's
// values.
enum class About : uint8_t {
    Script,   // a value of the script
    Time,     // nanoseconds since 1970
    Process,  // pid()
    Thread,   // tid()
    TaskName, // execname()
};
// A part of a format string, with the argument that it prints.
struct Directive {
    enum Kind : uint8_t {
        Literal,   // text
        Integer,   // d i u x X o, p as #x: Long
        Char,      // c: Long
        String,    // s: String
        Binary,    // b: Long, binary_size() raw bytes, padded with NULs on the left (-: on the right) to `width`
        Memory,    // m, M: an address (Long) in the script; Bytes in the record
        Histogram, // print(@hist_log(x)): Stats
        Stack,     // a user stack: process, state, depth (Long), then `width` addresses (8 bytes each)
        Addresses, // process (Long); addresses as text (String): one line for each
    } kind = Literal;
    char conversion = 0; // d u x X o p c s b m M; S C: the script's own text, not escaped; Stack, Addresses: StackStyle
    char flag = 0;       // one of 0 + - space #; 0: none
    bool width_is_arg = false, precision_is_arg = false; // `*`: one Long argument each before the value, width first
    int32_t width = -1, precision = -1;                  // -1: none
    std::string text;                                    // Literal
    StatsNeeds stats;                                    // Histogram
    std::string name;                                    // of the value, as the script writes it; empty: a constant
    About about = About::Script;                         // other values than Script do not appear in the text
};
// The number of bytes that %b prints: its precision if that is 1, 2, 4 or 8, else its width if that is, else 8.
inline uint32_t binary_size(int64_t width, int64_t precision) {
    for (int64_t wanted : {precision, width})
        if (wanted == 1 || wanted == 2 || wanted == 4 || wanted == 8)
            return static_cast<uint32_t>(wanted);
    return 8;
}
// How to print a stack's addresses, one line for each.
enum StackStyle : char { FullStack, BriefStack, StackWithLines };
// A format string, split into its parts.
struct Format {
    std::vector<Directive> directives;
    bool is_hit = false; // prints nothing: the record only reports that a handler ran (Plan::tells_hits)
};

// The header of a record, in which a handler sends its output to the runtime. The payload follows: first all Long
// arguments (8 bytes each, in order), then all other arguments in order. A String consists of its bytes and a NUL,
// Bytes of a u32 length and the bytes, Stats of stats_bytes(). Nothing is padded.
struct RecordHeader {
    uint32_t type;   // RecordType
    uint32_t format; // Print: index into Plan::formats; RaiseError: index into Plan::sites; Warn, ErrorText: see below
    uint32_t row;    // index into Plan::rows: the probe point
    uint32_t size;   // of the payload after the header, in bytes
};
enum RecordType : uint32_t {
    Print = 1,     // events ring
    Warn = 2,      // events ring: warn(); payload: the text, NUL-terminated
    System = 3,    // events ring: system(); payload: the command, NUL-terminated
    Speculate = 5, // events ring: speculate(); payload: the id (int64), then the text and its NUL
    Commit = 6,    // events ring: commit(), discard(); payload: the id
    Discard = 7,
    SwitchFile = 8,             // events ring: switch_file()
    Batch = SONDE_BATCH_RECORD, // events ring: the records that one run of a handler sends together, or a piece of
                                // them. format: BatchPiece bits; row: identifies the run (batch.h)
    TraceText = 10,             // events ring: ftrace(); payload: the text, NUL-terminated
    LogText = 11,               // events ring: printk(); payload: the level (int64), then the text and its NUL
    Mapping = 4,    // events ring: struct sonde_new_mapping (stack.h), sent before records that refer to the mapping
    Exit = 16,      // control ring: exit()
    Abort = 17,     // control ring: abort()
    NewGroup = 19,  // control ring: a control group was made
    MovedText = 20, // control ring: a process waits until its code is repaired (runtime/attach/moved_text.h)
    RaiseError = 18 // control ring: an uncaught soft error; format: site; payload: ErrorDetails, then the text and its
                    // NUL (may be empty)
};

// The payload of a soft error. `calls` are the calls that led to the error's position, as one number of 192 bits,
// lowest word first. From the innermost call to the outermost, each call shifts the number left by call_bits, and adds
// its index in Plan::calls plus 1.
struct ErrorDetails {
    int64_t argument; // the value that the site's message shows
    uint64_t calls[3];
};
constexpr uint32_t call_bits = 16, unknown_call = (1u << call_bits) - 1;

enum BatchPiece : uint32_t { FirstPiece = SONDE_FIRST_PIECE, LastPiece = SONDE_LAST_PIECE };

// A position in the script at which a soft error can occur. `message` may contain one "%#x", for
// ErrorDetails::argument. For error("text") the message is the record's text.
struct Site {
    std::string message; // "division by 0", "read fault at %#x"
    std::string near;    // "operator '/' at <input>:1:30"
};

// ---- globals ------------------------------------------------------------------------------------------------------

enum class Value : uint8_t { Long, String, Stats };

// The meaning of a component of an array's key, wherever the script adds elements.
enum class KeyRole : uint8_t { Plain, KernelStack, UserStack, Process };
// A component of an array's key. Components of 4 bytes follow all others.
struct KeyPart {
    Value type = Value::Long; // never Stats
    uint32_t offset = 0;      // byte offset in the key
    uint32_t size = 8;        // bytes; strings: a multiple of 8 with the NUL, at most max_string; longs: 4 or 8
    bool is_signed = true;    // for longs of 4 bytes
    bool is_text = false;     // longs: an index into Plan::texts
    std::string name = {};    // as the script first writes it as a key; empty: a literal
    KeyRole role = KeyRole::Plain;
};
// Returns the number of this component in `key`.
int64_t number_in(const KeyPart& part, const char* key);

// A global variable of the script, or of the library.
struct Global {
    std::string name;
    Value type = Value::Long;
    std::vector<KeyPart> keys; // empty: a scalar
    StatsNeeds stats;
    uint64_t offset = 0;                   // scalars: offset in the data area
    bool in_kernel = false;                // arrays: in the map `map` of the BPF object; else in the session's memory
    std::string map;                       // arrays in the kernel: name of the map
    uint64_t capacity = 0;                 // arrays: maximum number of elements
    bool wrap = false;                     // arrays: replace the oldest element if full, instead of an error
    uint32_t key_size = 0, value_size = 0; // arrays: bytes; value_size includes the insertion number
    int64_t initial_long = 0;
    std::string initial_string;
    std::string address_of;   // a kernel symbol whose address is the initial value; empty: none
    bool is_own = false;      // defined in the script, not in the library
    bool auto_print = false;  // print at the end of the session
    bool is_settable = false; // scalars: the initial value may be changed before the session (-G)
    bool print_as_pointer = false;
    bool only_grows = false;         // longs: the script adds only non-negative values, so --metrics shows a counter
    std::vector<std::string> labels; // arrays: names of the components for --metrics, from --label or a comment
};

// ---- probes -------------------------------------------------------------------------------------------------------

// Events of a performance counter, in the terms of perf_event_open(2).
struct PerfSpec {
    uint32_t type = 0;
    uint64_t config = 0;
    uint64_t sample = 0;       // events between two runs of the handler, or with is_frequency, runs per second
    bool is_frequency = false; // if `sample` is 0, events are only counted
};
// A counter that handlers read by @perf("name").
struct Counter {
    std::string name;
    PerfSpec perf;
};
// Memory whose accesses are probed by debug registers of the processor (perf_event_open(2), PERF_TYPE_BREAKPOINT).
struct WatchSpec {
    uint64_t address = 0;
    uint32_t length = 1;      // 1, 2, 4 or 8 bytes; the address is a multiple of this
    bool reads = false;       // also probe reads, not only writes
    bool is_kernel = false;   // memory of the kernel; else of the process that runs Point::path
    bool is_relative = false; // relative to the load address of that file
    bool is_symbol = false;   // kernel: the running kernel's address of Point::symbol counts
};
// A hook of the network stack (include/uapi/linux/netfilter.h).
struct HookSpec {
    uint32_t family = 0, hook = 0; // NFPROTO_*, NF_INET_*
    int32_t priority = 0;
};
// A control file; Point::path is its name.
struct FileSpec {
    uint32_t mode = 0;     // permissions
    uint64_t max_size = 0; // maximum number of bytes that a reader gets; 0: max_string - 1
};

// One of the numbers by which 32-bit programs make a system call.
struct NarrowCall {
    int64_t number = 0;     // the number on i386, or one of calls_32.h
    uint64_t arguments = 0; // positions of the arguments: bytes of calls_32.h
};

// One place to which a handler is attached, with the results of pp() and similar functions there.
struct Point {
    std::string pp;       // pp(): the resolved point, process("/bin/x").function("f@f.c:3").call
    std::string pn;       // pn(): as the script writes it
    std::string function; // probefunc(), ppfunc()
    std::string path;     // uprobes: path of the file
    std::string symbol;   // tracepoints and kernel functions: the name
    std::string module;   // kernel functions: the module; empty: the kernel itself
    int64_t number = -1;  // of a system call, at the tracepoint of all; -1: none, or only in 32-bit programs
    // The numbers of the same system call in 32-bit programs, at the same tracepoint.
    std::vector<NarrowCall> narrow_calls;
    std::string build_id;      // in hexadecimal; empty if the file has none
    uint64_t offset = 0;       // of the instruction: file offset (uprobes), or distance from the symbol (kprobes)
    uint64_t entry_offset = 0; // returns: the same for the function's entry, where parameters still have their values
    uint64_t ref_ctr_offset = 0;
    // The processes that the point concerns: those that run `program`, or the process `pid`, or all if both are empty.
    // Programs are compared by inode, so links and other names of the file are equal.
    std::string program;
    int64_t pid = 0;
    PerfSpec perf;    // Perf
    WatchSpec watch;  // Watch
    HookSpec hook;    // Netfilter
    FileSpec file;    // FileRead, FileWrite
    uint32_t row = 0; // index in Plan::rows, also the attach cookie (set by the last step of translation)

    bool is_system_call() const { return number >= 0 || !narrow_calls.empty(); }
};

// Returns the result of probe_type() at the point.
const char* type_at(ProbeKind kind, const Point& point);

struct TimerSpec {
    uint64_t interval_ns = 0; // Profile: 0 stands for the kernel's timer tick
    uint64_t random_ns = 0;   // each interval is random, between interval - random and interval + random
};

// A handler with its points.
struct Probe {
    std::string name;  // Handler::name
    std::string place; // position in the script: "file.stp:3:1"
    ProbeKind kind = ProbeKind::Begin;
    bool in_kernel = false;
    std::string symbol;           // host: function in host_object; kernel: name of the program in bpf_object
    std::string entry_program;    // Uretprobe: the program that saves values at the function's entry; empty: none
    std::string entry_map;        // the map in which it saves them
    bool at_instruction = false;  // Uretprobe: the points are the return instructions themselves
    bool reads_registers = false; // Kprobe, Kretprobe: uses all registers, which kprobe_multi links do not keep
    bool is_session = false;      // Uretprobe: one program for entry and return, by a session link
    bool sleepable = false;
    bool has_condition = false; // `probe POINT if (...)`
    int64_t order = 0;
    TimerSpec timer;
    uint64_t lock = 0; // offset in the data area of a word that is not 0 while a handler with this lock runs; 0: none
    std::string locked_for;  // the globals that the lock protects
    uint32_t frame_size = 0; // host handlers: size of the frame in bytes
    std::vector<Point> points;

    // Whether hits must be looked up in `sonde_subjects`. This is the case for task events, whose row is found there,
    // and for points that concern some processes only.
    bool has_subjects() const;
    // Whether the kernel replaces the return address on the stack to detect the return (uretprobes).
    bool changes_return_addresses() const;
    // Whether one kprobe_multi link can serve all points: they are the first instructions of several kernel functions.
    bool fits_kprobe_multi() const;
    // Returns the second half of the keys of `sonde_subjects`: the probe's index for task events, or a number for the
    // point's row.
    static uint64_t subject_group(ProbeKind kind, uint32_t probe, uint32_t row);
};
// Which of the optional kinds of links a session uses.
struct LinkKinds {
    bool uprobe_multi = false, kprobe_multi = false;
};
// Returns how the probe is attached on a kernel with these kinds of links.
Mechanism mechanism_of(const Probe& probe, const LinkKinds& links);

constexpr uint64_t any_subject = ~0ull; // subject group of all process and thread probes

// ---- files --------------------------------------------------------------------------------------------------------

// The bytes of a probed file at a point: the instruction and the bytes after it, or the semaphore of a USDT probe.
struct ProbedCode {
    uint64_t offset = 0; // in the file
    std::string bytes;   // probed_bytes, or fewer at the end of the file
    // The length of the instruction, and a number that identifies its prefixes and opcode. Both are 0 if the point is
    // not an instruction.
    uint8_t length = 0;
    uint64_t encoding = 0;
    // How a kernel's uprobes may fail at the instruction. If they may, `instead` is the file offset of another
    // instruction that is executed as often and at which a handler sees the same values; 0: none exists.
    Hazard hazard{};
    uint64_t instead = 0;
    uint64_t nearest = 0; // linked address of the next instruction without a hazard, for messages; 0: none
};
constexpr size_t probed_bytes = 16; // at least Architecture::longest_instruction()

// A module of the kernel whose types the handlers use. `fingerprint` identifies the module's build.
struct ModuleTypes {
    std::string name;
    uint64_t fingerprint = 0;
};
// The kernel for whose types the handlers were translated. `release` is empty if they use none.
struct KernelBuild {
    std::string release;
    uint64_t types = 0;               // identifies the build
    std::vector<ModuleTypes> modules; // modules whose types the handlers use, sorted by name
};

// A file that the plan probes, as it was during translation.
struct ProbedFile {
    std::string path; // as in Point::path
    // As in base/program_identity.h.
    std::string build_id;
    uint64_t size = 0, hash = 0;
    bool may_move = false;        // a program that calls mprotect() or mremap(), so it may move its own code
    std::vector<ProbedCode> code; // sorted by offset, without duplicates
};

// The input of the translation, from which --relink translates the script again for other builds of the probed files.
struct NamedText {
    std::string name, text;
};
struct Origin {
    std::string folder;             // the working directory, for relative paths in the script and its options
    std::vector<NamedText> scripts; // the script's text, unless -e has it
    std::vector<NamedText> library; // the files of the folders given by -I
};

// ---- the whole plan -----------------------------------------------------------------------------------------------

// The result of a translation, and everything that a session needs. It can be saved to a file (plan_file.h).
struct Plan {
    std::string script;                        // the script's name, for messages
    std::vector<uint8_t> bpf_object;           // ELF file for libbpf; empty without handlers in the kernel
    std::vector<uint8_t> host_object;          // relocatable ELF file for this machine; empty without host handlers
    uint64_t data_size = sizeof(SessionWords); // size of the data area in bytes
    uint32_t max_string = 512;                 // MAXSTRINGLEN, including the NUL; a power of two
    uint64_t max_errors = 0, max_skipped = 100, max_action = 1000;
    uint64_t max_action_interruptible = 10000; // for begin, end, error and timer handlers
    uint64_t max_nesting = 16;                 // maximum depth of recursive functions
    uint64_t max_backtrace = 20;               // maximum number of addresses in a stack
    uint64_t ring_bytes = 16 << 20;
    uint8_t tables = 0; // the FileTables that handlers use
    std::string writes; // the first statement that writes user memory, with its position; empty: none
    // The first statement that changes the kernel or a program, with its position: memory, registers, results or
    // signals. Verdicts on packets do not count. Empty: none.
    std::string changes;
    bool filter_target = false;   // run kernel handlers only for tasks in the map `sonde_targets`
    bool filter_groups = false;   // run kernel handlers only for tasks whose group is in the map `sonde_groups`
    bool names_groups = false;    // handlers use the names of groups: the map `sonde_group_names`
    bool timing = false;          // -t: the map `sonde_timing`
    bool tells_context = false;   // records of output include the time and the task: Directive::about
    bool tells_hits = false;      // --timeline: kernel handlers begin with a record of Format::is_hit
    bool suppress_errors = false; // --suppress-handler-errors: count errors, and report the first one of each probe
    bool names_module = false;    // the code contains `module`: module_name()
    uint64_t marks = 0;           // offset in the data area of the bytes of Mark; 0: no handler runs in the kernel
    std::vector<Global> globals;
    std::vector<Format> formats;
    std::vector<Site> sites;
    std::vector<std::string> calls; // calls of functions, as errors name them: "identifier 'f' at <input>:1:30"
    std::vector<Point> rows;        // all points of all probes
    std::vector<Probe> probes;
    std::vector<Counter> counters;
    std::vector<std::string> texts; // sorted; keys refer to them by index
    std::string module;             // the session's name; the folder of its control files contains it
    KernelBuild kernel;             // the kernel for whose types the handlers were translated
    std::vector<ProbedFile> files;  // sorted by path
    Translate translate;            // the options of the translation
    Origin origin;                  // for saved plans
    std::vector<GroupName> groups;  // the session is limited to these; empty: no limit

    uint64_t marks_size() const;                                          // a power of two
    bool has_subjects() const;                                            // of any probe
    bool has(bool (*wanted)(ProbeKind)) const;                            // whether any probe has such a kind
    bool follows_tasks() const;                                           // needed for process and thread probes
    bool follows_groups() const { return filter_groups || names_groups; } // programs update the maps of groups
    // Whether a probed program could move its code to other memory, so that handlers must watch for this
    // (runtime/attach/moved_text.h).
    bool follows_moved_text() const;
    // Whether the plan has probes of input.char or input.line.
    bool reads_standard_input() const;
    std::vector<std::string>
        lines; // script lines that BPF line info refers to are found by "file:line" in verifier logs
};

// The parts of a file's table (runtime/plan/file_table.h). KernelNames are the kernel's symbols, in the table of
// SONDE_KERNEL_FILE. KernelStacks are used by the runtime only.
enum FileTables : uint8_t { UnwindTable = 1, SymbolTable = 2, LineTable = 4, KernelNames = 8, KernelStacks = 16 };
constexpr uint8_t looked_up = UnwindTable | SymbolTable | LineTable | KernelNames; // those in `sonde_files`

// Placeholders for two kernel functions that the programs of session links call. The functions' numbers are different
// in each kernel. So the compiler writes calls of helpers with these numbers, and the runtime replaces them
// (runtime/kernel/uprobe_session.h).
constexpr uint32_t call_session_is_return = 0x7fff0001, call_session_cookie = 0x7fff0002;

constexpr uint64_t most_processes = 1 << 22; // PID_MAX_LIMIT, include/linux/threads.h

// Counts of hits whose handler did not do all of its work.
struct ProbeCounts {
    uint64_t skipped; // no frame was free
    uint64_t lost;    // the ring buffer had no room
    uint64_t waited;  // the lock was not free in time
    uint64_t errors;  // an error ended the handler
    uint64_t unsaved; // returns without values from the function's entry
    uint64_t nested;  // calls whose return the kernel did not follow, because too many calls were active
};
// Run times of handlers (Plan::timing).
struct ProbeTiming {
    uint64_t hits, total_ns, squares_low, squares_high /* the sum of ns * ns */, min_biased_ns /* ~min */, max_ns;
    uint64_t outcomes[4]; // by HitOutcome, for hits that were not skipped
};
// The outcome of a hit whose handler ran. Failed: an error ended the handler, whether or not output was lost.
enum HitOutcome : uint64_t { Handled = 0, OutputLost = 1, Failed = 2 };

// Events that happened at least once, to explain an empty result. The data area has Plan::marks_size() bytes for each
// kind of mark, from Plan::marks on: one byte for each row or probe, which becomes 1. Atomic operations are not needed,
// because no other value is ever written.
enum class Mark : uint8_t {
    Hit,     // by row: a handler began, or was skipped, or its condition was false
    Wanted,  // by row: the probe's condition was true
    Entered, // by row: a call was entered whose return is probed
    Outside, // by probe: hit by a process outside of the target
};
constexpr uint64_t mark_kinds = 4;

// Returns the plan as text, for --dump=plan. plan_file.h has the binary form.
std::string dump(const Plan& plan, const LinkKinds& links);

} // namespace sonde::plan
