/* Parameters of every class of the ABI, for a probe at the call's first instruction. */
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))

struct small {
    int a;
    short b, c;
};
struct two {
    long a;
    signed char b;
};
struct mixed {
    double d;
    long n;
};
struct large {
    long a, b, c;
};

KEEP long many(signed char a, struct small s, double d, struct two t, unsigned char b, struct mixed m, struct large l, long double x, __int128 w, int last)
{
    long sum = a + s.a + s.c + (long)d + t.b + b + m.n + l.c + (long)x + (long)w + last;
    return sum;
}

KEEP struct large room(int a, long b)
{
    struct large result = {a, b, a + b};
    return result;
}

int main(void)
{
    struct small s = {1, -2, 3};
    struct two t = {4, -5};
    struct mixed m = {1.5, 6};
    struct large l = {7, 8, 9};
    long sum = many(-1, s, 2.5, t, 200, m, l, 3.5L, -10, -11);
    printf("%ld\n", sum + room(12, 13).c);
    return 0;
}
