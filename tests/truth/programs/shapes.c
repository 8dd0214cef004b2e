// Usual shapes of C: recursion, loops at the entry, tail calls, callbacks, variable arguments, long jumps, threads, cold parts, structures.
// Recursive: factorial, gcd, is_even, is_odd, ackermann, leaves_by_jump, insert, depth_of
#include "truth.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct point { int x, y; };
struct box { struct point from, to; const char* name; };
struct node { int key; struct node *left, *right; };
union value { int whole; double real; };

int factorial(int n)
{
    ENTER("factorial", "n=%d", n);
    sink += n;
    RETURN(int, "%d", (result_), n <= 1 ? 1 : n * factorial(n - 1));
}

long gcd(long a, long b)
{
    ENTER("gcd", "a=%ld b=%ld", a, b);
    sink += a;
    RETURN(long, "%ld", (result_), b == 0 ? a : gcd(b, a % b));
}

static bool is_odd(unsigned n);
static bool is_even(unsigned n)
{
    ENTER("is_even", "n=%u", n);
    sink += n;
    RETURN(bool, "%d", (result_), n == 0 ? true : is_odd(n - 1));
}
static bool is_odd(unsigned n)
{
    ENTER("is_odd", "n=%u", n);
    sink += n + 1;
    RETURN(bool, "%d", (result_), n == 0 ? false : is_even(n - 1));
}

int ackermann(int m, int n)
{
    ENTER("ackermann", "m=%d n=%d", m, n);
    sink++;
    if (m == 0)
        RETURN(int, "%d", (result_), n + 1);
    if (n == 0)
        RETURN(int, "%d", (result_), ackermann(m - 1, 1));
    RETURN(int, "%d", (result_), ackermann(m - 1, ackermann(m, n - 1)));
}

void countdown(int n)
{
    ENTER("countdown", "n=%d", n);
    do
        sink += n;
    while (n-- > 0);
    LEAVE();
}

unsigned length_of(const char* text)
{
    ENTER("length_of", "text=\"%s\"", text);
    unsigned n = 0;
    sink += 3;
    while (*text++) {
        sink++;
        n++;
    }
    RETURN(unsigned, "%u", (result_), n);
}

static int compare(const void* left, const void* right)
{
    ENTER("compare", "left=%p right=%p", left, right);
    const int a = *(const int*)left, b = *(const int*)right;
    sink += a - b;
    RETURN(int, "%d", (result_), (a > b) - (a < b));
}

static int apply(int (*with)(int), int value)
{
    ENTER("apply", "with=%p value=%d", (void*)with, value);
    sink += value;
    RETURN(int, "%d", (result_), with(value));
}

static int twice(int v)
{
    ENTER("twice", "v=%d", v);
    sink += v;
    RETURN(int, "%d", (result_), v * 2);
}
static int square(int v)
{
    ENTER("square", "v=%d", v);
    sink += v;
    RETURN(int, "%d", (result_), v * v);
}

int total(int count, ...)
{
    ENTER("total", "count=%d", count);
    va_list list;
    va_start(list, count);
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += va_arg(list, int);
    va_end(list);
    sink += sum;
    RETURN(int, "%d", (result_), sum);
}

static jmp_buf back;
NOINLINE void leaves_by_jump(int depth)
{
    ENTER("leaves_by_jump", "depth=%d", depth);
    sink += depth;
    if (depth == 0)
        longjmp(back, 1);
    leaves_by_jump(depth - 1);
    sink++;
    LEAVE();
}

int catches_jump(int depth)
{
    ENTER("catches_jump", "depth=%d", depth);
    if (setjmp(back) == 0)
        leaves_by_jump(depth);
    sink++;
    RETURN(int, "%d", (result_), depth);
}

COLD NOINLINE void complain(const char* what, int number)
{
    ENTER("complain", "what=\"%s\" number=%d", what, number);
    sink += number;
    LEAVE();
}

