/* A library with thread-local variables: in general, or with -ftls-model=initial-exec in the initial block. */
__thread long exported = 1000;
static __thread int hidden[4] = {1, 2, 3, 4};

__attribute__((noinline, noclone)) long library_work(long by)
{
    exported += by;
    hidden[2] += (int)by;
    return exported + hidden[2];
}
