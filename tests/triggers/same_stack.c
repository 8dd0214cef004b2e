// Many processes with the same stacks. `same_stack N [PROGRAM WORDS...]` runs itself, or the program, N
// times, one process after the other, each by fork() and exec(). Without N it calls hit() through two
// paths of its own and through the C library; with `made`, also from code that it creates. Only the kernel
// may randomize addresses. With `fixed` instead of N, a process without randomization runs the program.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) void hit(int way) { sink += way; }

static __attribute__((noinline)) void one_way(void) {
    hit(1);
    sink++;
}
#ifndef OTHER
static __attribute__((noinline)) void other_way(void) {
    hit(2);
    hit(2);
    sink++;
}
#else
static __attribute__((noinline)) void moved_way(void) {
    hit(2);
    hit(2);
    sink++;
}
#define other_way moved_way
#endif
static int compare(const void* a, const void* b) {
    hit(3);
    sink++;
    return *(const int*)a - *(const int*)b;
}

static void call_made_code(void) {
#if defined(__aarch64__)
    // stp x29, x30, [sp, #-16]!; mov x29, sp; mov x8, x0; mov w0, #4; blr x8; ldp x29, x30, [sp], #16; ret
    static const unsigned code[] = {0xa9bf7bfd, 0x910003fd, 0xaa0003e8, 0x52800080, 0xd63f0100, 0xa8c17bfd, 0xd65f03c0};
#else
    // push rbp; mov rbp, rsp; mov rax, rdi; mov edi, 4; call rax; pop rbp; ret
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0xbf, 4, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};
#endif
    unsigned char* memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof code);
    __builtin___clear_cache((char*)memory, (char*)memory + sizeof code);
    if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0)
        exit(1);
    ((void (*)(void (*)(int)))memory)(hit);
    sink++;
}

static int run(char** words) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execv(words[0], words);
        _exit(127);
    }
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

int main(int count, char** words) {
    int times = count > 1 ? atoi(words[1]) : 0;
    char* itself[] = {words[0], NULL};
    if (count > 2 && strcmp(words[1], "fixed") == 0) {
        personality(ADDR_NO_RANDOMIZE);
        execv(words[2], words + 2);
        return 127;
    }
    for (int i = 0; i < times; i++)
        if (run(count > 2 ? words + 2 : itself) != 0)
            return 1;
    if (times)
        return 0;
    int numbers[] = {2, 1};
    one_way();
    other_way();
    qsort(numbers, 2, sizeof *numbers, compare);
    if (count > 1)
        call_made_code();
    return 0;
}
