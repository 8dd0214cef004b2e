/* Values of every kind in parameters, locals, structures and globals, for `$x->y[i]`. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define KEEP __attribute__((noinline, noclone))

enum color { RED, GREEN = 5, BLUE = -3 };

struct inner {
    int16_t low;
    uint8_t bytes[4];
    const char* name;
};

union number {
    int64_t whole;
    uint32_t half[2];
};

struct node {
    int32_t id;
    unsigned flag : 1;
    unsigned level : 3;
    int balance : 5;
    struct inner inside;
    struct node* next;
    union number value;
    enum color paint;
    struct {
        long anonymous;
    };
    long table[3];
    char text[16];
};

typedef struct node node_t;

struct pair {
    long first, second;
};

KEEP long integers(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g, uint64_t h)
{
    long mix = a + b + c + d + e + (long)f + g + (long)h;
    return mix;
}

KEEP bool flags(bool yes, bool no, char letter, enum color paint)
{
    return yes && !no && letter == 'x' && paint == BLUE;
}

KEEP int walk(node_t* head, int steps)
{
    int seen = 0;
    for (node_t* at = head; at && steps > 0; at = at->next, steps--)
        seen += at->id;
    return seen;
}

KEEP struct pair both(long a, long b)
{
    struct pair result = {a, b};
    return result;
}

KEEP const char* greet(const char* whom, unsigned length)
{
    static char buffer[64];
    snprintf(buffer, sizeof buffer, "hello %.*s", (int)length, whom);
    return buffer;
}

KEEP int8_t negative(void)
{
    int8_t value = -7;
    __asm__ volatile("" : "+r"(value));
    return value;
}

KEEP void nothing(int unused) { __asm__ volatile("" ::"r"(unused)); }

KEEP long divide(long a, long b) { return b ? a / b : 0; }

KEEP unsigned long factorial(unsigned n) { return n <= 1 ? 1 : n * factorial(n - 1); }

int main(void)
{
    node_t second = {.id = -2, .flag = 0, .level = 2, .balance = -9, .paint = GREEN, .text = "second"};
    node_t first = {.id = 1, .flag = 1, .level = 5, .balance = 7, .inside = {-300, {9, 8, 7, 250}, "inner name"}, .next = &second,
                    .value = {.half = {1, 2}}, .paint = BLUE, .anonymous = 77, .table = {10, 20, 30}, .text = "first"};
    long out = integers(-1, 200, -30000, 60000, -2000000000, 4000000000u, -5000000000, 6000000000u);
    out += flags(true, false, 'x', BLUE);
    /* The compiler must assume that other code reads these, so every member is stored. */
    __asm__ volatile("" ::"r"(&first), "r"(&second) : "memory");
    out += walk(&first, 5);
    struct pair p = both(11, 22);
    out += p.first + p.second;
    out += (long)strlen(greet("world", 3));
    out += negative();
    nothing(1);
    out += divide(7, 0) + divide(9, 2);
    out += (long)factorial(5);
    node_t* bad = (node_t*)16;
    __asm__ volatile("" : "+r"(bad));
    out += walk(bad, 0);
    printf("%ld\n", out);
    return 0;
}
