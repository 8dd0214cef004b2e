// The Plan: the only thing that passes from the compiler to the runtime.
//
// Plain data, free of pointers, file descriptors and anything that is true only in this process, so that it can be
// saved, and run later or elsewhere without the script, debug information or LLVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/batch.h"
#include "runtime/plan/calls_32.h"
#include "runtime/plan/group_names.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/quantile.h"
#include "runtime/plan/session_words.h"

namespace sonde {
enum class Hazard : uint8_t; // base/instruction_hazards.h; 0 is None
}

namespace sonde::plan {

// ---- values in memory (shared by kernel code, host code and the runtime) --------------------------------------------

using SessionWords = sonde_session_words;
// The message of the error that ends a handler which has no statements left.
constexpr const char* no_actions_left = "MAXACTION exceeded";
enum SessionState : uint64_t { Arming = SONDE_ARMING, Running = SONDE_RUNNING, Stopping = SONDE_STOPPING };

// Array elements and statistics. An array element's value in a map is `u64 insertion` followed by the payload: an
// int64, a string of max_string bytes, or a StatsBlock. A key is its components in order: an int64, or a string padded
// with NULs to the component's size. Everything is 8-byte aligned, native byte order.
struct StatsNeeds {
    bool variance = false;
    enum Histogram : uint8_t { None, Log, Linear } histogram = None;
    int64_t low = 0, high = 0, width = 0; // Linear
    int64_t variance_shift = 0;
    // How a histogram is drawn: empty rows kept at each side of what is not (-1: all rows are), the longest bar.
    int64_t elision = 2;
    uint64_t bar_width = 50;
    bool unicode = false;   // in eighths of a character, with shares and percentiles
    bool quantiles = false; // @percentile: SONDE_QUANTILE_BUCKETS after the histogram's buckets (quantile.h)

    // Log: 128, bucket 64 counts zeros. Linear: (high - low) / width + 3 with the underflow first and the overflow
    // last.
    uint32_t buckets() const {
        return histogram == Log ? 128 : histogram == Linear ? static_cast<uint32_t>((high - low) / width + 3) : 0;
    }
    bool operator==(const StatsNeeds&) const = default;
};
// Followed by buckets() times u64, and those of the percentiles. All zero is the empty statistic, and every update is
// an atomic add or an atomic unsigned maximum: `max_biased` is max + 2^63, `min_biased` is ~(min + 2^63). The sum of
// squares has 128 bits.
struct StatsBlock {
    uint64_t count;
    int64_t sum;
    uint64_t min_biased;
    uint64_t max_biased;
    uint64_t squares_low;
    uint64_t squares_high;
};
// Where a statistic's buckets for percentiles begin, and what all of it takes.
inline uint64_t quantiles_at(const StatsNeeds& needs) { return sizeof(StatsBlock) + 8ull * needs.buckets(); }
inline uint64_t stats_bytes(const StatsNeeds& needs) {
    return quantiles_at(needs) + (needs.quantiles ? 8ull * SONDE_QUANTILE_BUCKETS : 0);
}

// ---- printf
// -----------------------------------------------------------------------------------------------------------

// What a record says beside the script's own values, for output that programs read (--format=json).
enum class About : uint8_t {
    Script,   // a value of the script's
    Time,     // nanoseconds since 1970
    Process,  // pid()
    Thread,   // tid()
    TaskName, // execname()
};
struct Directive {
    enum Kind : uint8_t {
        Literal,   // text
        Integer,   // d i u x X o, p as #x: Long
        Char,      // c: Long
        String,    // s: String
        Binary,    // b: Long, binary_size() raw bytes, NULs before them (-: after) up to `width`
        Memory,    // m, M: an address (Long) in the script; Bytes in the record
        Histogram, // print(@hist_log(x)): Stats
        Stack,     // a user stack: process, state, depth (Long), then `width` addresses (8 bytes each)
        Addresses, // process (Long); addresses as text (String): a line for each
    } kind = Literal;
    char conversion = 0; // d u x X o p c s b m M; S C: of the script's own; Stack, Addresses: StackStyle
    char flag = 0;       // one of 0 + - space #, or 0
    bool width_is_arg = false, precision_is_arg = false; // `*`: one Long argument before the value, width first
    int32_t width = -1, precision = -1;                  // -1: none
    std::string text;                                    // Literal
    StatsNeeds stats;                                    // Histogram
    std::string name;                                    // of the value, as the script writes it; empty: a constant
    About about = About::Script;                         // anything else has no place in the text
};
// Bytes of %b's value: its precision, else its width, as far as that is 1, 2, 4 or 8; else 8.
inline uint32_t binary_size(int64_t width, int64_t precision) {
    for (int64_t wanted : {precision, width})
        if (wanted == 1 || wanted == 2 || wanted == 4 || wanted == 8)
            return static_cast<uint32_t>(wanted);
    return 8;
}
// How a stack's addresses are written, a line each.
enum StackStyle : char { FullStack, BriefStack, StackWithLines };
struct Format {
    std::vector<Directive> directives;
    bool is_hit = false; // nothing is printed: the record says that a handler was reached (Plan::tells_hits)
};

// What a handler prints travels as a record: RecordHeader, then every Long argument (8 bytes each, in order), then
// every other argument in order: a String as its bytes and a NUL, Bytes as u32 length and bytes, Stats as the
// stats_bytes() that there are. Not padded.
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
    Batch = SONDE_BATCH_RECORD, // events ring: what one run of a handler sends together, or a piece of it: records one
                                // after the other; format: BatchPiece bits; row: a number that no other run has
                                // meanwhile (batch.h)
    TraceText = 10,             // events ring: ftrace(); payload: the text, NUL-terminated
    LogText = 11,               // events ring: printk(); payload: the level (int64), then the text and its NUL
    Mapping = 4,    // events ring: struct sonde_new_mapping (symbols/stack.h), before anything that refers to it
    Exit = 16,      // control ring: exit()
    Abort = 17,     // control ring: abort()
    NewGroup = 19,  // control ring: a control group was made
    RaiseError = 18 // control ring: an uncaught soft error; format: site; payload: ErrorDetails, then the text and its
                    // NUL (may be empty)
};

