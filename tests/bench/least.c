/* Calls getppid() N times, and prints the least mean time of 200 calls in a row. On a busy machine some of these rows
 * are not interrupted, so the figure hardly depends on what else runs. Measures what a tracer of all system calls adds:
 *
 *   least N          untraced; then as the command of a tracer, with -c
 *
 * The kernel ignores the call's arguments. The first one is one of ten texts of 17 bytes, for tracers that read strings:
 *
 *   sonde -c 'least 400000' -e 'global n probe kernel.trace("sys_enter") { if ($id == 110) n[user_string($regs->di)]++ }'
 *   bpftrace -c 'least 400000' -e 'tracepoint:raw_syscalls:sys_enter /args->id == 110/ { @n[str(args->args[0])] = count(); }'
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char** argv) {
    enum { ROW = 200, TEXTS = 10 };
    char texts[TEXTS][24];
    for (int i = 0; i < TEXTS; i++)
        snprintf(texts[i], sizeof texts[i], "the text of no. %d", i);
    long rows = (argc > 1 ? atol(argv[1]) : 200000) / ROW;
    double least = 1e18;
    for (long i = 0; i < rows; i++) {
        double begin = now();
        for (int call = 0; call < ROW; call++)
            syscall(SYS_getppid, texts[call % TEXTS]);
        double took = (now() - begin) / ROW;
        least = took < least ? took : least;
    }
    fprintf(stderr, "least %.1f\n", least);
    return 0;
}
