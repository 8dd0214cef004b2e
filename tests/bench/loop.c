/* The program that the benchmark traces: calls add() as often as its argument says. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* With -O2 it begins with `push %rbx`, which the kernel emulates. With STEPPED it begins with an addition, which the
 * kernel single-steps. With TEXTS its first argument is one of ten texts of 17 bytes, and else a number. */
#ifdef TEXTS
typedef const char* First;
static First first(long i) {
    static char text[] = "the text of no. 0";
    text[sizeof text - 2] = (char)('0' + i % 10);
    return text;
}
#else
typedef long First;
#define first(i) (i)
#endif
__attribute__((noinline, noclone)) long add(First a, long b) {
#ifndef STEPPED
    __asm__ volatile("" ::: "rbx");
#endif
    return (long)a + b;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static double begin, end;

static long call(long calls) {
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += add(first(i), 1);
    begin = now();
    for (long i = 0; i < calls; i++)
        sum += add(first(i), 1);
    end = now();
    return sum;
}

/* DEPTH: number of functions between main() and the calls. */
#ifdef DEPTH
__attribute__((noinline, noclone)) static long down(int depth, long calls) {
    long sum = depth > 1 ? down(depth - 1, calls) : call(calls);
    __asm__ volatile("" : "+r"(sum)); /* prevents a tail call */
    return sum;
}
#define call(calls) down(DEPTH, calls)
#endif

int main(int argc, char** argv) {
    double start = now();
    long calls = argc > 1 ? atol(argv[1]) : 0, sum = call(calls);
    /* Start time of main on the clock that Python calls monotonic, and the time of one call. */
    fprintf(stderr, "started %.0f\nns %.1f\n", start, calls ? (end - begin) / calls : 0);
    return sum == 0;
}
