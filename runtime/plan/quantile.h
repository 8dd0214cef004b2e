/* Buckets that percentiles are found in: log-linear ones, as many for each power of two.
 *
 * Numbers up to 31 have a bucket each. Above, each power of two has 16 buckets of equal width, so that a bucket's
 * middle is at most 1/32 (3.2 %) away from what fell into it, however large that is. Negative numbers mirror the
 * others. All 64-bit numbers need 1920 buckets; all share the error, none an upper bound that a script would have to
 * guess.
 *
 * Twice as many would halve the error for 30 KB a statistic, of which an array has thousands. Sketches that take less
 * (t-digest, KLL) move numbers about, which handlers cannot do that run at once on several processors; adding one to a
 * bucket they can.
 *
 * Shared with handlers' code (codegen/rtlib/stats.c), so it is C. */
#pragma once

enum {
    SONDE_QUANTILE_STEPS_LOG = 4, /* 16 buckets for each power of two */
    SONDE_QUANTILE_STEPS = 1 << SONDE_QUANTILE_STEPS_LOG,
    SONDE_QUANTILE_HALF = SONDE_QUANTILE_STEPS * (64 - SONDE_QUANTILE_STEPS_LOG), /* the bucket of 0 */
    SONDE_QUANTILE_BUCKETS = 2 * SONDE_QUANTILE_HALF
};

/* How many bits a number has: the place of the highest that is set, and 1. */
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

/* The least magnitude of what falls into the bucket so many steps away from 0's, and how many magnitudes do. */
static inline unsigned long long sonde_quantile_low(unsigned long long step) {
    if (step < SONDE_QUANTILE_STEPS)
        return step;
    return (SONDE_QUANTILE_STEPS + step % SONDE_QUANTILE_STEPS) << ((step / SONDE_QUANTILE_STEPS - 1) & 63);
}
static inline unsigned long long sonde_quantile_width(unsigned long long step) {
    return step < SONDE_QUANTILE_STEPS ? 1 : 1ull << ((step / SONDE_QUANTILE_STEPS - 1) & 63);
}

/* The middle of a bucket. */
static inline long long sonde_quantile_value(unsigned long long bucket) {
    unsigned long long step =
        bucket < SONDE_QUANTILE_HALF ? SONDE_QUANTILE_HALF - bucket : bucket - SONDE_QUANTILE_HALF;
    long long middle = (long long)(sonde_quantile_low(step) + sonde_quantile_width(step) / 2);
    return bucket < SONDE_QUANTILE_HALF ? -middle : middle;
}

/* Which of `count` values, counted from 1 in their order, is the least that so many millionths are not above. */
static inline unsigned long long sonde_quantile_rank(unsigned long long count, unsigned long long millionths) {
    const unsigned long long million = 1000000;
    unsigned long long rank = count / million * millionths + (count % million * millionths + million - 1) / million;
    return rank ? rank : 1;
}
