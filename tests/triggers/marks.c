/* Static marks with arguments in every kind of place, and one with a counter of listeners. */
#include <stdio.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short shop_sold_semaphore __attribute__((section(".probes")));
unsigned short shop_order_semaphore __attribute__((section(".probes")));
unsigned short shop_empty__shelf_semaphore __attribute__((section(".probes")));

static long stock[4] = {100, 200, 300, 400};

__attribute__((noinline, noclone)) static int order(int item, short count, const char* customer, unsigned char urgent)
{
    DTRACE_PROBE5(shop, order, item, count, customer, urgent, stock[item & 3]);
    stock[item & 3] -= count;
    if (shop_sold_semaphore)
        DTRACE_PROBE2(shop, sold, stock[item & 3], -7);
    if (stock[item & 3] <= 0)
        DTRACE_PROBE(shop, empty__shelf);
    return (int)stock[item & 3];
}

int main(void)
{
    int left = order(1, 50, "alice", 1) + order(2, -3, "bob", 0) + order(0, 100, "carol", 255);
    printf("%d\n", left);
    return 0;
}
