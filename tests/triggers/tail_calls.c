/* Functions that end with a jump to another function: to a name, through a pointer, and after a condition. */
#define KEEP __attribute__((noinline, noclone))

static volatile int sink;

KEEP int last(int n)
{
    sink = n;
    return 2 * n;
}

static int (*volatile chosen)(int) = last;

KEEP int direct(int n)
{
    sink = n;
    return last(n + 1);
}

KEEP int pointed(int n)
{
    return chosen(n + 2);
}

KEEP int maybe(int n)
{
    if (n > 1)
        return last(n);
    sink = n;
    return n;
}

int main(void)
{
    int sum = 0;
    for (int n = 1; n <= 2; n++)
        sum += direct(n) + pointed(n) + maybe(n);
    return sum ? 0 : 1;
}
