/* `family ROUNDS PAUSE_MS`: a process with a second thread, and a child with a second
 * thread. All four call step() ROUNDS times (0: without end), with a pause after each call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long rounds, pause_us;

__attribute__((noinline, noclone)) void step(long round) { __asm__ volatile("" ::"r"(round)); }

static void* walk(void* unused) {
    for (long i = 0; rounds == 0 || i < rounds; i++) {
        step(i);
        if (pause_us)
            usleep((useconds_t)pause_us);
    }
    return unused;
}

int main(int argc, char** argv) {
    rounds = argc > 1 ? atol(argv[1]) : 5;
    pause_us = argc > 2 ? 1000 * atol(argv[2]) : 0;
    pid_t child = fork();
    pthread_t other;
    pthread_create(&other, NULL, walk, NULL);
    walk(NULL);
    pthread_join(other, NULL);
    if (child > 0)
        waitpid(child, NULL, 0);
    return 0;
}
