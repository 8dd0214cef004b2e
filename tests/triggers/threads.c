/* `threads T N`: T threads call hit() N times each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long rounds;

__attribute__((noinline, noclone)) void hit(long thread, long round)
{
    __asm__ volatile("" ::"r"(thread), "r"(round));
}

static void* run(void* argument)
{
    for (long i = 0; i < rounds; i++)
        hit((long)argument, i);
    return NULL;
}

int main(int argc, char** argv)
{
    long count = argc > 1 ? atol(argv[1]) : 4;
    rounds = argc > 2 ? atol(argv[2]) : 1000;
    pthread_t threads[64];
    if (count > 64)
        return 2;
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, run, (void*)i);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
