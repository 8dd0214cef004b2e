/* Arithmetic on IEEE 754 doubles with integer instructions, because BPF has no floating point.
 *
 * During a computation, a number is a sign, an exponent, and a significand whose leading bit is bit 62: sig * 2^(exp
 * - 62). The lowest 10 bits are beyond a double's precision; the lowest bit is set if any bit was shifted out.
 * Results are rounded to nearest, ties to even (IEEE 754-2019, 4.3.1). */
#include "rt.h"

/* BPF cannot pass structs to functions. */
#define FP_INLINE static inline __attribute__((always_inline))
#define FP_SIGN (1ull << 63)
#define FP_INF (0x7ffull << 52)
#define FP_NAN (0x7ff8ull << 48)
#define LEADING (1ull << 62)

struct fp {
    u64 sign, sig;
    s64 exp;
};

FP_INLINE int is_nan(u64 x) { return (x & ~FP_SIGN) > FP_INF; }
FP_INLINE int is_inf(u64 x) { return (x & ~FP_SIGN) == FP_INF; }
FP_INLINE int is_zero(u64 x) { return (x << 1) == 0; }

/* The verifier follows both sides of each branch. So the common operations are computed without branches, with masks
 * that are hidden from the compiler, which would create branches otherwise. */

/* 1 for any number but 0, and 0 for 0. */
FP_INLINE u64 any(u64 x)
{
    u64 sign = x | (0 - x);
    __asm__ volatile("" : "+r"(sign));
    return sign >> 63;
}
/* All bits set for a negative number, otherwise 0. */
FP_INLINE u64 below_zero(s64 x)
{
    s64 mask = x >> 63;
    __asm__ volatile("" : "+r"(mask));
    return (u64)mask;
}

/* The number of places to shift until bit 62 is the leading one; x must not be 0. Works by halves, because BPF has
 * no instruction to count zeros. */
FP_INLINE u64 leading(u64 x)
{
    u64 n = 0;
#define HALF(bits, shift)                                                                                              \
    {                                                                                                                  \
        u64 by = (1 - any(x >> (63 - (bits)))) << (shift);                                                             \
        n += by;                                                                                                       \
        x <<= by;                                                                                                      \
    }
    HALF(32, 5)
    HALF(16, 4)
    HALF(8, 3)
    HALF(4, 2)
    HALF(2, 1)
    HALF(1, 0)
#undef HALF
    return n;
}

/* Shifts to the right and sets the lowest bit if any bit was lost. */
FP_INLINE u64 shift_right(u64 x, u64 by)
{
    s64 beyond = (s64)(by - 63);
    by = 63 + ((u64)beyond & below_zero(beyond)); /* at most 63, which leaves only whether any bit was set */
    return x >> by | any(x << 1 << (63 - by));
}

FP_INLINE struct fp unpack(u64 x)
{
    u64 exp = x >> 52 & 0x7ff, normal = any(exp);
    u64 sig = (x & ((1ull << 52) - 1)) << 10 | normal << 62, by = leading(sig);
    struct fp out = {x & FP_SIGN, sig << by, (s64)(exp + 1 - normal - by) - 1023};
    return out;
}

FP_INLINE u64 pack(struct fp x)
{
    if (!x.sig)
        return x.sign;
    s64 exp = x.exp + 1023;
    if (exp >= 2047)
        return x.sign | FP_INF;
    u64 small = below_zero(exp - 1), sig = shift_right(x.sig, (u64)(1 - exp) & small);
    exp = (s64)((u64)exp & ~small);
    /* Round to nearest, ties to even. */
    sig = (sig >> 10) + (((sig & 1023) + 511 + (sig >> 10 & 1)) >> 10);
    /* A carry out of the significand increases the exponent. */
    return x.sign | (((u64)exp - any((u64)exp)) << 52) + sig;
}

