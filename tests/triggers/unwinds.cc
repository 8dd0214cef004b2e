// Functions that end without returning, between and around calls that return: by
// exceptions, by longjmp(), and by the end of a thread, recursively and in several
// threads at once. Arguments: the number of rounds; whether to throw exceptions.
#include <csetjmp>
#include <cstdlib>
#include <pthread.h>

static thread_local jmp_buf back;
static bool throws;

[[noreturn]] __attribute__((noinline)) static void fail() { throw 1; }

// Returns 10 * n + 1, if it returns.
__attribute__((noinline)) int step(int n, int way) {
    int below = 0;
    if (n > 0)
        below = step(n - 1, way);
    if (n == 0 && way == 1)
        fail();
    if (n == 0 && way == 2)
        longjmp(back, 1);
    if (n == 0 && way == 3)
        pthread_exit(nullptr);
    __asm__ volatile("" : "+r"(below));
    return 10 * n + 1;
}

__attribute__((noinline)) void one_round() {
    step(2, 0);
    try {
        if (throws)
            step(3, 1);
    } catch (int) {
    }
    step(1, 0);
    if (setjmp(back) == 0)
        step(4, 2);
    step(2, 0);
}

static void* in_thread(void* rounds) {
    for (long i = 0; i < reinterpret_cast<long>(rounds); i++)
        one_round();
    step(1, 3);
    return nullptr;
}

int main(int argc, char** argv) {
    pthread_t threads[3];
    long rounds = argc > 1 ? std::atol(argv[1]) : 1;
    throws = argc > 2;
    for (pthread_t& thread : threads)
        pthread_create(&thread, nullptr, in_thread, reinterpret_cast<void*>(rounds));
    for (pthread_t& thread : threads)
        pthread_join(thread, nullptr);
    step(5, 0);
    return 0;
}
