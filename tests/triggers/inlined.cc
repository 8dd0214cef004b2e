// Functions that are inlined into each other, around a call and around code of their own.
namespace shop {

__attribute__((noinline)) void hit(int n) { __asm__ volatile("" : : "r"(n) : "memory"); }

template <typename T> __attribute__((always_inline)) inline T check(T n) {
    hit(n);
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}
__attribute__((always_inline)) inline int order(int n) {
    int own = check(n);
    __asm__ volatile("" : "+r"(own));
    return own * 2;
}
__attribute__((always_inline)) inline int leaf(int n) {
    __asm__ volatile("nop" : "+r"(n));
    return n;
}
__attribute__((noinline)) int serve(int n) {
    int result = order(n);
    result += leaf(n);
    __asm__ volatile("" : "+r"(result));
    return result;
}

} // namespace shop

int main() {
    int result = shop::serve(1);
    __asm__ volatile("" : "+r"(result));
    return 0;
}