// What goes with a soft error. `calls` are the calls on the way to its place, as a number whose lowest word is the
// first: each, from the inside out, moves the others up by call_bits and adds its index in Plan::calls plus one.
struct ErrorDetails {
    int64_t argument; // what the site's message shows
    uint64_t calls[3];
};
constexpr uint32_t call_bits = 16, unknown_call = (1u << call_bits) - 1;

enum BatchPiece : uint32_t { FirstPiece = SONDE_FIRST_PIECE, LastPiece = SONDE_LAST_PIECE };

// A place in the script where a soft error can arise. `message` may contain one "%#x", which the record's argument
// fills; for error("text") the record's text is the message.
struct Site {
    std::string message; // "division by 0", "read fault at %#x"
    std::string near;    // "operator '/' at <input>:1:30"
};

// ---- globals
// ----------------------------------------------------------------------------------------------------------

enum class Value : uint8_t { Long, String, Stats };

// What a component of an array's key is, wherever the script fills the array.
enum class KeyRole : uint8_t { Plain, KernelStack, UserStack, Process };
// A component of an array's key. Those of 4 bytes lie after the others.
struct KeyPart {
    Value type = Value::Long; // never Stats
    uint32_t offset = 0;      // in the key
    uint32_t size = 8;        // bytes, a multiple of 8; a string's with its NUL, at most max_string; longs: 4 or 8
    bool is_signed = true;    // longs of 4 bytes
    bool is_text = false;     // longs: the index of a text in Plan::texts
    std::string name = {};    // as the script writes it where it first fills the array; empty: a literal
    KeyRole role = KeyRole::Plain;
};
// The number that a key has there.
int64_t number_in(const KeyPart& part, const char* key);

