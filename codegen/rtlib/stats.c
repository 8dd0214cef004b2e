/* Statistics; for the layout see plan::StatsBlock.
 *
 * Handlers on several CPUs add values to the same statistic without a lock. Each field is updated by an atomic
 * operation, so no update is lost. A reader can see a value in one field that is not in another one yet.
 *
 * A block of zeros is the empty statistic, because the kernel zeroes new elements, and there is no atomic way to
 * initialize several fields. With ordinary numbers, 0 would be a wrong minimum or maximum. So the largest value is
 * stored as max + 2^63, which is at least 0 as an unsigned number, and can only grow. The smallest value is stored with
 * all bits of min + 2^63 inverted, so that it also only grows. For example, after the values 5 and 7:
 *     max_biased = 2^63 + 7,  min_biased = ~(2^63 + 5)
 *
 * The variance needs the sum of squares, which is too large for 64 bits. It is in two words; a carry from the lower to
 * the upper one is added separately. BPF has no 128-bit numbers, so products and quotients are computed in parts. */
#include "rt.h"
#include "../../runtime/plan/quantile.h"

struct block {
    u64 count;
    s64 sum;
    u64 min_biased, max_biased;
    u64 squares_low, squares_high;
};

#define BIAS 0x8000000000000000ull

struct raise {
    u64* at;
    u64 value;
};
static long raise_step(u64 i, struct raise* r) {
    (void)i;
    u64 seen = *(volatile u64*)r->at;
    if (seen >= r->value)
        return 1;
    return __sync_val_compare_and_swap(r->at, seen, r->value) == seen;
}
static inline void raise_to(u64* at, u64 value) {
    if (*(volatile u64*)at >= value)
        return;
    struct raise r = {at, value};
    LOOP(1 << 20, raise_step, &r);
}

/* count, sum, min and max. */
ONCE u64 sonde_rt_stat_add(struct block* b, s64 value) {
    NEED(b);
    __sync_fetch_and_add(&b->count, 1);
    __sync_fetch_and_add(&b->sum, value);
    u64 biased = (u64)value + BIAS;
    raise_to(&b->max_biased, biased);
    raise_to(&b->min_biased, ~biased);
    return 0;
}

/* The sum of squares in 128 bits. */
ONCE u64 sonde_rt_stat_square(struct block* b, s64 value) {
    NEED(b);
    u64 m = value < 0 ? 0 - (u64)value : (u64)value;
    u64 low = m & 0xffffffff, high = m >> 32;
    u64 cross = low * high; /* counts twice */
    u64 add_low = low * low + (cross << 33);
    u64 add_high = high * high + (cross >> 31) + (add_low < low * low);
    u64 old = __sync_fetch_and_add(&b->squares_low, add_low);
    __sync_fetch_and_add(&b->squares_high, add_high + (old + add_low < old));
    return 0;
}

/* The bucket in a base-2 histogram. 64 is for 0; a positive number is in 64 + the number of its bits. Negative
 * numbers are mirrored; bucket 0 is for the smallest number. */
ONCE u64 sonde_rt_log_bucket(s64 value) {
    u64 m = value < 0 ? 0 - (u64)value : (u64)value;
    u64 bits = sonde_bits_of(m);
    if (value < 0)
        return bits > 64 ? 0 : 64 - bits;
    return 64 + (bits > 63 ? 63 : bits);
}

struct next_bucket {
    u64 counts;
    u64 previous, previous_count; /* previous: the bucket's number plus 1; 0 at the beginning */
    s64 direction;
    s64 best;
    u64 best_count;
};
static long next_bucket_step(u64 i, struct next_bucket* n) {
    u64 count = 0;
    copy_bytes((u8*)&count, sizeof count, (const u8*)(n->counts + i * sizeof count));
    u64 p = n->previous_count;
    int is_after = n->previous == 0 || (n->direction > 0 ? count > p : count < p) || (count == p && i >= n->previous);
    int is_before = n->best < 0 || (n->direction > 0 ? count < n->best_count : count > n->best_count);
    if (is_after && is_before) {
        n->best = (s64)i;
        n->best_count = count;
    }
    return 0;
}
/* The bucket that follows `previous` (its number plus 1; 0 for the first) in the order of counts, up or down. Equal
 * counts are ordered by number. Returns -1 at the end. `counts`: address of `total` counts. */
