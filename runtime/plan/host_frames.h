// The functions that handlers for a copied stack (stack_copy.h) can call, besides those of host_api.h.
#pragma once

#include <cstdint>

namespace sonde {

// Numbers for sonde_host_register(): the base address of the thread's thread-local storage, and the first of the
// registers at the function's entry.
constexpr int64_t host_thread_pointer = -1, host_entry_registers = 1000;

extern "C" {
// Read the memory and the registers of the function whose handler runs. Memory: return nonzero if it cannot be read;
// `size` of a string includes its NUL. In other handlers, nothing can be read, and registers are 0. `number` is that of
// a hir::Register, or one of the numbers above.
int64_t sonde_host_read_user(void* session, char* dst, uint64_t size, uint64_t address);
int64_t sonde_host_read_user_string(void* session, char* dst, uint64_t size, uint64_t address);
int64_t sonde_host_register(void* session, int64_t number);
}

} // namespace sonde
