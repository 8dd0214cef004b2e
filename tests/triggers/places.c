/* Labels, and a function that is called from two places. Prints nothing. */
#if defined(__clang__)
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

static volatile long sink;

KEEP long leaf(long depth)
{
    sink += depth;
    return depth + 1;
}

static inline __attribute__((always_inline)) long folded(long x)
{
    sink += x;
    return leaf(x) + 100;
}

KEEP long middle(long depth)
{
    long first = leaf(depth);
    long second = leaf(depth + 10);
    return first + second + sink;
}

KEEP long outer(long depth)
{
    long result = middle(depth);
    sink += result;
    return result;
}

KEEP long again(long times)
{
    long round = 0;
retry:
    sink += round;
    if (++round < times)
        goto retry;
    if (times > 100)
        goto done;
    sink++;
done:
    sink += 2;
    return round;
}

int main(void)
{
    long sum = leaf(1);
    sum += middle(2);
    sum += folded(3);
    sum += outer(20);
    sum += again(3);
    return sum == 0;
}
