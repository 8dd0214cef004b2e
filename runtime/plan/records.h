// Records: the output of handlers, on its way to the runtime through the ring buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/batch.h"
#include "runtime/plan/data.h"
#include "runtime/plan/handler_errors.h"

namespace sonde::plan {

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
enum StackStyle : char { FullStack, BriefStack, StackWithLines, AsyncStack }; // AsyncStack: only async functions
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
    Dump = 13,                  // events ring: dump(); payload: the time (int64, ns since 1970), then the text and its
                                // NUL. Control ring: a process of the target crashed. format: its signal; row: its
                                // number in the kernel
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

// A position in the script at which a soft error can occur.
struct Site {
    ErrorMessage message;
    ErrorPlace near;
};

} // namespace sonde::plan
