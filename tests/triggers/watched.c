/* Writes and reads its variables in a known order N times, and touches 100 fresh pages. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

volatile long counter;
volatile int small = 7;
volatile char letters[8] = "abcdefg";
static volatile long hidden;

__attribute__((noinline)) void store(long value) { counter = value; }
__attribute__((noinline)) long look(void) { return counter; }

__attribute__((noinline)) int touch(int pages) {
    char* fresh = mmap(0, (size_t)pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < pages; i++)
        fresh[(size_t)i * 4096] = 1;
    munmap(fresh, (size_t)pages * 4096);
    return pages;
}

__attribute__((noinline)) unsigned long spin(unsigned long rounds) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < rounds; i++)
        sum += i ^ (unsigned long)hidden;
    return sum;
}

static void* in_thread(void* rounds) {
    store(1000 + (long)rounds);
    return rounds;
}

int main(int argc, char** argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 3;
    pthread_t thread;
    for (long i = 0; i < rounds; i++) {
        store(i);
        hidden += look();
    }
    small = 8;
    letters[2] = 'x';
    pthread_create(&thread, 0, in_thread, (void*)rounds);
    pthread_join(thread, 0);
    touch(1);
    touch(100);
    if (argc > 2)
        printf("%lu\n", spin(strtoul(argv[2], 0, 0)));
    return 0;
}
