// Enters the kernel in several ways, each from a recursion: a system call, a wait, a page fault, a signal to itself,
// a call through a null pointer. With `-O2` and without frame pointers, only call frame information leads to main().
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int sink;
static sigjmp_buf back;
static void (*volatile nowhere)(void);

// No function ends in a jump to another function, because it would be missing in the stack then.
#define STAYS __asm__ volatile("" : : : "memory")

__attribute__((noinline)) void reads(void) {
    char bytes[8];
    sink += (int)read(0, bytes, 0);
    STAYS;
}
__attribute__((noinline)) void sleeps(void) {
    struct timespec time = {0, 2000000};
    nanosleep(&time, 0);
    STAYS;
}
__attribute__((noinline)) int touches(volatile char* page) {
    int value = page[5];
    STAYS;
    return value;
}
static void on_signal(int number) { sink += number; }
__attribute__((noinline)) void kills(void) {
    raise(SIGUSR1);
    STAYS;
}
static void on_fault(int number) {
    (void)number;
    siglongjmp(back, 1);
}
__attribute__((noinline)) void crashes(void) {
    if (sigsetjmp(back, 1) == 0)
        nowhere();
    STAYS;
}

__attribute__((noinline)) int down(int levels, volatile char* page) {
    int below = 0;
    if (levels == 0) {
        reads();
        sleeps();
        below = touches(page);
        kills();
        crashes();
    } else {
        below = down(levels - 1, page);
    }
    __asm__ volatile("" : "+r"(below));
    return below + levels;
}

static void* in_thread(void* page) {
    sink += down(2, page);
    return 0;
}

int main(void) {
    const size_t size = 1 << 16;
    volatile char* pages = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return 1;
    signal(SIGUSR1, on_signal);
    signal(SIGSEGV, on_fault);
    sink += down(3, pages);
    pthread_t thread;
    pthread_create(&thread, 0, in_thread, (void*)(pages + size / 2));
    pthread_join(thread, 0);
    return 0;
}
