// Calls a function while other threads map and unmap memory continuously.
#include <pthread.h>
#include <sys/mman.h>

static volatile int stop;

__attribute__((noinline)) void hit(int n) { __asm__ volatile("" : : "r"(n) : "memory"); }
__attribute__((noinline)) void outer(int n) {
    hit(n);
    __asm__ volatile("" : : : "memory");
}

static void* map(void* unused) {
    while (!stop) {
        char* memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memory[0] = memory[8192] = 1;
        munmap(memory, 1 << 20);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, map, 0);
    for (int i = 0; i < 2000; i++)
        outer(i);
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