struct Global {
    std::string name;
    Value type = Value::Long;
    std::vector<KeyPart> keys; // empty: a scalar
    StatsNeeds stats;
    uint64_t offset = 0;                   // scalars: in the data area
    bool in_kernel = false;                // arrays: lives in the BPF object's map `map`; else in the host's memory
    std::string map;                       // arrays in the kernel: the map's name
    uint64_t capacity = 0;                 // arrays: elements at most
    bool wrap = false;                     // arrays: evict the oldest insertion instead of an error
    uint32_t key_size = 0, value_size = 0; // arrays: bytes; value_size with the insertion number
    int64_t initial_long = 0;
    std::string initial_string;
    std::string address_of;   // a symbol of the kernel's: its address is the initial value; empty: none
    bool is_own = false;      // of the script, not of the library
    bool auto_print = false;  // print at the end of the session
    bool is_settable = false; // scalars: another initial value than these may be set before the session
    bool print_as_pointer = false;
    bool only_grows = false;         // longs: the script only adds what is not negative: a counter for --metrics
    std::vector<std::string> labels; // arrays: names of the components for --metrics, by --label or by a comment
};

// ---- probes
// -----------------------------------------------------------------------------------------------------------

// What is counted, as perf_event_open(2) has it.
struct PerfSpec {
    uint32_t type = 0;
    uint64_t config = 0;
    uint64_t sample = 0;       // events from one run of the handler to the next, or with is_frequency runs a second
    bool is_frequency = false; // 0 there: only counted
};
// A counter that handlers read: @perf("name").
struct Counter {
    std::string name;
    PerfSpec perf;
};
// Memory whose accesses are probed by the processor's debug registers (perf_event_open(2), PERF_TYPE_BREAKPOINT).
struct WatchSpec {
    uint64_t address = 0;
    uint32_t length = 1;      // 1, 2, 4 or 8; the address is a multiple of it
    bool reads = false;       // not only writes
    bool is_kernel = false;   // of the kernel; else of the process that runs Point::path
    bool is_relative = false; // to where that file is loaded
    bool is_symbol = false;   // kernel: Point::symbol, whose address the running kernel knows
};
// A place in the network's stack (include/uapi/linux/netfilter.h).
struct HookSpec {
    uint32_t family = 0, hook = 0; // NFPROTO_*, NF_INET_*
    int32_t priority = 0;
};
// A control file; Point::path is its name.
struct FileSpec {
    uint32_t mode = 0;     // permissions
    uint64_t max_size = 0; // bytes that a reader gets at most; 0: max_string - 1
};

// A way in which 32-bit programs make a system call.
struct NarrowCall {
    int64_t number = 0;     // i386's, or one of calls_32.h
    uint64_t arguments = 0; // where they are: bytes of calls_32.h
};

// One place where a handler is attached, with what pp() and its relatives say there.
struct Point {
    std::string pp;       // pp(): the resolved point, process("/bin/x").function("f@f.c:3").call
    std::string pn;       // pn(): as the script has it
    std::string function; // probefunc(), ppfunc()
    std::string path;     // uprobes: the file
    std::string symbol;   // tracepoints and the kernel's functions: the name
    std::string module;   // the module that has it; empty: the kernel itself
    int64_t number = -1;  // of a system call, at the tracepoint of all; -1: none, or only in 32-bit programs
    // The same call in 32-bit programs, at the same tracepoint.
    std::vector<NarrowCall> narrow_calls;
    std::string build_id;      // hex; empty if the file has none
    uint64_t offset = 0;       // of the instruction: in the file (uprobes), after the symbol (kprobes)
    uint64_t entry_offset = 0; // returns: the same for the entry snapshot (where parameters are right)
    uint64_t ref_ctr_offset = 0;
    // Its subject, the processes that it is about: all, those that run a program, or one. Programs are known by their
    // file, so that links and other names of it are the same.
    std::string program;
    int64_t pid = 0;
    PerfSpec perf;    // Perf
    WatchSpec watch;  // Watch
    HookSpec hook;    // Netfilter
    FileSpec file;    // FileRead, FileWrite
    uint32_t row = 0; // its index in Plan::rows; also the attach cookie (set by the compiler's last step)

    bool is_system_call() const { return number >= 0 || !narrow_calls.empty(); }
};

// What probe_type() gives there.
const char* type_at(ProbeKind kind, const Point& point);

struct TimerSpec {
    uint64_t interval_ns = 0; // Profile: 0 is the kernel's own tick
    uint64_t random_ns = 0;   // each interval is drawn from interval +- random
};