int checked(int value)
{
    ENTER("checked", "value=%d", value);
    if (__builtin_expect(value < 0, 0)) {
        complain("negative", value);
        sink -= value;
        RETURN(int, "%d", (result_), -1);
    }
    sink += value;
    RETURN(int, "%d", (result_), value);
}

struct point move(struct point p, int by)
{
    ENTER("move", "p={.x=%d, .y=%d} by=%d", p.x, p.y, by);
    p.x += by;
    p.y += by;
    sink += p.x;
    RETURN(struct point, "{.x=%d, .y=%d}", (result_.x, result_.y), p);
}

static struct box around(struct point a, struct point b, const char* name)
{
    ENTER("around", "a={.x=%d, .y=%d} b={.x=%d, .y=%d} name=\"%s\"", a.x, a.y, b.x, b.y, name);
    struct box out = {a, b, name};
    sink += a.x + b.y;
    RETURN(struct box, "{.from={.x=%d, .y=%d}, .to={.x=%d, .y=%d}, .name=\"%s\"}",
           (result_.from.x, result_.from.y, result_.to.x, result_.to.y, result_.name), out);
}

int area(struct box b)
{
    ENTER("area", "b={.from={.x=%d, .y=%d}, .to={.x=%d, .y=%d}, .name=\"%s\"}", b.from.x, b.from.y, b.to.x, b.to.y, b.name);
    sink += b.from.x;
    RETURN(int, "%d", (result_), (b.to.x - b.from.x) * (b.to.y - b.from.y));
}

static inline int clamp(int v, int low, int high)
{
    ENTER("clamp", "v=%d low=%d high=%d", v, low, high);
    sink += v;
    RETURN(int, "%d", (result_), v < low ? low : v > high ? high : v);
}
static inline int scaled(int v, int by)
{
    ENTER("scaled", "v=%d by=%d", v, by);
    sink ^= by;
    RETURN(int, "%d", (result_), clamp(v * by, -100, 100));
}
int mixed(int a, int b)
{
    ENTER("mixed", "a=%d b=%d", a, b);
    sink += a;
    RETURN(int, "%d", (result_), scaled(a, 3) + scaled(b, 5) + clamp(a, 0, 9));
}

struct node* insert(struct node* tree, int key)
{
    ENTER("insert", "tree=%p key=%d", (void*)tree, key);
    sink += key;
    if (!tree) {
        tree = (struct node*)calloc(1, sizeof *tree);
        tree->key = key;
    } else if (key < tree->key) {
        tree->left = insert(tree->left, key);
    } else {
        tree->right = insert(tree->right, key);
    }
    RETURN(struct node*, "%p", ((void*)result_), tree);
}
static int depth_of(const struct node* tree)
{
    ENTER("depth_of", "tree=%p", (void*)tree);
    sink++;
    if (!tree)
        RETURN(int, "%d", (result_), 0);
    const int left = depth_of(tree->left), right = depth_of(tree->right);
    RETURN(int, "%d", (result_), (left > right ? left : right) + 1);
}

double mean(double a, float b, double c, float d, double e, float f, double g, float h, double i, float j)
{
    ENTER("mean", "a=%f b=%f c=%f d=%f e=%f f=%f g=%f h=%f i=%f j=%f", a, b, c, d, e, f, g, h, i, j);
    sink += (long)a;
    RETURN(double, "%f", (result_), (a + b + c + d + e + f + g + h + i + j) / 8);
}

long many(char a, short b, int c, long d, unsigned char e, unsigned short f, unsigned g, unsigned long h, bool i, int j)
{
    ENTER("many", "a='\\%o' b=%d c=%d d=%ld e='\\%o' f=%u g=%u h=%lu i=%d j=%d", (unsigned char)a, b, c, d, e, f, g, h, i, j);
    sink += a + b + c + d + e + f + g + h + i + j;
    RETURN(long, "%ld", (result_), c + d);
}