ONCE u64 sonde_rt_fp_add(u64 a, u64 b)
{
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b) && a != b))
        return FP_NAN;
    if (is_inf(a) || is_inf(b))
        return is_inf(a) ? a : b;
    if (is_zero(a))
        return is_zero(b) ? a & b : b;
    if (is_zero(b))
        return a;
    struct fp x = unpack(a), y = unpack(b);
    if (x.exp < y.exp || (x.exp == y.exp && x.sig < y.sig)) {
        struct fp other = x;
        x = y;
        y = other;
    }
    u64 less = shift_right(y.sig, (u64)(x.exp - y.exp));
    if (x.sign == y.sign) {
        x.sig += less;
        if (x.sig >> 63) {
            x.sig = shift_right(x.sig, 1);
            x.exp++;
        }
        return pack(x);
    }
    x.sig -= less;
    if (!x.sig)
        return 0;
    u64 by = leading(x.sig);
    x.sig <<= by;
    x.exp -= (s64)by;
    return pack(x);
}

ONCE u64 sonde_rt_fp_mul(u64 a, u64 b)
{
    u64 sign = (a ^ b) & FP_SIGN;
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_zero(b)) || (is_zero(a) && is_inf(b)))
        return FP_NAN;
    if (is_inf(a) || is_inf(b))
        return sign | FP_INF;
    if (is_zero(a) || is_zero(b))
        return sign;
    struct fp x = unpack(a), y = unpack(b);
    /* Multiplies two 63-bit numbers by halves. */
    u64 xl = x.sig & 0xffffffff, xh = x.sig >> 32, yl = y.sig & 0xffffffff, yh = y.sig >> 32;
    u64 low = xl * yl, middle = xh * yl + (low >> 32), other = xl * yh + (middle & 0xffffffff);
    u64 high = xh * yh + (middle >> 32) + (other >> 32);
    low = other << 32 | (low & 0xffffffff);
    /* The product's leading bit is bit 124 or 125. */
    u64 by = 2 - (high >> 61);
    struct fp out = {sign, (high << by | low >> (64 - by)) | ((low << by) != 0), x.exp + y.exp + 2 - (s64)by};
    return pack(out);
}

/* ---- algorithms that compute one bit of the result in each iteration ---- */

struct division {
    u64 rest, by, quotient;
};
static long division_step(u64 i, struct division* d)
{
    (void)i;
    u64 rest = d->rest << 1, less = below_zero((s64)(rest - d->by));
    d->rest = rest - (d->by & ~less);
    d->quotient = d->quotient << 1 | (1 + less);
    return 0;
}

ONCE u64 sonde_rt_fp_div(u64 a, u64 b)
{
    u64 sign = (a ^ b) & FP_SIGN;
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b)) || (is_zero(a) && is_zero(b)))
        return FP_NAN;
    if (is_inf(a) || is_zero(b))
        return sign | FP_INF;
    if (is_zero(a) || is_inf(b))
        return sign;
    struct fp x = unpack(a), y = unpack(b);
    s64 exp = x.exp - y.exp;
    if (x.sig < y.sig) {
        x.sig <<= 1;
        exp--;
    }
    struct division d = {x.sig - y.sig, y.sig, 1 + unknown_zero(a)};
    LOOP(62, division_step, &d);
    struct fp out = {sign, d.quotient | (d.rest != 0), exp};
    return pack(out);
}

struct root {
    u64 rest, root, high, low; /* bits of the operand that are still to be used */
};
static long root_step(u64 i, struct root* r)
{
    (void)i;
    r->rest = r->rest << 2 | r->high >> 62;
    r->high = r->high << 2 | r->low >> 62;
    r->low <<= 2;
    r->root <<= 1;
    u64 trial = r->root << 1 | 1, less = below_zero((s64)(r->rest - trial));
    r->rest -= trial & ~less;
    r->root |= 1 + less;
    return 0;
}

ONCE u64 sonde_rt_fp_sqrt(u64 a)
{
    if (is_nan(a) || is_zero(a))
        return a;
    if (a & FP_SIGN)
        return FP_NAN;
    if (is_inf(a))
        return a;
    struct fp x = unpack(a);
    /* 56 bits of the root, and a bit for the rest. The exponent is made even, because it is halved. */
    u64 sig = x.sig << (x.exp & 1);
    u64 zero = unknown_zero(a);
    struct root r = {zero, zero, sig, zero};
    LOOP(56, root_step, &r);
    struct fp out = {0, r.root << 7 | (r.rest != 0), (x.exp - (x.exp & 1)) / 2};
    return pack(out);
}

