// Creates a function like a just-in-time compiler, and names it in a file like one: `made_code
// FOLDER USER WAY`. It calls hit(), which it gets as its argument. The file is FOLDER/perf-PID.map
// and belongs to USER (0: root). WAY "twice": afterwards, another function replaces the first one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) void hit(void) { sink++; }

int main(int count, char** words) {
    // push rbp; mov rbp, rsp; call rdi; pop rbp; ret
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    if (count < 4)
        return 2;
    unsigned char* memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory + 64, code, sizeof code);
    if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0)
        return 1;
    char path[256];
    snprintf(path, sizeof path, "%s/perf-%d.map", words[1], getpid());
    FILE* names = fopen(path, "w");
    if (!names)
        return 1;
    fprintf(names, "not a line\n0 0 nothing\n%lx %zx made by a compiler\n", (unsigned long)(memory + 64), sizeof code);
    fclose(names);
    if (chown(path, (unsigned)atoi(words[2]), (unsigned)-1) != 0)
        return 1;
    printf("%d %s\n", getpid(), path);
    fflush(stdout);
    ((void (*)(void (*)(void)))(memory + 64))(hit);
    sink++;
    if (!strcmp(words[3], "twice")) {
        sleep(1); // sonde reads the file at most ten times a second
        names = fopen(path, "a");
        fprintf(names, "%lx %zx made anew\n", (unsigned long)(memory + 60), sizeof code + 4);
        fclose(names);
        ((void (*)(void (*)(void)))(memory + 64))(hit);
        sink++;
    }
    return 0;
}
