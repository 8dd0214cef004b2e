// Small functions without effects of their own, inlined into callers with loops and branches. No volatile variable
// shows where a call begins, so the compiler moves, duplicates and merges their instructions freely. All arguments are
// read from volatile memory and all results are stored there, so each call is executed.
//
// Recursive: grow, weight, power_of
#include "truth.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COPY static inline ALWAYS_INLINE

static volatile int numbers[64];
static volatile double reals[64];
static volatile int out_int[64];
static volatile double out_real[64];
static const char* volatile texts[8];

// ---- loops at the beginning
// --------------------------------------------------------------------------------------------------

COPY int divisor(int a, int b) {
    ENTER("divisor", "");
    while (b) {
        int t = a % b;
        a = b;
        b = t;
    }
    return a;
}

COPY int bits(unsigned v) {
    ENTER("bits", "");
    int n = 0;
    for (; v; v &= v - 1)
        n++;
    return n;
}

COPY unsigned collatz(unsigned v) {
    ENTER("collatz", "");
    unsigned steps = 0;
    while (v > 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        steps++;
    }
    return steps;
}

COPY unsigned modular_power(unsigned base, unsigned exponent, unsigned modulus) {
    ENTER("modular_power", "");
    unsigned long result = 1, b = base % modulus;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = result * b % modulus;
        b = b * b % modulus;
    }
    return (unsigned)result;
}