struct Probe {
    std::string name;  // Handler::name
    std::string place; // "file.stp:3:1"
    ProbeKind kind = ProbeKind::Begin;
    bool in_kernel = false;
    std::string symbol;           // host: function in host_object; kernel: program's name in bpf_object
    std::string entry_program;    // Uretprobe with entry values: the program for the function's entry; empty without
    std::string entry_map;        // its map
    bool at_instruction = false;  // Uretprobe: the points are the return instructions themselves
    bool reads_registers = false; // Kprobe, Kretprobe: all that there are, which probes of many functions do not keep
    bool is_session = false;      // Uretprobe: one program for the entry and the return, of a session link
    bool sleepable = false;
    bool has_condition = false; // `probe POINT if (...)`
    int64_t order = 0;
    TimerSpec timer;
    uint64_t lock = 0; // offset in the data area of a word that is not 0 while a handler of its group runs; 0: none
    std::string locked_for;  // the globals whose accesses it keeps together
    uint32_t frame_size = 0; // host handlers: bytes of frame
    std::vector<Point> points;

    // Whether a hit has to be looked up in `sonde_subjects`: a task event's row is found there, and some points are
    // about some processes only.
    bool has_subjects() const;
    // The kernel notices the return by another return address on the stack of who called.
    bool changes_return_addresses() const;
    // One link could serve all of its points: a breakpoint each at the beginnings of several functions of the kernel.
    bool fits_kprobe_multi() const;
    // The second half of the keys there: an event's probe, or any other point. Task events have the probe's index.
    static uint64_t subject_group(ProbeKind kind, uint32_t probe, uint32_t row);
};
// What the running kernel has, of several ways to the same.
struct Ways {
    bool uprobe_multi = false, kprobe_multi = false;
};
// How the probe is attached there.
Mechanism mechanism_of(const Probe& probe, const Ways& ways);

constexpr uint64_t any_subject = ~0ull; // the group of all that process and thread probes are about

// ---- files
// ------------------------------------------------------------------------------------------------------------

// Bytes of a probed file that a point stands on: its instruction and what follows, or the counter of a static mark.
struct ProbedCode {
    uint64_t offset = 0; // in the file
    std::string bytes;   // up to probed_bytes, fewer at the file's end
    // Of the instruction there: its length, and a number that instructions of the same prefixes and opcode share; 0: it
    // is no instruction.
    uint8_t length = 0;
    uint64_t encoding = 0;
    // What a kernel's uprobes may do wrong with the instruction. Where that is so, the offset of another instruction at
    // which a handler sees the same, as often; 0: there is none.
    Hazard hazard{};
    uint64_t instead = 0;
    uint64_t nearest = 0; // the address, as linked, of the next instruction without a hazard, for messages; 0: none
};
constexpr size_t probed_bytes = 16; // the longest instruction of x86-64 has 15

// A module of the kernel whose types the handlers know. `fingerprint` tells one build's types from another's.
struct ModuleTypes {
    std::string name;
    uint64_t fingerprint = 0;
};

// A file whose points the plan has, as it was when these were looked up.
struct ProbedFile {
    std::string path; // as in Point::path
    // base/program_identity.h.
    std::string build_id;
    uint64_t size = 0, hash = 0;
    std::vector<ProbedCode> code; // sorted by offset, which each has once
};

// ---- control groups
// -----------------------------------------------------------------------------------------------------------

// What people call a control group (cgroup v2).
enum class GroupKind : uint8_t { Container, Pod, Unit, Cgroup };
// A group that the session is limited to. A plan has its name; which group that is, is looked up when a session begins.
struct GroupName {
    GroupKind kind = GroupKind::Container;
    std::string name;
    // Below which the paths of points lie that were found in its file system, when the script was translated:
    // "/proc/42/root"; empty: none do.
    std::string root;
};

// What the plan was made of, so that it can be made anew for other builds of the files that it probes.
struct NamedText {
    std::string name, text;
};
struct Origin {
    std::vector<std::string> words; // of the command line, after those of the file with default options
    std::string folder;             // where it was called, for relative paths in the words
    std::vector<NamedText> scripts; // the script's text, if the words name a file
    std::vector<NamedText> library; // the files of the folders that -I names
};

// ---- the whole
// ----------------------------------------------------------------------------------------------------------

