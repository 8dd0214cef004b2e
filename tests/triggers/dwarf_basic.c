// Functions, statements and variables of many kinds, for tests/unit/dwarf_test.cc.
// The test refers to lines by the comments at their ends.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum color { RED, GREEN = 5, BLUE = 200 };
enum level { LOW = -1, HIGH = 1 };

struct point {
    int x, y;
};
struct bits {
    unsigned a : 3;
    int b : 7;
    unsigned long c : 40;
    char tail;
};
struct node {
    struct node* next;
    const char* name;
    struct {
        int inner;
        union {
            int number;
            char letter;
        };
    };
    int matrix[2][3];
    enum color color;
    int (*callback)(int, const char*);
    char flexible[];
};
struct large {
    long numbers[5];
};
struct pair {
    long first, second;
};
struct mixed {
    long number;
    double real;
};
struct hidden; // defined in dwarf_other.c

typedef unsigned long word_t;

int global_counter;
static int file_static = 3;
_Thread_local int per_thread = 4;
extern int other_global;

int add(int left, int right) { // line:add
    int sum = left + right;    // line:sum
    return sum;                // line:return
}

static inline __attribute__((always_inline)) int twice(int value) { // line:twice
    int doubled = value * 2;                                        // line:doubled
    global_counter += doubled;
    return doubled;
}

__attribute__((noinline)) int use_inline(int first, int second) { // line:use_inline
    int a = twice(first);
    int b = twice(second + 1);
    return a + b;
}

__attribute__((noinline)) struct point make_point(int x, int y) { return (struct point){x, y}; }
__attribute__((noinline)) struct large make_large(long n) { return (struct large){{n}}; }
__attribute__((noinline)) struct pair make_pair(long n) { return (struct pair){n, n + 1}; }
__attribute__((noinline)) struct mixed make_mixed(long n) { return (struct mixed){n, 0.5}; }
__attribute__((noinline)) double make_double(int n) { return n * 0.5; }
__attribute__((noinline)) _Bool is_even(int n) { return n % 2 == 0; }
__attribute__((noinline)) void nothing(void) { global_counter++; }
__attribute__((noinline)) const char* color_name(enum color color, enum level level) {
    return color == RED ? "red" : level == LOW ? "low" : "other";
}

__attribute__((noinline)) long walk(struct node* node, const struct bits* bits, struct hidden* hidden, word_t limit,
                                    volatile int* flag, void* nothing_known) { // line:walk
    long total = 0;
    while (node && limit--) {
        int scoped = node->inner; // line:scoped
        total += scoped + (long)bits->c;
        node = node->next;
    }
    return total + (hidden != NULL) + *flag + (nothing_known != NULL); // line:walk_end
}

__attribute__((noinline)) int many(int a, int b, int c, int d, int e, int f, int g, struct large h) {
    return a + b + c + d + e + f + g + (int)h.numbers[1];
}

__attribute__((noinline)) int variable_length(int count) {
    int array[count];
    memset(array, 1, sizeof array);
    return array[count - 1] + file_static + per_thread; // line:vla
}

__attribute__((noinline)) int clobber(int value) { // line:clobber
    int result = add(1, 2);                        // line:clobber_call
#if defined(__aarch64__)
    __asm__ volatile("" ::: "x0", "x1", "memory");
#else
    __asm__ volatile("" ::: "rdi", "rsi", "memory");
#endif
    nothing();
    return result; // line:clobber_end
}

int main(int argc, char** argv) {
    struct node node = {.name = argv[0], .inner = argc};
    struct bits bits = {1, 2, 3, 4};
    int flag = 0;
    long total = walk(&node, &bits, NULL, 10, &flag, &node) + use_inline(argc, 2);
    total += many(1, 2, 3, 4, 5, 6, 7, make_large(3)) + make_point(1, 2).x + make_pair(1).second;
    total += (long)make_mixed(1).real + (long)make_double(2) + is_even(argc) + variable_length(argc) + clobber(argc);
    total += color_name(GREEN, HIGH)[0] + other_global;
    return (int)total;
}
