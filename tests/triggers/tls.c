/* Thread-local variables of a program and of its library, in several threads. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

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

KEEP long step(long by)
{
    static __thread long steps = 10;
    steps += by;
    return steps;
}

static void* thread(void* by)
{
    own.name = by ? "second" : "first";
    step((long)by + 1);
    step((long)by + 1);
    work((long)by + 1);
    library_work((long)by + 1);
    return 0;
}

int main(void)
{
    pthread_t other;
    /* On arm64, the kernel knows the thread pointer after the thread has left the processor. On a slow machine, a short
     * time is over before that. */
    usleep(50000);
    thread(0);
    pthread_create(&other, 0, thread, (void*)1);
    pthread_join(other, 0);
    return 0;
}
