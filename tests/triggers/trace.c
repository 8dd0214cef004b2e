/* Functions that call each other, for the examples and tests of call flows. */
#include <stdio.h>
#include <stdlib.h>

#if defined(__GNUC__)
#define KEEP __attribute__((noinline, noclone))
#else
#define KEEP __attribute__((noinline))
#endif

KEEP int traceme2(int x, int y)
{
    int sum = x + y;
    printf("traceme2: %d\n", sum);
    return sum;
}

KEEP int traceme(int a, int b)
{
    int first = traceme2(a, b);
    int second = traceme2(a + 1, b + 1);
    return first * second;
}

int main(int argc, char** argv)
{
    int ret, rounds = argc > 1 ? atoi(argv[1]) : 1;
    int total = 0;

    for (int i = 0; i < rounds; i++) {
        ret = traceme(i + 1, i + 2);
        total += ret;
    }

    printf("total %d, last %d\n", total, ret);
    return total > 0 ? 0 : 1;
}
