// A program whose code in memory may differ from that in its file. For each byte of input it calls price() ten times,
// and prints the sum of the results and the number of its breakpoints. Its argument is one of:
//
// plain: no difference. patched: another instruction begins price(), as in a hot patch. breakpoint: it has a breakpoint
// of its own, as under a debugger. protected: the page was writable for a moment.
//
// The page of price() is not that of the file any more: moved: it is a copy in anonymous memory, as for large pages.
// clean: the same, but the copy was read from the file. dropped: it was dropped from memory (MADV_DONTNEED). remapped:
// it was mapped again, and writable at first. writable: it is mapped writable. shared: it is mapped as shared memory.
// secretly: it was dropped by a system call without the C library's function.
//
// The program calls a copy of price(): copied: of the page, in anonymous memory. function: of the function alone.
// memfd, shared_memfd: of the page, in a file in memory. unseen: of the page, in memory that is writable and
// executable.
//
// With the argument `later` before it, the change happens when the input is "c".
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { page = 4096 };
static volatile int traps;

__attribute__((noinline, noclone, section("price_code"), aligned(4096))) int price(int n) {
    __asm__ volatile("nop\n nop\n nop\n nop\n nop\n nop" ::: "memory");
    return n * 2;
}
__attribute__((noinline, noclone, section("price_code"))) int other(int n) {
    __asm__ volatile("nop" ::: "memory");
    return n + 1;
}
__attribute__((noinline, noclone)) static int new_price(int n) {
    __asm__ volatile("" ::: "memory");
    return n * 3;
}

static int (*volatile called)(int) = price;

static void trap(int signal) { traps += signal != 0; }

// The offset of the page in the program's file.
static off_t file_offset(const unsigned char* start) {
    FILE* maps = fopen("/proc/self/maps", "r");
    unsigned long first, end, offset, out = 0;
    char line[512];
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %lx", &first, &end, &offset) == 3 && (uintptr_t)start >= first &&
            (uintptr_t)start < end)
            out = offset + ((uintptr_t)start - first);
    fclose(maps);
    return (off_t)out;
}

// Maps the page again, at the same address.
static bool map_again(unsigned char* start, int protection, int flags) {
    const int fd = open("/proc/self/exe", O_RDONLY);
    return mmap(start, page, protection, flags | MAP_FIXED, fd, file_offset(start)) == start;
}

static bool call_copy(const void* from, size_t size) {
    void* copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, from, size);
    called = (int (*)(int))copy;
    return mprotect(copy, page, PROT_READ | PROT_EXEC) == 0;
}

static bool call_unseen_copy(const void* from) {
    void* copy = mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, from, page);
    called = (int (*)(int))copy;
    return true;
}

static bool call_memfd(const void* from, int flags) {
    const int fd = memfd_create("code", 0);
    if (write(fd, from, page) != page)
        return false;
    void* copy = mmap(NULL, page, PROT_READ | PROT_EXEC, flags, fd, 0);
    called = (int (*)(int))copy;
    return copy != MAP_FAILED;
}

// Replaces the page by a copy without breakpoints, which is read from the file.
static bool read_again(unsigned char* start) {
    unsigned char bytes[page];
    const int fd = open("/proc/self/exe", O_RDONLY);
    if (pread(fd, bytes, page, file_offset(start)) != page ||
        mmap(start, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != start)
        return false;
    memcpy(start, bytes, page);
    return mprotect(start, page, PROT_READ | PROT_EXEC) == 0;
}

static int change(const char* mode) {
    unsigned char* code = (unsigned char*)price;
    unsigned char* start = (unsigned char*)((uintptr_t)code & ~(uintptr_t)(page - 1));
    if (strcmp(mode, "moved") == 0) {
        unsigned char* copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(copy, start, page);
        mprotect(copy, page, PROT_READ | PROT_EXEC);
        return mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, start) == start;
    }
    if (strcmp(mode, "clean") == 0)
        return read_again(start);
    if (strcmp(mode, "dropped") == 0)
        return madvise(start, page, MADV_DONTNEED) == 0;
    if (strcmp(mode, "secretly") == 0)
        return syscall(SYS_madvise, start, page, MADV_DONTNEED) == 0;
    if (strcmp(mode, "remapped") == 0)
        return map_again(start, PROT_READ | PROT_WRITE, MAP_PRIVATE) &&
               mprotect(start, page, PROT_READ | PROT_EXEC) == 0;
    if (strcmp(mode, "writable") == 0)
        return map_again(start, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE);
    if (strcmp(mode, "shared") == 0)
        return map_again(start, PROT_READ | PROT_EXEC, MAP_SHARED);
    if (strcmp(mode, "copied") == 0)
        return call_copy(start, page);
    if (strcmp(mode, "unseen") == 0)
        return call_unseen_copy(start);
    if (strcmp(mode, "function") == 0)
        return call_copy(code, (size_t)((const unsigned char*)other - code));
    if (strcmp(mode, "memfd") == 0 || strcmp(mode, "shared_memfd") == 0)
        return call_memfd(start, mode[0] == 'm' ? MAP_PRIVATE : MAP_SHARED);
    if (mprotect(start, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return 0;
    const int32_t distance = (int32_t)((unsigned char*)new_price - (code + 5));
    if (strcmp(mode, "patched") == 0) {
        code[0] = 0xe9;
        memcpy(code + 1, &distance, sizeof distance);
    } else if (strcmp(mode, "breakpoint") == 0) {
        signal(SIGTRAP, trap);
        code[0] = 0xcc;
    }
    return mprotect(start, page, PROT_READ | PROT_EXEC) == 0;
}

int main(int argc, char** argv) {
    const bool later = argc > 2 && strcmp(argv[1], "later") == 0;
    if (argc > 1 && !later && strcmp(argv[1], "plain") != 0 && !change(argv[1]))
        return 1;
    puts("ready");
    fflush(stdout);
    for (char byte; read(0, &byte, 1) == 1;) {
        int sum = 0;
        if (byte == 'c' && (!later || !change(argv[2])))
            return 1;
        traps = 0;
        for (int i = 1; i <= 10; i++)
            sum += called(i);
        printf("%d %d %d\n", sum, traps, other(1));
        fflush(stdout);
    }
    return 0;
}
