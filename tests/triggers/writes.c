/* Values that a probe changes and that the program prints afterwards. */
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))

struct settings {
    int level;
    unsigned flag : 1;
    unsigned mode : 3;
    int balance : 5;
    short small;
    char text[16];
    struct settings* next;
    long table[3];
    _Bool on;
    enum { LOW, HIGH = 3 } range;
    float ratio;
};

struct settings second = {.level = 40};
int verbose = 1;
static long hidden = 5;

KEEP long check(struct settings* s, int argument)
{
    long local = argument * 2L;
    long sum = local + s->level;
    return sum + argument;
}

KEEP int only_registers(int first, int other)
{
    __asm__ volatile("" : "+r"(first), "+r"(other));
    return first + other;
}

int main(void)
{
    struct settings first = {.level = 1, .mode = 1, .balance = 1, .text = "before", .next = &second, .table = {10, 20, 30}, .ratio = 0.5f};
    /* A page that is only in the file must first become the program's own. */
    second.small = 1;
    verbose = 2;
    hidden++;
    long result = check(&first, 4);
    printf("level %d flag %d mode %d balance %d small %d text %s\n", first.level, first.flag, first.mode, first.balance, first.small,
           first.text);
    printf("table %ld %ld %ld on %d range %d next %d %d\n", first.table[0], first.table[1], first.table[2], first.on, (int)first.range,
           second.level, second.small);
    printf("verbose %d hidden %ld result %ld\n", verbose, hidden, result);
    return only_registers(1, -1);
}