COPY unsigned root(unsigned v) {
    ENTER("root", "");
    unsigned low = 0, high = 46341;
    while (low + 1 < high) {
        unsigned middle = (low + high) / 2;
        if (middle * middle <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

COPY bool is_prime(unsigned v) {
    ENTER("is_prime", "");
    if (v < 2)
        return false;
    for (unsigned d = 2; d * d <= v; d++)
        if (v % d == 0)
            return false;
    return true;
}

NOINLINE void loops(int count) {
    ENTER("loops", "");
    for (int i = 0; i < count; i++)
        out_int[i & 63] = divisor(numbers[i & 63], numbers[(i + 7) & 63]);
    for (int i = 0; i < count; i++)
        out_int[i & 63] = bits((unsigned)numbers[i & 63]);
    for (int i = 0; i < count; i++)
        out_int[i & 63] = (int)collatz((unsigned)numbers[i & 63] & 31);
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += (int)modular_power((unsigned)numbers[i & 63], (unsigned)i, 97);
    out_int[0] = sum;
    for (int i = 0; i < count; i++)
        out_int[i & 63] = (int)root((unsigned)numbers[i & 63]);
    int primes = 0;
    for (int i = 0; i < count; i++)
        if (is_prime((unsigned)numbers[i & 63]))
            primes++;
    out_int[1] = primes;
    LEAVE();
}

// ---- searches
// ----------------------------------------------------------------------------------------------------------------

COPY int find(const int* list, int count, int key) {
    ENTER("find", "");
    for (int i = 0; i < count; i++)
        if (list[i] == key)
            return i;
    return -1;
}

COPY int bisect(const int* list, int count, int key) {
    ENTER("bisect", "");
    int low = 0, high = count - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        if (list[middle] == key)
            return middle;
        if (list[middle] < key)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

COPY int largest(const int* list, int count) {
    ENTER("largest", "");
    int out = list[0];
    for (int i = 1; i < count; i++)
        if (list[i] > out)
            out = list[i];
    return out;
}

NOINLINE int searches(const int* list, int count, int key) {
    ENTER("searches", "");
    int at = find(list, count, key);
    if (at < 0)
        return find(list, count, key + 1);
    if (at > 3)
        return bisect(list, count, key + 2) + find(list + at, count - at, key * 2);
    return at + largest(list, count);
}

NOINLINE int searches_again(const int* list, int count, int key) {
    ENTER("searches_again", "");
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        if (numbers[i] & 1)
            sum += find(list, count, key + i);
        else
            sum += bisect(list, count, key - i);
        if (find(list, i + 1 + zero, sum) >= 0)
            break;
    }
    return sum;
}

// ---- arithmetic
// --------------------------------------------------------------------------------------------------------------

COPY double ema(const double* values, int count, double weight) {
    ENTER("ema", "");
    double out = values[0];
    for (int i = 1; i < count; i++)
        out = weight * values[i] + (1 - weight) * out;
    return out;
}

COPY double blend(double before, double value) {
    ENTER("blend", "");
    return before * 0.75 + value * 0.25;
}

COPY int clamp(int v, int low, int high) {
    ENTER("clamp", "");
    return v < low ? low : v > high ? high : v;
}

COPY unsigned mix(unsigned h, unsigned v) {
    ENTER("mix", "");
    h ^= v;
    h *= 16777619u;
    return h ^ h >> 15;
}

COPY unsigned hash_of(const char* text) {
    ENTER("hash_of", "");
    unsigned h = 2166136261u;
    while (*text)
        h = (h ^ (unsigned char)*text++) * 16777619u;
    return h;
}

COPY int scaled(int v) {
    ENTER("scaled", "");
    return v * 3 + 1;
}

NOINLINE void arithmetic(const double* values, int count) {
    ENTER("arithmetic", "");
    double average = 0;
    for (int i = 0; i < count; i++)
        average = blend(average, reals[i]);
    out_real[0] = average;
    for (int i = 1; i < count; i++)
        out_real[i] = ema(values, i, 0.5);
    for (int i = 0; i < count; i++)
        out_int[i] = clamp(numbers[i], -5, 20);
    unsigned h = 1;
    for (int i = 0; i < count; i++)
        h = mix(h, (unsigned)numbers[i]);
    out_int[0] = (int)h;
    for (int i = 0; i < 8; i++)
        out_int[i] = (int)hash_of(texts[i]);
    LEAVE();
}

// Loops over arrays that are not volatile: they are vectorized and unrolled.
NOINLINE void vectors(int* to, const int* from, int count) {
    ENTER("vectors", "");
    for (int i = 0; i < count; i++)
        to[i] = scaled(from[i]);
    for (int i = 0; i < count; i++)
        to[i] = clamp(to[i], 3, 100);
    unsigned h = 0;
    for (int i = 0; i < 4; i++)
        h = mix(h, (unsigned)from[i]);
    to[0] = (int)h;
    LEAVE();
}

COPY double dot(const double* a, const double* b, int count) {
    ENTER("dot", "");
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

NOINLINE void products(const double* a, const double* b) {
    ENTER("products", "");
    for (int i = 0; i < 3; i++)
        out_real[i] = dot(a + i, b, 3);
    for (int i = 0; i < 5; i++)
        out_real[i] = dot(a, b + i, (int)numbers[i] & 7);
    LEAVE();
}

// ---- calls in the copy
// --------------------------------------------------------------------------------------------------------

NOINLINE void put(const char* text) {
    ENTER("put", "");
    sink += text[0];
    LEAVE();
}

COPY void shout(const char* text, int times) {
    ENTER("shout", "");
    if (times > 2)
        put("many");
    put(text);
}

COPY void shout_all(const char* text) {
    ENTER("shout_all", "");
    put("<");
    put(text);
    put(">");
}

NOINLINE void says(int kind) {
    ENTER("says", "");
    if (kind == 0)
        shout(texts[0], 1);
    else if (kind == 1)
        shout(texts[1], 3);
    else
        shout(texts[2], kind);
    if (kind & 1) {
        shout_all(texts[1]);
        put("odd");
    } else {
        shout_all(texts[3]);
        put("even");
    }
    LEAVE();
}

COPY int next_token(const char** at) {
    ENTER("next_token", "");
    const char* p = *at;
    while (*p == ' ')
        p++;
    int kind;
    if (*p == 0)
        kind = 0;
    else if (*p >= '0' && *p <= '9') {
        kind = 1;
        while (*p >= '0' && *p <= '9')
            p++;
    } else if (*p >= 'a' && *p <= 'z') {
        kind = 2;
        do
            p++;
        while (*p >= 'a' && *p <= 'z');
    } else {
        kind = 3;
        p++;
    }
    *at = p;
    return kind;
}

COPY int parse_number(const char* text) {
    ENTER("parse_number", "");
    int sign = 1, value = 0;
    if (*text == '-') {
        sign = -1;
        text++;
    }
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return sign * value;
}

NOINLINE int tokens(const char* text) {
    ENTER("tokens", "");
    int counts[4] = {0};
    for (int kind; (kind = next_token(&text)) != 0;)
        counts[kind]++;
    return counts[1] * 100 + counts[2] * 10 + counts[3];
}

NOINLINE int first_tokens(const char* text) {
    ENTER("first_tokens", "");
    int a = next_token(&text);
    if (a == 1)
        return next_token(&text) + parse_number(text);
    int b = next_token(&text);
    return a * 10 + b + parse_number(texts[a]);
}

// ---- merged and duplicated parts
// ------------------------------------------------------------------------------------------------

COPY int tail(int v) {
    ENTER("tail", "");
    if (v & 8)
        return v * 31;
    return v - 7;
}

COPY void record(int index, int v) {
    ENTER("record", "");
    out_int[index & 63] = v;
}

NOINLINE int merged(int a, int b) {
    ENTER("merged", "");
    int out;
    if (a > b) {
        put("more");
        out = tail(numbers[a & 63]);
    } else {
        put("less");
        out = tail(numbers[b & 63]);
    }
    switch (a & 3) {
    case 0:
        record(1, out);
        break;
    case 1:
        record(2, out);
        break;
    case 2:
        record(3, -out);
        break;
    default:
        break;
    }
    return out;
}

COPY int step(int state, int input) {
    ENTER("step", "");
    switch (state) {
    case 0:
        return input > 0 ? 1 : 0;
    case 1:
        return input > 5 ? 2 : 0;
    case 2:
        return input & 1 ? 3 : 1;
    default:
        return 0;
    }
}

NOINLINE int machine(int count) {
    ENTER("machine", "");
    int state = 0;
    for (int i = 0; i < count; i++)
        state = step(state, numbers[i & 63]);
    return state;
}

COPY bool is_space(char c) {
    ENTER("is_space", "");
    return c == ' ' || (c >= '\t' && c <= '\r');
}

COPY char upper(char c) {
    ENTER("upper", "");
    return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

NOINLINE int spaces(const char* text) {
    ENTER("spaces", "");
    int n = 0;
    for (; *text; text++)
        if (is_space(*text))
            n++;
    return n;
}

NOINLINE void uppers(char* to, const char* text) {
    ENTER("uppers", "");
    while ((*to++ = upper(*text)))
        text++;
    LEAVE();
}

// ---- lists and trees
// --------------------------------------------------------------------------------------------------------------

struct item {
    int key;
    struct item* next;
};
struct tree {
    int key;
    struct tree *left, *right;
};

COPY int length(const struct item* list) {
    ENTER("length", "");
    int n = 0;
    for (; list; list = list->next)
        n++;
    return n;
}

COPY struct item* reverse(struct item* list) {
    ENTER("reverse", "");
    struct item* out = NULL;
    while (list) {
        struct item* next = list->next;
        list->next = out;
        out = list;
        list = next;
    }
    return out;
}

COPY struct item* lookup(struct item* list, int key) {
    ENTER("lookup", "");
    while (list && list->key != key)
        list = list->next;
    return list;
}

NOINLINE int lists(int count) {
    ENTER("lists", "");
    static struct item items[16];
    struct item* list = NULL;
    for (int i = 0; i < count; i++) {
        items[i].key = numbers[i];
        items[i].next = list;
        list = &items[i];
    }
    int sum = length(list);
    for (int i = 0; i < 4; i++) {
        list = reverse(list);
        struct item* found = lookup(list, numbers[i + 3]);
        if (found)
            sum += length(found);
    }
    return sum + length(list);
}

static struct tree* grow(struct tree* at, int key) {
    ENTER("grow", "");
    if (!at) {
        at = (struct tree*)calloc(1, sizeof *at);
        at->key = key;
    } else if (key < at->key)
        at->left = grow(at->left, key);
    else
        at->right = grow(at->right, key);
    return at;
}

static int weight(const struct tree* at) {
    ENTER("weight", "");
    return at ? at->key + weight(at->left) + weight(at->right) : 0;
}

static int power_of(int base, int exponent) {
    ENTER("power_of", "");
    return exponent == 0 ? 1 : base * power_of(base, exponent - 1);
}

COPY void exchange(int* a, int* b) {
    ENTER("exchange", "");
    int t = *a;
    *a = *b;
    *b = t;
}

NOINLINE void bubble(int* list, int count) {
    ENTER("bubble", "");
    for (int i = 0; i < count; i++)
        for (int j = 0; j + 1 < count - i; j++)
            if (list[j] > list[j + 1])
                exchange(&list[j], &list[j + 1]);
    LEAVE();
}

// ---- conditional tail calls
// -------------------------------------------------------------------------------------------------------

NOINLINE int last_of(int v) {
    ENTER("last_of", "");
    sink += v;
    return v + 1;
}

NOINLINE int perhaps(int v) {
    ENTER("perhaps", "");
    if (v > 3)
        return last_of(v);
    return 0;
}

int main(void) {
    for (int i = 0; i < 64; i++) {
        numbers[i] = (i * 37 + 11) % 41;
        reals[i] = i * 0.5;
    }
    texts[0] = "alpha", texts[1] = "42", texts[2] = "-17", texts[3] = "x1 22 (a b) 7", texts[4] = "", texts[5] = "   9",
    texts[6] = "zz", texts[7] = "1 2";
    loops(40 + zero);
    int list[64], copied[64];
    double values[16];
    for (int i = 0; i < 64; i++)
        list[i] = numbers[i];
    for (int i = 0; i < 16; i++)
        values[i] = reals[i];
    for (int i = 0; i < 20; i++)
        out_int[i] = searches(list, 20, numbers[i] + (i & 3));
    for (int i = 0; i < 20; i++)
        out_int[i] = searches_again(list, 12, numbers[i]);
    arithmetic(values, 16 + zero);
    vectors(copied, list, 37 + zero);
    vectors(copied, list, 3 + zero);
    products(values, values + 2);
    for (int i = 0; i < 5; i++)
        says(i);
    for (int i = 0; i < 8; i++) {
        out_int[i] = tokens(texts[i]);
        out_int[i] = first_tokens(texts[i]);
        out_int[i] = spaces(texts[i]);
        char room[32];
        uppers(room, texts[i]);
        out_int[i] = room[0];
    }
    for (int i = 0; i < 12; i++)
        out_int[i] = merged(numbers[i], numbers[i + 1]);
    out_int[0] = machine(50 + zero);
    out_int[0] = lists(9 + zero);
    struct tree* root = NULL;
    for (int i = 0; i < 17; i++)
        root = grow(root, numbers[i]);
    out_int[0] = weight(root);
    for (int i = 0; i < 4; i++)
        out_int[i] = power_of(3, numbers[i] & 7);
    bubble(list, 12 + zero);
    for (int i = 0; i < 9; i++)
        out_int[i] = perhaps(numbers[i]);
    return 0;
}
