/* Thread-local variables of a program and of its library, in several threads. */
#include <pthread.h>
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))

struct part {
    int number;
    const char* name;
};

__thread long counter = 100;
static __thread struct part own = {7, "initial"};
extern long library_work(long by);

KEEP long work(long by)
{
    counter += by;
    own.number += (int)by;
    return counter + own.number;
}

static void* thread(void* by)
{
    own.name = by ? "second" : "first";
    work((long)by + 1);
    library_work((long)by + 1);
    return 0;
}

int main(void)
{
    pthread_t other;
    thread(0);
    pthread_create(&other, 0, thread, (void*)1);
    pthread_join(other, 0);
    return 0;
}
