// Exceptions that pass probed functions: thrown, rethrown, passing destructors, leaving threads, and not caught.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>

#include <pthread.h>
#include <unistd.h>

namespace {

struct Counted {
    static inline int alive = 0;
    Counted() { alive++; }
    ~Counted() { alive--; }
};

[[gnu::noinline]] int step(int n) {
    Counted here;
    if (n % 3 == 0)
        throw std::runtime_error("step " + std::to_string(n));
    return n + Counted::alive;
}

[[gnu::noinline]] int deeper(int n, int depth) {
    Counted here;
    return depth == 0 ? step(n) : deeper(n, depth - 1) + 1;
}

[[gnu::noinline]] int again(int n) {
    try {
        return deeper(n, 5) + 0 * n;
    } catch (const std::runtime_error&) {
        std::throw_with_nested(std::logic_error("again"));
    }
}

// Cancelled within functions that have objects to destroy: the C library's unwinder runs destructors, too.
[[gnu::noinline]] void wait_for_ever() {
    Counted here;
    for (;;)
        usleep(100);
}
[[gnu::noinline]] int holds(int n) {
    Counted here;
    wait_for_ever();
    return n;
}
void be_cancelled() {
    pthread_t thread;
    pthread_create(&thread, nullptr, [](void*) -> void* { return reinterpret_cast<void*>(holds(1)); }, nullptr);
    usleep(2000);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    std::printf("cancelled, alive %d\n", Counted::alive);
}

// An exception that passes functions of the C library.
[[gnu::noinline]] int compare(const void* a, const void* b) {
    const int x = *static_cast<const int*>(a), y = *static_cast<const int*>(b);
    return x == 42 || y == 42 ? step(42) : x - y;
}
[[gnu::noinline]] int sorted(int last) {
    int all[] = {3, 1, 2, last};
    std::qsort(all, 4, sizeof *all, compare);
    return all[0];
}
void throw_through_c() {
    int sum = 0;
    for (int last : {5, 42, 7, 42})
        try {
            sum += sorted(last);
        } catch (const std::runtime_error&) {
            sum += 100;
        }
    std::printf("through %d\n", sum);
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && argv[1] == std::string("cancelled"))
        return be_cancelled(), 0;
    if (argc > 1 && argv[1] == std::string("through"))
        return throw_through_c(), 0;
    int caught = 0, sum = 0;
    for (int n = 0; n < 60; n++) {
        try {
            sum += again(n);
        } catch (const std::exception& outer) {
            try {
                std::rethrow_if_nested(outer);
            } catch (const std::exception& inner) {
                caught += inner.what()[0] == 's';
            }
        }
    }
    auto other = std::async(std::launch::async, [] { return again(9); });
    try {
        sum += other.get();
    } catch (const std::logic_error&) {
        caught++;
    }
    std::printf("caught %d, sum %d, alive %d\n", caught, sum, Counted::alive);
    std::fflush(stdout);
    if (argc > 1)
        again(3); // not caught
    return 0;
}
