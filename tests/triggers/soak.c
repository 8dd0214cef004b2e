/* `soak T N F`: T threads make N steps each, and each step has a call, a static mark, a return, a string and
 * a write to memory. Then F children make one step each. So a tracer must count T * N + F of everything. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long rounds;
static const char* const names[] = {"alpha", "beta", "gamma", "delta"};
static const struct timespec pause_time = {0, 2000000};

__attribute__((noinline, noclone)) long leaf(long round, const char* name)
{
    __asm__ volatile("" ::"r"(round), "r"(name));
    DTRACE_PROBE2(soak, step, round, name);
    return round * 2 + 1;
}

__attribute__((noinline, noclone)) long middle(long round) { return leaf(round, names[round & 3]) + 1; }
__attribute__((noinline, noclone)) long step(long round) { return middle(round) - 1; }

static void* run(void* unused)
{
    for (long i = 0; i < rounds; i++) {
        step(i);
        if (i % 64 == 63)
            nanosleep(&pause_time, NULL);
    }
    return unused;
}

int main(int argc, char** argv)
{
    long count = argc > 1 ? atol(argv[1]) : 2, children = argc > 3 ? atol(argv[3]) : 1;
    rounds = argc > 2 ? atol(argv[2]) : 100;
    pthread_t threads[16];
    if (count > 16)
        return 2;
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (long i = 0; i < children; i++) {
        pid_t child = fork();
        if (child == 0) {
            step(i);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
