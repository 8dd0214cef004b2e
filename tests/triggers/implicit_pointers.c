// Pointers that the compiler removes with the calls that they are passed to. The objects are in registers.
struct pair {
    int first, second;
};

static int total;

static inline __attribute__((always_inline)) int area(struct pair *pair) {
    __asm__ volatile("nop" : : "r"(pair->first), "r"(pair->second));
    return pair->first * pair->second;
}

static inline __attribute__((always_inline)) int last(const int *numbers) {
    __asm__ volatile("nop" : : "r"(numbers[0]), "r"(numbers[1]));
    return numbers[1];
}

__attribute__((noinline)) int work(int given, int other) {
    struct pair pair = {given + 4, other + 6};
    int result = area(&pair);
    int numbers[2] = {given + 1, other * 3};
    return result + last(numbers);
}

int main(void) {
    total = work(1, 2);
    return total == 46 ? 0 : 1;
}
