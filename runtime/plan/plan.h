// The Plan: the result of translation. The runtime gets nothing else from the compiler.
//
// A plan contains data only. It has no pointers, file descriptors, or other values that are valid in one process only.
// So it can be saved, and run later or on another machine without the script, debug information or LLVM. Everything
// that depends on the running kernel is decided when a session begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/architecture.h"
#include "options/translate.h"
#include "runtime/plan/data.h"
#include "runtime/plan/group_names.h"
#include "runtime/plan/points.h"
#include "runtime/plan/probed_files.h"
#include "runtime/plan/python.h"
#include "runtime/plan/records.h"

namespace sonde::plan {

enum class Mechanism : uint8_t; // traits.h

// A handler with its points.
struct Probe {
    std::string name;  // Handler::name
    std::string place; // position in the script: "file.stp:3:1"
    ProbeKind kind{};  // Begin
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

// The input of the translation, from which --relink translates the script again for other builds of the probed files.
struct NamedText {
    std::string name, text;
};
struct Origin {
    std::string folder;             // the working directory, for relative paths in the script and its options
    std::vector<NamedText> scripts; // the script's text, unless -e has it
    std::vector<NamedText> library; // the files of the folders given by -I
};

// The result of a translation, and everything that a session needs. It can be saved to a file (plan_file.h).
struct Plan {
    uint16_t machine = host_architecture().machine(); // for which it is made (EM_*)
    std::string script;                               // the script's name, for messages
    std::vector<uint8_t> bpf_object;                  // ELF file for libbpf; empty without handlers in the kernel
    std::vector<uint8_t> host_object;                 // relocatable ELF file for `machine`; empty without host handlers
    uint64_t data_size = sizeof(SessionWords);        // size of the data area in bytes
    uint32_t max_string = 512;                        // MAXSTRINGLEN, including the NUL; a power of two
    uint8_t tables = 0;                               // the FileTables that handlers use
    std::string writes; // the first statement that writes user memory, with its position; empty: none
    // The first statement that changes the kernel or a program, with its position: memory, registers, results or
    // signals. Verdicts on packets do not count. Empty: none.
    std::string changes;
    bool filter_target = false; // run kernel handlers only for tasks in the map `sonde_targets`
    bool filter_groups = false; // run kernel handlers only for tasks whose group is in the map `sonde_groups`
    bool names_groups = false;  // handlers use the names of groups: the map `sonde_group_names`
    bool names_module = false;  // the code contains `module`: module_name()
    uint64_t marks = 0;         // offset in the data area of the bytes of Mark; 0: no handler runs in the kernel
    std::vector<Global> globals;
    std::vector<Format> formats;
    std::vector<Site> sites;
    std::vector<ErrorPlace> calls; // calls of functions
    std::vector<Point> rows;       // all points of all probes
    std::vector<Probe> probes;
    std::vector<Counter> counters;
    std::vector<sonde_python> pythons; // the first elements of the map `sonde_python`
    std::vector<std::string> texts;    // sorted; keys refer to them by index
    std::string module;                // the session's name; the folder of its control files contains it
    KernelBuild kernel;                // the kernel for whose types the handlers were translated
    std::vector<ProbedFile> files;     // sorted by path
    Translate translate;               // the options of the translation
    Origin origin;                     // for saved plans
    std::vector<GroupName> groups;     // the session is limited to these; empty: no limit

    uint64_t marks_size() const;               // a power of two
    bool has_subjects() const;                 // of any probe
    bool has(bool (*wanted)(ProbeKind)) const; // whether any probe has such a kind
    bool follows_tasks() const;                // needed for process and thread probes
    // Whether kprobe_multi links may serve the probes that fit them.
    bool fits_kprobe_multi() const;
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

// Returns the plan as text, for --dump=plan. plan_file.h has the binary form.
std::string dump(const Plan& plan, const LinkKinds& links);

} // namespace sonde::plan
