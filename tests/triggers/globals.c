/* Globals of two sources, and typed memory at plain addresses, for @var and @cast. */
#include <stdint.h>

#define KEEP __attribute__((noinline, noclone))

struct item {
    int id;
    unsigned flag : 3;
    const char* name;
    struct item* next;
    short marks[4];
    struct {
        long x, y;
    } at;
};
typedef struct item item_t;
union either {
    int64_t whole;
    int32_t half[2];
};
enum level { LOW = -1, HIGH = 7 };

extern int counter_of_other(void);
extern const char* label_of_other;

int visible = 41;
static long hidden = -5;
static item_t table[3] = {
    {1, 5, "one", &table[1], {1, 2, 3, 4}, {10, 11}}, {2, 6, "two", 0, {5, 6, 7, 8}, {20, 21}}, {3, 7, "three", 0, {0}, {30, 31}}};
union either both = {.half = {-1, 3}};
enum level level = HIGH;

KEEP long take(const void* opaque, uint64_t number)
{
    __asm__ volatile("" ::"r"(opaque) : "memory");
    visible++;
    return hidden + (long)number;
}

int main(void)
{
    long out = take(table, (uint64_t)&both) + counter_of_other();
    out += take(&table[1], (uint64_t)&level);
    return out == 0 || !label_of_other[0];
}
