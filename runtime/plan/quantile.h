/* Buckets for percentiles, on a scale that is linear within each power of two and logarithmic across them.
 *
 * Numbers up to 31 have one bucket each. Above, each power of two has 16 buckets of equal width. For example, 1000 lies
 * between 2^9 and 2^10, where each bucket is 32 wide. So the middle of a bucket differs by at most 1/32 (3.2 %) from
 * any number in it, however large the number is. Negative numbers mirror the positive ones. All 64-bit numbers need
 * 1920 buckets.
 *
 * Alternatives:
 *
 * * Linear buckets would need bounds that the author of a script must guess.
 * * Twice as many buckets would halve the error, but a statistic would need 30 KB, and an array has thousands of
 * statistics.
 * * Sketches such as t-digest and KLL are smaller, but they move numbers between buckets. Handlers that run on several
 *   processors at once cannot do that. They can only add to a bucket atomically.
 *
 * Shared with the code of handlers (codegen/rtlib/stats.c), so it is C. */
#pragma once

enum {
    SONDE_QUANTILE_STEPS_LOG = 4, /* 16 buckets for each power of two */
    SONDE_QUANTILE_STEPS = 1 << SONDE_QUANTILE_STEPS_LOG,
    SONDE_QUANTILE_HALF = SONDE_QUANTILE_STEPS * (64 - SONDE_QUANTILE_STEPS_LOG), /* the bucket of 0 */
    SONDE_QUANTILE_BUCKETS = 2 * SONDE_QUANTILE_HALF
};

/* The number of bits of a number: the position of its highest set bit, plus 1. */
static inline unsigned long long sonde_bits_of(unsigned long long m) {
    unsigned long long bits = 0;
    if (m >> 32)
        bits += 32, m >>= 32;
    if (m >> 16)
        bits += 16, m >>= 16;
    if (m >> 8)
        bits += 8, m >>= 8;
    if (m >> 4)
        bits += 4, m >>= 4;
    if (m >> 2)
        bits += 2, m >>= 2;
    if (m >> 1)
        bits += 1, m >>= 1;
    return bits + m;
}

/* The index of the bucket for a value. */
static inline unsigned long long sonde_quantile_bucket(long long value) {
    unsigned long long m = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
    unsigned long long bits = sonde_bits_of(m), step = m;
    if (bits > SONDE_QUANTILE_STEPS_LOG) {
        unsigned long long narrow = bits - 1 - SONDE_QUANTILE_STEPS_LOG; /* a bucket's width, as a power of two */
        step = SONDE_QUANTILE_STEPS * narrow + (m >> (narrow & 63));
    }
    if (step > SONDE_QUANTILE_HALF - 1) /* -2^63 */
        step = SONDE_QUANTILE_HALF - 1;
    return value < 0 ? SONDE_QUANTILE_HALF - step : SONDE_QUANTILE_HALF + step;
}

/* The lowest magnitude in the bucket with this distance from the bucket of 0, and the number of magnitudes in the
 * bucket. */
static inline unsigned long long sonde_quantile_low(unsigned long long step) {
    if (step < SONDE_QUANTILE_STEPS)
        return step;
    return (SONDE_QUANTILE_STEPS + step % SONDE_QUANTILE_STEPS) << ((step / SONDE_QUANTILE_STEPS - 1) & 63);
}
static inline unsigned long long sonde_quantile_width(unsigned long long step) {
    return step < SONDE_QUANTILE_STEPS ? 1 : 1ull << ((step / SONDE_QUANTILE_STEPS - 1) & 63);
}

/* The value in the middle of a bucket. */
static inline long long sonde_quantile_value(unsigned long long bucket) {
    unsigned long long step =
        bucket < SONDE_QUANTILE_HALF ? SONDE_QUANTILE_HALF - bucket : bucket - SONDE_QUANTILE_HALF;
    long long middle = (long long)(sonde_quantile_low(step) + sonde_quantile_width(step) / 2);
    return bucket < SONDE_QUANTILE_HALF ? -middle : middle;
}

/* The rank, from 1, of the smallest of `count` sorted values that is not below the given share of all values (in
 * millionths). */
static inline unsigned long long sonde_quantile_rank(unsigned long long count, unsigned long long millionths) {
    const unsigned long long million = 1000000;
    unsigned long long rank = count / million * millionths + (count % million * millionths + million - 1) / million;
    return rank ? rank : 1;
}
