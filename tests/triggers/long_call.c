/* A call that lasts while very many other calls begin and end, each at another stack address. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noclone))

static sem_t begun, others_done;

KEEP long call(long number)
{
    if (number == 0) {
        sem_post(&begun);
        sem_wait(&others_done);
    }
    return 2 * number;
}

KEEP static long call_from(long place)
{
    char above[16 * place];
    __asm__ volatile("" ::"r"(above) : "memory");
    return call(place);
}

static void* call_long(void* unused)
{
    (void)unused;
    return (void*)call(0);
}

int main(int argc, char** argv)
{
    long count = argc > 1 ? atol(argv[1]) : 10, sum = 0;
    pthread_t thread;
    sem_init(&begun, 0, 0);
    sem_init(&others_done, 0, 0);
    pthread_create(&thread, NULL, call_long, NULL);
    sem_wait(&begun);
    for (long i = 1; i <= count; i++)
        sum += call_from(i);
    sem_post(&others_done);
    pthread_join(thread, NULL);
    printf("%ld\n", sum);
    return 0;
}
