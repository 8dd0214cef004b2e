// Paths to hit(): a recursion, a callback from a library, a signal handler, a
// function with an aligned stack, another thread, and a library that is loaded later.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

// The argument identifies the path.
__attribute__((noinline)) void hit(int way) { __asm__ volatile("" : : "r"(way) : "memory"); }

static __attribute__((noinline)) int down(int n, const int* from) {
    int own[4] = {n, n + 1, *from, n + 3};
    __asm__ volatile("" : : "r"(own) : "memory");
    if (n == 0)
        hit(1);
    int below = n ? down(n - 1, own) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + own[2];
}

static int compare(const void* a, const void* b) {
    hit(2);
    __asm__ volatile("" : : : "memory");
    return *(const int*)a - *(const int*)b;
}

static void on_signal(int number) {
    hit(3);
    __asm__ volatile("" : : "r"(number) : "memory");
}
static __attribute__((noinline)) void interrupted(void) {
    raise(SIGUSR1);
    __asm__ volatile("" : : : "memory");
}

// Its stack pointer is rounded down, so its frame is found through a frame pointer that it creates.
static __attribute__((noinline)) int aligned(int n) {
    __attribute__((aligned(64))) volatile char own[128];
    own[n] = (char)n;
    volatile char* more = __builtin_alloca((unsigned)n + 16);
    more[0] = own[n];
    hit(4);
    __asm__ volatile("" : : "r"(own), "r"(more) : "memory");
    return more[0];
}

// Its last instruction is a call that does not return.
__attribute__((noinline, noreturn)) void last(void) {
    hit(7);
    _exit(0);
}
__attribute__((noinline)) void ends(void) { last(); }

static void* in_thread(void* unused) {
    hit(5);
    __asm__ volatile("" : : "r"(unused) : "memory");
    return unused;
}

__attribute__((noinline)) int returns(int n) {
    int depth = down(n, &n);
    __asm__ volatile("" : "+r"(depth));
    return depth;
}

// Arguments: `- N`: only a recursion of this depth, or ends() if N < 0. Otherwise: a library with a function
// call_back(void (*)(int), int), which is called for some seconds, or as often as the second argument says without pauses.
int main(int count, char** arguments) {
    int numbers[2] = {2, 1}, n = 24;
    if (count > 2 && arguments[1][0] == '-') {
        n = atoi(arguments[2]);
        if (n < 0)
            ends();
        down(n, &n);
        return 0;
    }
    down(3, numbers);
    qsort(numbers, 2, sizeof numbers[0], compare);
    signal(SIGUSR1, on_signal);
    interrupted();
    aligned(3);
    pthread_t thread;
    pthread_create(&thread, 0, in_thread, 0);
    pthread_join(thread, 0);
    returns(2);
    if (count > 1) {
        void* library = dlopen(arguments[1], RTLD_NOW);
        void (*call_back)(void (*)(int), int) = library ? (void (*)(void (*)(int), int))dlsym(library, "call_back") : 0;
        if (!call_back)
            return 1;
        // The first calls are made before anything is known about the library.
        int times = count > 2 ? atoi(arguments[2]) : 200, pause = count > 2 ? 0 : 20000;
        for (int i = 0; i < times; i++, usleep((unsigned)pause))
            call_back(hit, 6);
    }
    return 0;
}
