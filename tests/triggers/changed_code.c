// A program whose code in memory may differ from that in its file. Its argument is one of: plain: no difference.
// patched: another instruction begins price(), as in a hot patch. breakpoint: it has a breakpoint of its own, as
// under a debugger. moved: the page is a copy in anonymous memory, as for large pages. For each byte of input it
// calls price() ten times, and prints the sum of the results and the number of its breakpoints.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

static void trap(int signal) { traps += signal != 0; }

static int change(const char* mode) {
    unsigned char* code = (unsigned char*)price;
    unsigned char* start = (unsigned char*)((uintptr_t)code & ~(uintptr_t)(page - 1));
    if (strcmp(mode, "moved") == 0) {
        unsigned char* copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(copy, start, page);
        mprotect(copy, page, PROT_READ | PROT_EXEC);
        return mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, start) == start;
    }
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
    if (argc > 1 && strcmp(argv[1], "plain") != 0 && !change(argv[1]))
        return 1;
    puts("ready");
    fflush(stdout);
    for (char byte; read(0, &byte, 1) == 1;) {
        int sum = 0;
        traps = 0;
        for (int i = 1; i <= 10; i++)
            sum += price(i);
        printf("%d %d %d\n", sum, traps, other(1));
        fflush(stdout);
    }
    return 0;
}
