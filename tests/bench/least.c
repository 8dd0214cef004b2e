/* Calls getppid() N times, and prints the least mean time of 200 calls in a row. On a busy machine some of these rows
 * are not interrupted, so the figure hardly depends on what else runs. Measures what a tracer of all system calls adds:
 *
 *   least N          untraced; then as the command of a tracer, with -c
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
    enum { ROW = 200 };
    long rows = (argc > 1 ? atol(argv[1]) : 200000) / ROW;
    double least = 1e18;
    for (long i = 0; i < rows; i++) {
        double begin = now();
        for (int call = 0; call < ROW; call++)
            syscall(SYS_getppid);
        double took = (now() - begin) / ROW;
        least = took < least ? took : least;
    }
    fprintf(stderr, "least %.1f\n", least);
    return 0;
}
