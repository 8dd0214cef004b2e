/* A library with thread-local variables: general, and with -ftls-model=initial-exec those of the block of the beginning. */
__thread long exported = 1000;
static __thread int hidden[4] = {1, 2, 3, 4};

__attribute__((noinline, noclone)) long library_work(long by)
{
    exported += by;
    hidden[2] += (int)by;
    return exported + hidden[2];
}