ONCE s64 sonde_rt_next_bucket(u64 counts, u64 total, u64 previous, s64 direction) {
    struct next_bucket n = {counts, previous, 0, direction, -1, 0};
    if (previous)
        copy_bytes((u8*)&n.previous_count, 8, (const u8*)(counts + (previous - 1) * 8));
    LOOP((u32)total, next_bucket_step, &n);
    return n.best;
}

/* The bucket in a linear histogram: 0 is underflow, then one for each width; the last is overflow. */
ONCE u64 sonde_rt_linear_bucket(s64 value, s64 low, s64 high, s64 width) {
    u64 inner = ((u64)high - (u64)low) / (u64)width;
    if (value < low)
        return 0;
    u64 at = ((u64)value - (u64)low) / (u64)width;
    return at > inner ? inner + 2 : at + 1;
}

struct divide {
    u64 high, low, divisor, quotient;
};
static long divide_step(u64 i, struct divide* d) {
    (void)i;
    u64 carry = d->high >> 63;
    d->high = d->high << 1 | d->low >> 63;
    d->low <<= 1;
    d->quotient <<= 1;
    if (carry || d->high >= d->divisor) {
        d->high -= d->divisor;
        d->quotient |= 1;
    }
    return 0;
}
static inline void multiply(u64 a, u64 b, u64* high, u64* low) {
    u64 al = a & 0xffffffff, ah = a >> 32, bl = b & 0xffffffff, bh = b >> 32;
    u64 ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
    u64 middle = (ll >> 32) + (lh & 0xffffffff) + (hl & 0xffffffff);
    *low = middle << 32 | (ll & 0xffffffff);
    *high = hh + (lh >> 32) + (hl >> 32) + (middle >> 32);
}

/* (sum of squares - sum^2 / n) / (n - 1), truncated; 0 for fewer than two values. If sum^2 / n has a remainder, it
 * is rounded up by 1, because any fraction lowers the integer part of the second quotient in the same way. */
ONCE s64 sonde_rt_variance(struct block* b) {
    NEED(b);
    u64 n = b->count;
    if (n < 2)
        return 0;
    u64 s = b->sum < 0 ? 0 - (u64)b->sum : (u64)b->sum;
    u64 sum_high, sum_low, squares_high, squares_low;
    multiply(s, s, &sum_high, &sum_low);
    /* sum^2 / n, then the difference to the squares, then / (n - 1): each step divides 128 by 64 bits. The quotients
     * start with an unknown zero, because the verifier would follow each of their bits where the result is tested. */
    struct divide d = {sum_high % n, sum_low, n, unknown_zero(n)};
    LOOP(64, divide_step, &d);
    u64 off = d.quotient + below(0, d.high);
    squares_high = b->squares_high - sum_high / n - (off < d.quotient);
    squares_low = b->squares_low;
    if (squares_low < off)
        squares_high--;
    squares_low -= off;
    struct divide e = {squares_high % (n - 1), squares_low, n - 1, unknown_zero(n)};
    if (n == 2)
        return (s64)squares_low;
    LOOP(64, divide_step, &e);
    return (s64)e.quotient;
}

/* The bucket for percentiles. */
ONCE u64 sonde_rt_quantile_bucket(s64 value) { return sonde_quantile_bucket(value); }

struct walk {
    u64 counts, first, rank, seen;
    s64 found;
};
static long walk_step(u64 i, struct walk* w) {
    u64 count = 0;
    copy_bytes((u8*)&count, sizeof count, (const u8*)(w->counts + (w->first + i) * sizeof count));
    w->seen += count;
    if (w->seen < w->rank)
        return 0;
    w->found = (s64)(w->first + i);
    return 1;
}
/* The smallest value that is not below the given millionths of all values, to the precision of the buckets.
 * `counts`: address of the buckets. Another processor may have added a value to the count, but not to a bucket yet.
 * In this case the result is the largest value. */
ONCE s64 sonde_rt_percentile(struct block* b, u64 counts, u64 millionths) {
    NEED(b);
    const s64 least = (s64)(~b->min_biased - BIAS), most = (s64)(b->max_biased - BIAS);
    const u64 count = b->count, rank = sonde_quantile_rank(count, millionths);
    if (rank <= 1)
        return least;
    if (rank >= count)
        return most;
    const u64 first = sonde_quantile_bucket(least), last = sonde_quantile_bucket(most);
    struct walk w = {counts, first, rank, 0, -1};
    LOOP((u32)(last - first + 1), walk_step, &w);
    if (w.found < 0)
        return most;
    const s64 value = sonde_quantile_value((u64)w.found);
    return value < least ? least : value > most ? most : value;
}