struct Plan {
    std::string script;                        // name for messages
    std::vector<uint8_t> bpf_object;           // ELF for libbpf; empty if there is no kernel handler
    std::vector<uint8_t> host_object;          // ELF relocatable for this machine; empty if there is no host handler
    uint64_t data_size = sizeof(SessionWords); // bytes of the data area
    uint32_t max_string = 512;                 // MAXSTRINGLEN, with the NUL; a power of two
    uint64_t max_errors = 0, max_skipped = 100, max_action = 1000;
    uint64_t max_action_interruptible = 10000; // of begin, end, error and timer handlers
    uint64_t max_nesting = 16;                 // activations of functions that call themselves
    uint64_t max_backtrace = 20;               // addresses of a stack
    uint64_t ring_bytes = 16 << 20;
    uint8_t tables = 0; // what handlers look up in the tables of files: FileTables
    std::string writes; // the first of what writes user memory, with its place; empty: nothing does
    // The first of what changes what the kernel or a program does, with its place: memory, registers, results, signals.
    // Packets' verdicts are not among these. Empty: nothing does.
    std::string changes;
    bool filter_target = false;   // kernel handlers run only for tasks in the BPF map `sonde_targets`
    bool filter_groups = false;   // kernel handlers run only for tasks whose group is in the BPF map `sonde_groups`
    bool names_groups = false;    // handlers ask for names of groups: the BPF map `sonde_group_names`
    bool timing = false;          // -t: BPF map `sonde_timing`
    bool tells_context = false;   // prints say when they were made, and in which task: Directive::about
    bool tells_hits = false;      // kernel handlers begin with a record of Format::is_hit: --timeline
    bool suppress_errors = false; // --suppress-handler-errors: errors are counted; the first of each probe is told
    bool names_module = false;    // the code has `module` in it: module_name()
    uint64_t marks = 0;           // offset in the data area of what Mark says; 0: there is no handler in the kernel
    std::vector<Global> globals;
    std::vector<Format> formats;
    std::vector<Site> sites;
    std::vector<std::string> calls; // of functions, as errors tell them: "identifier 'f' at <input>:1:30"
    std::vector<Point> rows;        // all points of all probes
    std::vector<Probe> probes;
    std::vector<Counter> counters;
    std::vector<std::string> texts; // that keys hold as numbers, sorted
    std::string module;             // the session's name; the folder of its control files has it
    // The kernel whose types the handlers are made for; empty: they need none. `kernel_types` tells one build's types
    // from another's.
    std::string kernel;
    uint64_t kernel_types = 0;
    std::vector<ModuleTypes> module_types; // of the modules that they need, sorted by name
    std::vector<ProbedFile> files;         // sorted by path
    Origin origin;                         // of a saved plan
    std::vector<GroupName> groups;         // that the session is limited to; empty: to none

    uint64_t marks_size() const;                                          // a power of two
    bool has_subjects() const;                                            // of some probe
    bool has(bool (*wanted)(ProbeKind)) const;                            // some probe of such a kind
    bool follows_tasks() const;                                           // for process and thread probes
    bool follows_groups() const { return filter_groups || names_groups; } // programs keep the maps of groups
    // The target can make a copy of probed code, and programs watch that (runtime/attach/moved_text.h).
    bool follows_moved_text() const { return filter_target && has(is_uprobe); }
    // It has probes of input.char or input.line.
    bool reads_standard_input() const;
    std::vector<std::string>
        lines; // script lines that BPF line info refers to are found by "file:line" in verifier logs
};

// What tables of files are compiled with (symbols/file_table.h).
// KernelNames: the kernel's symbols, as the table of SONDE_KERNEL_FILE; KernelStacks: only the runtime needs them.
enum FileTables : uint8_t { UnwindTable = 1, SymbolTable = 2, LineTable = 4, KernelNames = 8, KernelStacks = 16 };
constexpr uint8_t looked_up = UnwindTable | SymbolTable | LineTable | KernelNames; // in `sonde_files`

// Session programs call two functions of the kernel, which have a number in each kernel's types. The runtime puts these
// in the place of the calls of helpers with these numbers.
constexpr uint32_t call_session_is_return = 0x7fff0001, call_session_cookie = 0x7fff0002;

