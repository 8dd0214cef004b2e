// A 32-bit program without a library, because 32-bit libraries may not be installed. It has
// arguments on the stack, results in one register, in two and in the caller's memory, and recursion.
#include <sys/sdt.h>

struct item {
    long id;
    const char* name;
    struct item* next;
    unsigned low : 3, high : 5;
};
struct pair {
    int first, second;
};

long counter = 40;
int items_seen[4] = {0, 0, 0, 77};

__attribute__((noinline)) long long total(int count, const struct item* first, const char* label, long long start)
{
    long long sum = start;
    __asm__ volatile("" : : "r"(first), "r"(label) : "memory"); // keeps all of it
    for (int i = 0; i < count; i++) {
        sum += first->id;
        first = first->next;
    }
    counter++;
    STAP_PROBE5(narrow, counted, count, first, label, items_seen[count & 3], (short)-count);
    __asm__ volatile("" : "+m"(sum));
    return sum;
}

__attribute__((noinline)) struct pair swap(struct pair old)
{
    struct pair result = {old.second, old.first};
    __asm__ volatile("" : "+m"(result));
    return result;
}

__attribute__((noinline)) int depth(int n)
{
    int below = n > 0 ? depth(n - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below - n;
}

void _start(void)
{
    struct item items[2] = {{-5, "five", &items[1], 3, 17}, {7, "seven", &items[0], 4, 18}};
    struct pair pair = {1, 2};
    volatile long long sum = total(3, items, "label", 0x100000000ll);
    pair = swap(pair);
    int low = depth(2);
    int status = sum == 0x100000000ll - 3 && pair.first == 2 && low == -3 ? 0 : 1;
    __asm__ volatile("int $0x80" : : "a"(1), "b"(status));
    __builtin_unreachable();
}
