// Arguments on the stack, after six in registers: two are passed by address, and one by value.
#include <cstdio>
#include <string>

struct Copied {
    int v;
    Copied(int a) : v(a) {}
    Copied(const Copied& other) : v(other.v) {}
    ~Copied() { asm volatile(""); }
};
struct Large {
    long a, b, c;
};

__attribute__((noinline)) long last(long a, long b, long c, long d, long e, long f, std::string text, Large large,
                                    Copied copied) {
    asm volatile("" ::"r"(&text), "r"(&large), "r"(&copied));
    return a + b + c + d + e + f + static_cast<long>(text.size()) + large.c + copied.v;
}

int main() { printf("%ld\n", last(1, 2, 3, 4, 5, 6, "seventh", {7, 8, 9}, 10)); }
