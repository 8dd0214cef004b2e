// The functions that the code of host handlers can call. Host handlers run in the session's own process. Their code is
// a relocatable object (Plan::host_object) with these functions as undefined symbols, which the loader binds.
//
// A host handler is `void NAME(void* session, char* frame, char* data)`. `session` is opaque, `frame` has
// Probe::frame_size zeroed bytes, and `data` is the data area: SessionWords, then the scalars. Functions of the script
// have the parameters (session, frame top, ...) (codegen/lower/function.cc).
//
// All functions have C linkage and never throw. Functions that return a status return 0 for success, or a HostStatus.
// The caller then raises the error at its position in the script.
#pragma once

#include <cstdint>

namespace sonde {

enum HostStatus : int64_t { HostOk = 0, HostArrayFull = 1, HostRefused = 2, HostSameIdentity = 3 };

// The arguments of a foreach loop, stored in the handler's frame.
struct HostForeach {
    uint32_t global;
    int32_t sort_direction;  // +1: ascending, -1: descending, 0: unsorted
    int32_t sort_column;     // 0: value, 1 and higher: key component
    int32_t sort_stat;       // hir::StatValue
    int64_t sort_percentile; // hir::StatRead::percentile
    int64_t limit;           // -1: no limit
    uint64_t slice_mask;     // bit i: key component i must equal that of slice_key
    const void* slice_key;   // in the layout of a key
};

extern "C" {
// Sends a whole record, which begins with a RecordHeader. Print and Warn are output in order; control records take
// effect.
void sonde_host_emit(void* session, const void* record, uint64_t size);
// Arrays in the kernel's maps or in the session's memory. `value` does not contain the insertion number. It is an
// int64_t, a char[max_string], or a StatsBlock with buckets. `load` returns 1 if the element exists; otherwise it
// returns 0 and fills `value` with zeros. `store` creates the element; it returns HostArrayFull if the array is full
// and does not wrap, and HostSameIdentity if the hash of the key is that of another one (array_maps.h).
int64_t sonde_host_array_load(void* session, uint32_t global, const void* key, void* value);
int64_t sonde_host_array_store(void* session, uint32_t global, const void* key, const void* value);
// `add` adds to a long and stores the value before in `old_value`. `stat_add` adds a value to a statistic. Both
// create the element if necessary, and return the same as `store`.
int64_t sonde_host_array_add(void* session, uint32_t global, const void* key, int64_t delta, int64_t* old_value);
int64_t sonde_host_array_stat_add(void* session, uint32_t global, const void* key, int64_t value);
void sonde_host_array_delete(void* session, uint32_t global, const void* key);
// A slice consists of all elements whose keys agree with `slice_key` in the components of `slice_mask` (bit i:
// component i). A mask of 0 means all elements.
void sonde_host_array_delete_slice(void* session, uint32_t global, uint64_t slice_mask,
                                   const void* slice_key); // mask 0: all
int64_t sonde_host_array_contains_slice(void* session, uint32_t global, uint64_t slice_mask, const void* slice_key);
// A foreach loop works on a copy of the array from its begin. `next` returns 1 and fills `key` and `value` (`value` may
// be null), or returns 0 at the end.
void* sonde_host_foreach_begin(void* session, const HostForeach* spec);
int64_t sonde_host_foreach_next(void* iterator, void* key, void* value);
void sonde_host_foreach_end(void* iterator);

// A stack in memory for the frames of functions. Returns null if it is full, or nested deeper than Plan::max_nesting.
char* sonde_host_push_frame(void* session, uint64_t size);
void sonde_host_pop_frame(void* session, char* frame);

// Writes the symbol at an address, as text. `style` is a sonde_symbol_style. The address belongs to a process that
// handlers have recorded.
void sonde_host_symbol(void* session, char* dst, uint64_t size, uint64_t address, uint64_t style);

// `$value` of the control file whose handler runs. The first function copies it to `dst`. The second one replaces it,
// or appends to it.
void sonde_host_file_value(void* session, char* dst, uint64_t size);
void sonde_host_set_file_value(void* session, const char* text, int64_t append);

// Read kernel memory. Return nonzero if it cannot be read. A block is followed by a NUL; `size` of a string includes
// its NUL.
int64_t sonde_host_read_kernel(void* session, char* dst, uint64_t size, uint64_t address);
int64_t sonde_host_read_kernel_block(void* session, char* dst, uint64_t size, uint64_t address);
int64_t sonde_host_read_kernel_string(void* session, char* dst, uint64_t size, uint64_t address);
// Never sends a signal, because it would go to the session itself. Returns nonzero.
int64_t sonde_host_raise(int64_t signal);
// Returns the load average of 1, 5 or 15 minutes, in units of 1/2048; -1 if it cannot be read.
int64_t sonde_host_loadavg(int64_t index);
// Returns the NUMA node of a kernel address. Negative if the address does not belong to a node, and on machines with
// several nodes.
int64_t sonde_host_memory_node(uint64_t address);
// Appends a histogram as text to the string in `dst`, which has `length` characters and room for MAXSTRINGLEN. Returns
// the new length. `stats` is the statistic of the global number `global`, or of one of its elements.
uint64_t sonde_host_append_histogram(void* session, char* dst, uint64_t length, uint32_t global, const uint64_t* stats);

// The event of a recording whose handler runs (values/recorded_events.h). `name` is the name of a recorded value.
// `recorded` returns 1 if the event has this value, otherwise 0. The other functions return 0 or "" then.
int64_t sonde_host_recorded(void* session, const char* name);
int64_t sonde_host_recorded_number(void* session, const char* name);
void sonde_host_recorded_text(void* session, char* dst, uint64_t size, const char* name);
// All values of the event, as `name=value name=value`.
void sonde_host_recorded_all(void* session, char* dst, uint64_t size);
// The row of the event's point in Plan::rows.
int64_t sonde_host_recorded_row(void* session);
// The event's stack of the user (0) or the kernel (1). Stores the process, the sonde_stack_state and the number of
// addresses in `words`, and then at most `most` addresses. Returns the number of addresses.
int64_t sonde_host_recorded_stack(void* session, uint64_t* words, uint64_t most, int64_t of_kernel);
// The address at an index, counted from the innermost one at 0; 0 if the stack is shorter.
int64_t sonde_host_recorded_address(void* session, int64_t of_kernel, int64_t index);
// `count` addresses of this stack as text (-1: all), beginning with the one at index `first`.
void sonde_host_recorded_addresses(void* session, char* dst, uint64_t size, int64_t of_kernel, int64_t first,
                                   int64_t count);

// In host handlers, the session's own process is the current task, except in handlers of recorded events. Clocks show
// the time of the recording then.
#define TASK_NUMBER(id, name, ...) int64_t sonde_host_##name(void* session);
#include "runtime/plan/task_numbers.def"
#undef TASK_NUMBER
void sonde_host_execname(void* session, char* dst, uint64_t size);
void sonde_host_group_text(void* session, char* dst, uint64_t size, int64_t kind); // plan::GroupKind
int64_t sonde_host_monotonic_ns(void* session);
int64_t sonde_host_realtime_ns(void* session);
int64_t sonde_host_cycles();
}

// Names and addresses of all functions above, and of memcpy, memmove, memset and memcmp. The loader binds these.
struct HostSymbol {
    const char* name;
    void* address;
};
// Stores the number of entries in `count`. The array is static.
const HostSymbol* host_symbols(unsigned long* count);

} // namespace sonde
