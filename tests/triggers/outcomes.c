/* The possible outcomes of a hit: `outcomes N [DEPTH]` calls each function N times, and deep() with DEPTH nested calls. */
#include <setjmp.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noclone))

KEEP int divide(int round)
{
    __asm__ volatile("" : "+r"(round));
    return round + 1;
}

/* Inlined where it is called; its own code exists, but is never called. */
static int twice(int n)
{
    __asm__ volatile("" : "+r"(n));
    return 2 * n;
}
int (*volatile unused)(int) = twice;

KEEP int deep(int left)
{
    int below = left > 1 ? deep(left - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

static jmp_buf out;
KEEP void leave(int how)
{
    __asm__ volatile("" : "+r"(how));
    longjmp(out, how);
}

KEEP void never_called(void)
{
    __asm__ volatile("");
}

int main(int argc, char** argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, depth = argc > 2 ? atoi(argv[2]) : 1;
    volatile int sum = 0;
    for (volatile int i = 0; i < rounds; i++) {
        sum += divide(i) + twice(i) + deep(depth);
        if (!setjmp(out))
            leave(1);
    }
    if (rounds < 0)
        never_called();
    return 0;
}
