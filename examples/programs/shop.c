/* A small order service, for the tutorial. Its threads take orders, look up customers in a cache, and price the orders. It has two flaws:
 * it holds the lock while it reads a customer that is not in the cache from a slow place, and it never frees some memory.
 *
 *   cc -g -O2 -pthread -o shop shop.c && ./shop ORDERS THREADS */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct customer {
    int id;
    int discount; /* in percent */
    char name[16];
};

struct item {
    const char *name;
    int price;
};

struct order {
    int number;
    int quantity;
    const struct item *item;
    const struct customer *customer;
};

static const struct item items[] = {{"tea", 4}, {"coffee", 7}, {"cake", 12}};
static struct customer *cache[64];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int next_order, income, refused;
static int orders = 200;

/* Imitates a database: reads a file, and waits 5 ms. */
__attribute__((noinline)) static struct customer *load_customer(int id)
{
    struct timespec patience = {0, 5000000};
    struct customer *customer = malloc(sizeof *customer);
    FILE *file = fopen("/etc/hostname", "r");
    customer->id = id;
    customer->discount = id % 4 * 5;
    snprintf(customer->name, sizeof customer->name, "customer-%d", id);
    nanosleep(&patience, NULL);
    if (file)
        fclose(file);
    return customer;
}

__attribute__((noinline)) static const struct customer *find_customer(int id)
{
    pthread_mutex_lock(&cache_lock);
    struct customer *found = cache[id % 64];
    if (!found)
        found = cache[id % 64] = load_customer(id);
    pthread_mutex_unlock(&cache_lock);
    return found;
}

/* A signature of the order, so that the program spends processor time. */
__attribute__((noinline)) static unsigned sign(const char *text, int rounds)
{
    unsigned hash = 2166136261u;
    for (int i = 0; i < rounds; i++)
        hash = (hash ^ (unsigned char)text[i % 4]) * 16777619u;
    return hash;
}

__attribute__((noinline)) static int price(const struct order *order)
{
    int amount = order->item->price * order->quantity;
    int rebate = amount * order->customer->discount / 100;
    return amount - rebate;
}

__attribute__((noinline, noclone)) static int handle_order(struct order *order)
{
    char *receipt = malloc(100);
    order->customer = find_customer(order->number * order->number % 23);
    if (order->quantity > 12)
        return -1; /* too many for one order; the receipt leaks */
    int total = price(order);
    snprintf(receipt, 100, "%s: %d %s, %d, %08x", order->customer->name, order->quantity, order->item->name, total, sign(order->item->name, 20000));
    free(receipt);
    return total;
}

static void *worker(void *unused)
{
    for (;;) {
        int number = atomic_fetch_add(&next_order, 1);
        if (number >= orders)
            return unused;
        struct order order = {number, 1 + number * 7 % 13, &items[number % 3], NULL};
        int paid = handle_order(&order);
        if (paid < 0)
            atomic_fetch_add(&refused, 1);
        else
            atomic_fetch_add(&income, paid);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[16];
    int count = argc > 2 ? atoi(argv[2]) : 2;
    if (argc > 1)
        orders = atoi(argv[1]);
    if (count < 1 || count > 16)
        count = 2;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%d orders, %d refused, income %d\n", orders, refused, income);
    return 0;
}
