// Functions with parameter packs.
#include <cstdio>

template <typename... A> __attribute__((noinline)) long sum(A... args) {
    long total = 0;
    ((total += args), ...);
    return total;
}

template <typename F, typename... Rest> __attribute__((noinline)) long first(F f, const Rest&... rest) {
    return f + (rest + ...);
}

template <typename... A> inline __attribute__((always_inline)) int print(A... args) {
    return (printf("%d\n", static_cast<int>(args)) + ...);
}

struct Holder {
    template <typename... A> __attribute__((noinline)) Holder(int start, A&&... more) : value(start + (more + ...)) {}
    int value;
};

__attribute__((noinline)) int copies(int n) { return print(n, 2L, static_cast<char>(3)); }

int main() {
    short s = 6;
    Holder holder(1, 20, 300);
    return sum(1, 2, 3) + first(4, 5L, s) + holder.value + copies(9) == 0;
}