struct remainder {
    u64 rest, by, odd; /* odd: lowest bit of the quotient */
};
static long remainder_step(u64 i, struct remainder* r)
{
    (void)i;
    u64 rest = r->rest << 1, less = below_zero((s64)(rest - r->by));
    r->rest = rest - (r->by & ~less);
    r->odd = 1 + less;
    return 0;
}

/* x - y * n, where n is the integer nearest to x / y, and the even one if two are equally near (IEEE 754-2019,
 * 5.3.1). */
ONCE u64 sonde_rt_fp_rem(u64 a, u64 b)
{
    if (is_nan(a) || is_nan(b) || is_inf(a) || is_zero(b))
        return FP_NAN;
    if (is_zero(a) || is_inf(b))
        return a;
    struct fp x = unpack(a), y = unpack(b);
    s64 distance = x.exp - y.exp;
    if (distance < -1)
        return a;
    /* Both as multiples of half of the divisor's last bit. */
    u64 by = y.sig, first = distance < 0 ? x.sig >> 1 : x.sig;
    u64 odd = first >= by;
    struct remainder r = {first - (odd ? by : 0), by, odd + unknown_zero(a)};
    if (distance > 0)
        LOOP((u32)distance & 4095, remainder_step, &r);
    u64 twice = r.rest << 1;
    struct fp out = {x.sign, r.rest, y.exp};
    if (twice > by || (twice == by && r.odd)) {
        out.sig = by - r.rest;
        out.sign ^= FP_SIGN;
    }
    if (!out.sig)
        return x.sign;
    u64 left = leading(out.sig);
    out.sig <<= left;
    out.exp -= (s64)left;
    return pack(out);
}

/* ---- conversions from and to integers ---- */

ONCE u64 sonde_rt_long_to_fp(u64 number)
{
    if (!number)
        return 0;
    struct fp out = {number & FP_SIGN, number & FP_SIGN ? 0 - number : number, 62};
    if (out.sig >> 63) {
        out.sig = 1ull << 62;
        out.exp = 63;
        return pack(out);
    }
    u64 by = leading(out.sig);
    out.sig <<= by;
    out.exp -= (s64)by;
    return pack(out);
}

/* mode: 0 nearest even, 1 to zero, 2 down, 3 up, 4 nearest and away from zero, 6 to odd. If the result does not fit
 * into 64 bits, returns the smallest number, as the processor does. */
ONCE s64 sonde_rt_fp_to_long(u64 a, u64 mode, u64 exact)
{
    (void)exact;
    if (is_zero(a))
        return 0;
    struct fp x = unpack(a);
    if (is_nan(a) || is_inf(a) || x.exp > 62)
        return (s64)FP_SIGN;
    u64 by = x.exp < -1 ? 64 : (u64)(62 - x.exp), whole = by > 63 ? 0 : x.sig >> by;
    u64 rest = by == 0 ? 0 : by > 63 ? 1 : x.sig << (64 - by); /* 1 << 63 is one half */
    u64 more = 0;
    if (mode == 0)
        more = rest > FP_SIGN || (rest == FP_SIGN && (whole & 1));
    else if (mode == 2)
        more = rest && x.sign;
    else if (mode == 3)
        more = rest && !x.sign;
    else if (mode == 4)
        more = rest >= FP_SIGN;
    else if (mode == 6)
        more = rest && !(whole & 1);
    whole += more;
    if (whole >> 63)
        return (s64)FP_SIGN;
    return x.sign ? -(s64)whole : (s64)whole;
}

ONCE u64 sonde_rt_fp32_to_fp64(u64 number)
{
    u64 sign = (number & 0x80000000) << 32, exp = number >> 23 & 255, sig = (number & 0x7fffff) << 39;
    if (exp == 255)
        return sig ? FP_NAN : sign | FP_INF;
    struct fp out = {sign, sig, (s64)exp - 127};
    if (exp)
        out.sig |= LEADING;
    else if (sig) {
        u64 by = leading(sig);
        out.sig <<= by & 63;
        out.exp = -126 - (s64)by;
    }
    return pack(out);
}
