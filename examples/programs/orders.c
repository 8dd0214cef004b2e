/* A small order desk, for the examples and scripts/demo. It prices orders and pays out. Build it with -g. */
#include <stdio.h>
#include <stdlib.h>

struct item {
    const char* name;
    int price;
    int stock;
};

struct order {
    struct item* item;
    int quantity;
    int total;
};

static struct item items[] = {{"tea", 4, 100}, {"coffee", 7, 40}, {"cake", 12, 9}};

__attribute__((noinline)) int discount(int quantity, int amount)
{
    if (quantity >= 10)
        return amount / 10;
    return 0;
}

__attribute__((noinline)) int reserve(struct item* item, int quantity)
{
    if (item->stock < quantity)
        return -1;
    item->stock -= quantity;
    return item->stock;
}

__attribute__((noinline)) int price(struct order* order)
{
    int amount = order->item->price * order->quantity;
    amount -= discount(order->quantity, amount);
    return amount;
}

__attribute__((noinline)) int place_order(struct order* order)
{
    int left = reserve(order->item, order->quantity);
    if (left < 0)
        return -1;
    order->total = price(order);
    return order->total;
}

int main(int argc, char** argv)
{
    int orders = argc > 1 ? atoi(argv[1]) : 3;
    int income = 0, refused = 0;
    for (int i = 0; i < orders; i++) {
        struct order order = {&items[i % 3], 1 + (i * 7) % 13, 0};
        int paid = place_order(&order);
        if (paid < 0)
            refused++;
        else
            income += paid;
    }
    printf("%d orders, %d refused, income %d\n", orders, refused, income);
    return 0;
}