void changes(int n, int* out)
{
    ENTER("changes", "n=%d out=%p", n, (void*)out);
    n *= 2;
    escape(&n);
    *out = n;
    sink += n;
    LEAVE();
}

static void does_nothing_with(int unused, int used)
{
    ENTER("does_nothing_with", "unused=%d used=%d", unused, used);
    sink += used;
    LEAVE();
}

static int same_one(int v)
{
    ENTER("same_one", "v=%d", v);
    sink += v + 77;
    RETURN(int, "%d", (result_), v + 1);
}
static int same_two(int v)
{
    ENTER("same_two", "v=%d", v);
    sink += v + 77;
    RETURN(int, "%d", (result_), v + 1);
}

static int state_machine(int state)
{
    ENTER("state_machine", "state=%d", state);
    for (;;) {
        sink += state;
        switch (state) {
        case 0: state = 3; break;
        case 1: state = 5; break;
        case 2: state = 1; break;
        case 3: state = 2; break;
        case 4: RETURN(int, "%d", (result_), 40);
        case 5: RETURN(int, "%d", (result_), 50);
        default: state = 4;
        }
    }
}

int with_room(int n)
{
    ENTER("with_room", "n=%d", n);
    volatile int room[n + 1];
    for (int i = 0; i <= n; i++)
        room[i] = i;
    sink += room[n];
    RETURN(int, "%d", (result_), room[n] + room[0]);
}

static void* work(void* number)
{
    ENTER("work", "number=%p", number);
    for (int i = 0; i < 20; i++)
        sink += factorial(3) + twice(i);
    RETURN(void*, "%p", (result_), number);
}

static int by_union(union value v, bool real)
{
    ENTER("by_union", "v=%s real=%d", "?", real);
    sink += v.whole;
    RETURN(int, "%d", (result_), real ? (int)v.real : v.whole);
}

static void first_of_all(void) __attribute__((constructor));
static void first_of_all(void)
{
    ENTER("first_of_all", "");
    sink++;
    LEAVE();
}

int main(int count, char** words)
{
    (void)words;
    const int one = opaque(1);
    for (int i = 0; i < 5; i++)
        sink += factorial(i * one);
    gcd(48 * one, 36), gcd(17, 5 * one);
    is_even(9 * one);
    ackermann(2, 2 * one);
    countdown(4 * one), countdown(0), countdown(7);
    length_of("tea"), length_of("");
    int numbers[] = {5, 3, 9, 1, 7};
    qsort(numbers, 5, sizeof *numbers, compare);
    int (*volatile pick)(int) = count > 1 ? square : twice;
    apply(pick, 4), apply(square, 5 * one), apply(twice, 6);
    total(3, 1, 2, 3), total(0), total(1, one);
    catches_jump(3 * one), catches_jump(0);
    checked(5 * one), checked(-3 * one), checked(0);
    struct point p = {one, 2}, q = move(p, 10 * one);
    move(q, -1);
    area(around(p, q, "small")), area((struct box){{0, 0}, {3 * one, 4}, "given"});
    mixed(4 * one, -50), mixed(2, 3 * one);
    struct node* tree = NULL;
    for (int i = 0; i < 7; i++)
        tree = insert(tree, (i * 5) % 7);
    depth_of(tree);
    mean(1, 2, 3, 4, 5, 6, 7, 8, 9, 10 * one);
    many('a', -2, 3 * one, -4, 200, 60000, 7, 8, true, -10);
    int out;
    changes(21 * one, &out);
    does_nothing_with(1, 2 * one), does_nothing_with(out, one);
    same_one(one), same_two(2 * one), same_two(3);
    state_machine(one), state_machine(0), state_machine(9 * one);
    with_room(3 * one), with_room(10);
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, (void*)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    union value v = {.whole = 12};
    by_union(v, false);
    return 0;
}