constexpr uint64_t most_processes = 1 << 22; // PID_MAX_LIMIT, include/linux/threads.h

// Maps and programs that the BPF object contains besides the globals' (names are contract):
//   sonde_events   ring buffer: Print and Warn records
//   sonde_control  ring buffer (256 KiB): Exit, Abort, RaiseError records
//   sonde_frames   array, one element a slot: u64 busy, then a handler's strings and temporaries
//   sonde_scans    array, one element a slot: u64 busy, then what its foreach loops walk (if there are any)
//   sonde_counts   array of ProbeCounts, one a probe
//   sonde_timing   array of ProbeTiming, one a row (if timing)
//   sonde_dispatch array of struct sonde_dispatch, one a row (if Plan::tables has KernelStacks)
//   sonde_files    hash of maps: a file's inode, which sonde_ask_file tells -> its table (if Plan::tables looks up)
//   sonde_shared   hash: struct sonde_identity -> the text of a stack and struct sonde_shared (if keys share stacks)
//   sonde_owners   hash: struct sonde_identity of a text -> that of its stack (the same)
//   sonde_rules    what unwinding has looked up in these tables (if Plan::tables)
//   sonde_mapped   hash of the mappings that the runtime has been told of (if Plan::tables)
//   sonde_known    hash of a process's last ones of them (if Plan::tables)
//   sonde_targets  array of u64, a bit for each of `most_processes` ids, mapped by the runtime (if filter_target; the
//   programs sonde_follow_fork, sonde_follow_exec and sonde_follow_exit keep it)
//   sonde_groups   hash: a control group's number -> 1, of the groups that the session is limited to and all below them
//   (if follows_groups(); the programs sonde_group_born and sonde_group_gone keep these)
//   sonde_births   hash of struct sonde_group_birth: groups that join `sonde_groups` when they are made
//   sonde_group_names hash: a control group's number -> struct sonde_group_names
//   sonde_counters array of perf events, of counter c on processor p at p * counters + c (if Plan::counters)
//   sonde_counted  array of struct sonde_counted, the same index (codegen/rtlib/counters.h)
//   sonde_counts_of hash {tid, counter} (u32 each) -> u64: what was counted in a thread until it was switched off
//   sonde_subjects hash {u64 subject, u64 group} -> row (u32), if some probe has subjects. A subject is the kernel's
//   address of a program's inode, which the runtime keeps open, a process id, or 0 for all; the program
//   sonde_add_subject finds the address
//   sonde_tasks    hash tid (u32) -> inode of its program (u64), for process and thread probes; the programs
//   sonde_seen_fork, sonde_seen_exec, sonde_seen_exit and sonde_seen_task keep it
struct ProbeCounts {
    uint64_t skipped; // no frame slot was free
    uint64_t lost;    // no room in the ring buffer
    uint64_t waited;  // the lock could not be had
    uint64_t errors;  // an error ended the handler
    uint64_t unsaved; // returns that found nothing of what their call's entry had saved
    uint64_t nested;  // calls whose return the kernel does not follow, as too many were under way
};
struct ProbeTiming {
    uint64_t hits, total_ns, total_squares /* of ns */, min_biased_ns /* ~min */, max_ns;
    uint64_t outcomes[4]; // by HitOutcome: of hits that were not skipped
};
// What became of a hit whose handler ran. Failed: an error ended it, whether its output was lost or not.
enum HitOutcome : uint64_t { Handled = 0, OutputLost = 1, Failed = 2 };

// A byte for each row and each probe, in the data area at Plan::marks: 1 once it has happened. Each kind has
// Plan::marks_size() bytes. Without atomics: nobody writes anything else.
enum class Mark : uint8_t {
    Hit,     // by row: a handler began, or would have if it had not been skipped or its condition had held
    Wanted,  // by row: the probe's condition held
    Entered, // by row: a call was seen whose return is probed
    Outside, // by probe: a process that is not of the target came by
};
constexpr uint64_t mark_kinds = 4;

// Text form for --dump=plan and binary form for -p4 (`sonde FILE.sonde` runs it).
std::string dump(const Plan& plan, const Ways& ways);

} // namespace sonde::plan
