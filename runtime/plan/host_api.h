// What host handlers' code may call. Names are the undefined symbols of Plan::host_object; the loader binds them.
//
// A host handler is `void NAME(void* session, char* frame, char* data)`: session is opaque, frame has Probe::frame_size
// zeroed bytes, data is the data area (SessionWords, then the scalars). Functions of the script take (session, frame
// top...) likewise; see codegen/host/target_host.cc. All functions here are C ABI and never throw. `status` results: 0
// is fine, otherwise 1 + the errors below; the caller raises the error at its site.
#pragma once

#include <cstdint>

namespace sonde {

enum HostStatus : int64_t { HostOk = 0, HostArrayFull = 1, HostRefused = 2 };

// What a foreach walks; built on the handler's frame.
struct HostForeach {
    uint32_t global;
    int32_t sort_direction;  // +1, -1, 0
    int32_t sort_column;     // 0 value, 1.. key
    int32_t sort_stat;       // hir::StatValue
    int64_t sort_percentile; // hir::StatRead::percentile
    int64_t limit;           // -1: none
    uint64_t slice_mask;     // bit i: key i must equal the one in slice_key
    const void* slice_key;   // laid out as a key
};

extern "C" {
// Output: `record` is a whole record, RecordHeader first. Print and Warn go to the output in order; control records
// act.
void sonde_host_emit(void* session, const void* record, uint64_t size);
// Arrays, in the kernel's maps or the host's memory alike. `value` excludes the insertion number: int64_t,
// char[max_string] or a StatsBlock with buckets. Load: 1 if there, else 0 and value is all zero. Store creates (full:
// HostArrayFull, unless it wraps).
int64_t sonde_host_array_load(void* session, uint32_t global, const void* key, void* value);
int64_t sonde_host_array_store(void* session, uint32_t global, const void* key, const void* value);
int64_t sonde_host_array_add(void* session, uint32_t global, const void* key, int64_t delta, int64_t* old_value);
int64_t sonde_host_array_stat_add(void* session, uint32_t global, const void* key, int64_t value);
void sonde_host_array_delete(void* session, uint32_t global, const void* key);
void sonde_host_array_delete_slice(void* session, uint32_t global, uint64_t slice_mask,
                                   const void* slice_key); // mask 0: all
int64_t sonde_host_array_contains_slice(void* session, uint32_t global, uint64_t slice_mask, const void* slice_key);
// A foreach sees the array as it was at begin. `next`: 1 and fills key and value (value may be null), or 0 at the end.
void* sonde_host_foreach_begin(void* session, const HostForeach* spec);
int64_t sonde_host_foreach_next(void* iterator, void* key, void* value);
void sonde_host_foreach_end(void* iterator);

// A software stack for functions' frames. 0: no room, or nested deeper than Plan::max_nesting.
char* sonde_host_push_frame(void* session, uint64_t size);
void sonde_host_pop_frame(void* session, char* frame);

// What lies at an address of some process that handlers told of: a sonde_symbol_style as text.
void sonde_host_symbol(void* session, char* dst, uint64_t size, uint64_t address, uint64_t style);

// `$value` of the control file whose handler runs: into dst, and set or lengthened by a text.
void sonde_host_file_value(void* session, char* dst, uint64_t size);
void sonde_host_set_file_value(void* session, const char* text, int64_t append);

// Kernel memory: nonzero if it cannot be read. A block is followed by a NUL; `size` of a string includes its NUL.
int64_t sonde_host_read_kernel(void* session, char* dst, uint64_t size, uint64_t address);
int64_t sonde_host_read_kernel_block(void* session, char* dst, uint64_t size, uint64_t address);
int64_t sonde_host_read_kernel_string(void* session, char* dst, uint64_t size, uint64_t address);
// The session's own `struct task_struct`, in the kernel; 0 if that cannot be found out.
int64_t sonde_host_task_current(void* session);
int64_t sonde_host_pid_level(void* session); // struct sonde_numbering
int64_t sonde_host_pid_space(void* session);
// 0: what the session runs itself is no system call.
int64_t sonde_host_in_32_bit_call(void* session);
int64_t sonde_host_has_narrow_times(void* session);
// To the session itself: nonzero, and nothing is sent.
int64_t sonde_host_raise(int64_t signal);
// Of 1, 5, 15 minutes, in 1/2048; -1 if it cannot be read.
int64_t sonde_host_loadavg(int64_t index);
// The node of memory of an address of the kernel's: negative where it has none, and on machines with several nodes.
int64_t sonde_host_memory_node(uint64_t address);
// Appends a histogram as it is printed to the string of `length` characters in `dst`, which has room for MAXSTRINGLEN;
// gives the new length. `stats`: the statistic that the global `global`, or an element of it, holds.
uint64_t sonde_host_append_histogram(void* session, char* dst, uint64_t length, uint32_t global, const uint64_t* stats);

// The process that runs the session stands for the current task in host handlers.
int64_t sonde_host_pid();
int64_t sonde_host_tid();
int64_t sonde_host_ppid();
int64_t sonde_host_uid();
int64_t sonde_host_euid();
int64_t sonde_host_gid();
int64_t sonde_host_egid();
int64_t sonde_host_cpu();
int64_t sonde_host_random(); // 32 bits
int64_t sonde_host_jiffies();
void sonde_host_execname(char* dst, uint64_t size);
void sonde_host_group_text(void* session, char* dst, uint64_t size, int64_t kind); // plan::GroupKind
int64_t sonde_host_monotonic_ns();
int64_t sonde_host_realtime_ns();
int64_t sonde_host_cycles();
}

// Name and address of every function above and of memcpy, memmove, memset, memcmp: what the loader binds.
struct HostSymbol {
    const char* name;
    void* address;
};
const HostSymbol* host_symbols(unsigned long* count);

} // namespace sonde
