// Exceptions that pass probed functions: thrown, thrown again, in destructors' way, out of threads, caught by nobody.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>

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

} // namespace

int main(int argc, char**) {
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
        again(3); // nobody catches it
    return 0;
}
