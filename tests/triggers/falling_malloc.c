// Preloaded into sonde: an allocator whose addresses fall from one allocation to the next. The usual allocator's rise,
// so output that depends on addresses differs under this one.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { head = 16 }; // before each block, with its size

static char* region;
static char* lowest; // the last block's head

static void* take(size_t alignment, size_t size) {
    const size_t most = (size_t)16 << 30; // only touched pages need memory, so nothing is freed
    if (!__atomic_load_n(&region, __ATOMIC_ACQUIRE)) { // sonde's first allocation is made by its only thread
        char* fresh = mmap(0, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        lowest = fresh + most;
        __atomic_store_n(&region, fresh, __ATOMIC_RELEASE);
    }
    if (alignment < head)
        alignment = head;
    char *before = __atomic_load_n(&lowest, __ATOMIC_RELAXED), *block;
    do
        block = (char*)((uintptr_t)(before - size) / alignment * alignment);
    while (!__atomic_compare_exchange_n(&lowest, &before, block - head, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    ((size_t*)block)[-1] = size;
    return block;
}

void* malloc(size_t size) { return take(head, size); }
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t size) { return take(head, count * size); } // fresh pages are zero
void* realloc(void* block, size_t size) {
    void* out = take(head, size);
    size_t before = block ? ((size_t*)block)[-1] : 0;
    return before ? memcpy(out, block, before < size ? before : size) : out;
}
void* aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
void* memalign(size_t alignment, size_t size) { return take(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
    *out = take(alignment, size);
    return 0;
}
size_t malloc_usable_size(void* block) { return block ? ((size_t*)block)[-1] : 0; }
