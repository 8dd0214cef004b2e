/* The shortest text of a double that reads back as the same double, as Python and JavaScript print it.
 *
 * The problem: 0.1 is 0.1000000000000000055511151231257827 exactly. Its shortest text has the fewest digits of all
 * numbers that are closer to it than to its neighbors.
 *
 * The idea: a double is f * 2^e with f < 2^53. As an exact decimal number it has at most 770 digits. If e is negative,
 * f * 2^e = f * 5^-e / 10^-e, so both cases are products of integers. The product is computed in base 1e9, and its
 * first 18 digits are kept, with a bit that says whether other digits follow. The same is done with the middle between
 * the double and its lower neighbor, and with the middle to the upper one. Then the double is rounded to 1, 2, ... 17
 * digits. The first result between the two middles is the right one. 17 digits are always enough.
 *
 * Example: for 0.1, the middles are 0.0999999999999999986 and 0.1000000000000000124, and 0.1 is between them.
 *
 * The state is in memory that the verifier does not track, so it checks each step once. */
#include "python_value.h"
#include "rt.h"

RT u64 sonde_rt_append(u8* slot, u64 len, const u8* src);

enum { BASE = 1000000000, LIMBS = 96, FIVES = 12, TWOS = 29, DIGITS = 18 };
#define POWER_18 1000000000000000000ull /* 1e18 */

/* The context of a loop must be on the stack. */
struct work {
    struct sonde_float_work* w;
};
static inline u64* limb(struct sonde_float_work* w, u64 i)
{
    i = i < LIMBS ? i : LIMBS - 1;
    __asm__ volatile("" : "+r"(i));
    return &w->limbs[i > LIMBS - 1 ? LIMBS - 1 : i];
}
/* Multiplies one limb. After the last one, begins with the next factor: 5^12 or 2^29, or a smaller power for the rest. */
static long multiply_step(u64 i, struct work* c)
{
    struct sonde_float_work* w = c->w;
    (void)i;
    u64 at = w->at;
    if (at < w->used) {
        u64* one = limb(w, at);
        u64 product = *one * w->factor + w->carry;
        *one = product % BASE;
        w->carry = product / BASE;
        w->at = at + 1;
        return 0;
    }
    if (w->carry) {
        *limb(w, at) = w->carry;
        w->carry = 0;
        w->used = at + 1;
    }
    if (w->left == 0)
        return 1;
    u64 fives = w->last == 5, most = fives ? FIVES : TWOS, n = w->left < most ? w->left : most;
    u64 factor = 1ull << (n & 31);
    if (fives) {
        static const u32 powers[16] = {1,     5,      25,      125,     625,      3125,      15625,
                                       78125, 390625, 1953125, 9765625, 48828125, 244140625};
        factor = powers[masked(n, 15)];
    }
    w->factor = factor;
    w->left -= n;
    w->at = 0;
    return 0;
}
static inline __attribute__((always_inline)) u64 power_of_ten(u64 n)
{
    static const u64 powers[32] = {1,
                                   10,
                                   100,
                                   1000,
                                   10000,
                                   100000,
                                   1000000,
                                   10000000,
                                   100000000,
                                   1000000000,
                                   10000000000,
                                   100000000000,
                                   1000000000000,
                                   10000000000000,
                                   100000000000000,
                                   1000000000000000,
                                   10000000000000000,
                                   100000000000000000,
                                   POWER_18,
                                   10000000000000000000ull};
    return powers[masked(n, 31)];
}
static long sticky_step(u64 i, struct work* c)
{
    struct sonde_float_work* w = c->w;
    if (i >= w->at)
        return 1;
    w->sticky |= *limb(w, i);
    return 0;
}
/* Computes significand * 2^exponent, and its digits from 10^position on (0: from where there are 18 digits). The value
 * has two more limbs behind the point, so it has 18 digits at least. */
ONCE u64 sonde_rt_float_digits(struct sonde_float_work* w, u64 significand, s64 exponent)
{
    if (!w)
        return 0;
    struct work c = {w};
    w->limbs[0] = w->limbs[1] = 0;
    w->limbs[2] = significand % BASE;
    w->limbs[3] = significand / BASE;
    w->used = 4;
    w->at = 4;
    w->carry = 0;
    w->last = exponent < 0 ? 5 : 2;
    w->left = exponent < 0 ? (u64)-exponent : (u64)exponent;
    LOOP(LIMBS * 100, multiply_step, &c);
    u64 used = w->used, top = *limb(w, used - 1);
    if (top == 0) { /* the upper half of a small significand */
        used--;
        top = *limb(w, used - 1);
    }
    u64 head = 1;
#pragma unroll
    for (int n = 1; n < 9; n++)
        head += top >= power_of_ten(n);
    /* `head` digits are in the first limb. */
    u64 position = w->position;
    if (position == 0)
        position = 9 * (used - 1) + head - DIGITS;
    w->position = position;
    /* The digits are in three limbs at most: some of the first, 9 of the second, the rest of the third. */
    u64 first = position / 9, below = position % 9;
    u64 lowest = *limb(w, first), scale = power_of_ten(below);
    u64 digits = lowest / scale + *limb(w, first + 1) * (first + 1 < used) * power_of_ten(9 - below) +
                 *limb(w, first + 2) * (first + 2 < used) * power_of_ten(18 - below);
    w->sticky = lowest % scale;
    w->at = first;
    LOOP(LIMBS, sticky_step, &c);
    w->digits = digits;
    return 0;
}

/* Rounds to i + 1 digits, and ends if the result is right. word: the value, the least and the largest result, and
 * whether other digits follow the value. */
static long round_step(u64 i, struct work* c)
{
    struct sonde_float_work* w = c->w;
    u64 value = w->word[0], unit = power_of_ten(17 - i), half = unit / 2;
    u64 down = value / unit * unit, over = value - down;
    u64 up = over > half || (over == half && (w->word[3] || (down / unit & 1)));
    u64 near = down + up * unit;
    near += near < w->word[1] ? unit : 0; /* the lower neighbor of a power of two is closer than the upper one */
    if (near < w->word[1] || near > w->word[2])
        return 0;
    w->best = near;
    return 1;
}
static long trailing_step(u64 i, struct work* c)
{
    struct sonde_float_work* w = c->w;
    (void)i;
    u64 digits = w->digits;
    if (digits % 10 || digits == 0)
        return 1;
    w->digits = digits / 10;
    w->used--;
    return 0;
}
static long place_step(u64 i, struct work* c)
{
    struct sonde_float_work* w = c->w;
    u64 at = w->left - 1 - i;
    if (w->left <= i)
        return 1;
    w->text[masked(at, 31)] = '0' + w->digits % 10;
    w->digits /= 10;
    return 0;
}
/* Composes the characters in limbs[], which are not needed any longer. */
static inline u8* composed(struct sonde_float_work* w, u64 at) { return (u8*)w->limbs + masked(at, 127); }
static long character_step(u64 i, struct work* c)
{
    struct sonde_float_work* w = c->w;
    u64 used = w->used, point = w->last; /* number of digits, and of those before the point */
    s64 before = (s64)point;
    u64 at = w->at;
    /* Leading: "0." and zeros. */
    if (before <= 0) {
        u64 zeros = (u64)-before;
        if (i < 2 + zeros) {
            *composed(w, at) = i == 1 ? '.' : '0';
            w->at = at + 1;
            return 0;
        }
        u64 n = i - 2 - zeros;
        if (n >= used)
            return 1;
        *composed(w, at) = w->text[masked(n, 31)];
        w->at = at + 1;
        return 0;
    }
    u64 whole = used > point ? used : point;
    if (i < whole + 1) {
        u64 n = i > point ? i - 1 : i;
        *composed(w, at) = i == point ? '.' : n < used ? w->text[masked(n, 31)] : '0';
        w->at = at + 1;
        return 0;
    }
    if (used <= point) { /* the digit after the point */
        *composed(w, at) = '0';
        w->at = at + 1;
    }
    return 1;
}

/* Appends the text to the `len` characters in the slot, which has room for 32 more. */
ONCE u64 sonde_rt_float_text(struct sonde_slot* to, u64 len, struct sonde_float_work* w)
{
    NEED(to && w);
    struct work c = {w};
    u8* slot = to->text;
    u64 bits = w->bits;
    if (bits >> 63) {
        slot[len & MASK] = '-';
        len = cut((len & MASK) + 1);
    }
    bits = bits << 1 >> 1;
    u64 fraction = bits & ((1ull << 52) - 1), biased = bits >> 52;
    if (biased == 0x7ff) {
        static const u8 infinite[] = "inf", invalid[] = "nan";
        if (fraction) /* without a sign */
            return sonde_rt_append(slot, w->bits >> 63 ? len - 1 : len, invalid);
        return sonde_rt_append(slot, len, infinite);
    }
    if (bits == 0) {
        static const u8 zero[] = "0.0";
        return sonde_rt_append(slot, len, zero);
    }
    u64 significand = biased ? fraction | 1ull << 52 : fraction;
    s64 exponent = (biased ? (s64)biased : 1) - 1075 - 2;
    u64 even = !(significand & 1);
    /* In quarters of the last bit. The lower neighbor of a power of two is closer. */
    u64 lower = fraction == 0 && biased > 1 ? 1 : 2;
    w->position = 0;
    sonde_rt_float_digits(w, significand * 4, exponent);
    u64 value = w->digits, rest = w->sticky != 0;
    sonde_rt_float_digits(w, significand * 4 - lower, exponent);
    u64 low = w->digits, low_rest = w->sticky != 0;
    sonde_rt_float_digits(w, significand * 4 + 2, exponent);
    u64 high = w->digits, high_rest = w->sticky != 0;
    s64 position = (s64)w->position - 18 + (exponent < 0 ? exponent : 0);
    w->word[0] = value;
    w->word[1] = low + (even ? low_rest : 1); /* the least result */
    w->word[2] = high - (even || high_rest ? 0 : 1);
    w->word[3] = rest;
    w->best = value;
    LOOP(17, round_step, &c);
    u64 best = w->best;
    w->digits = best;
    w->used = 19;
    if (best < POWER_18)
        w->used = 18;
    s64 before = (s64)w->used + position; /* digits before the point */
    LOOP(20, trailing_step, &c);
    u64 used = w->left = w->used;
    LOOP(20, place_step, &c);
    u64 scientific = before > 16 || before < -3;
    w->at = 0;
    w->last = scientific ? 1 : (u64)before;
    LOOP(40, character_step, &c);
    u64 at = w->at;
    if (scientific) {
        if (used == 1) /* 1e+16, not 1.0e+16 */
            at -= 2;
        s64 shown = before - 1;
        u64 size = shown < 0 ? (u64)-shown : (u64)shown;
        *composed(w, at) = 'e';
        *composed(w, at + 1) = shown < 0 ? '-' : '+';
        at += 2;
        if (size >= 100) {
            *composed(w, at) = '0' + size / 100;
            at++;
        }
        *composed(w, at) = '0' + size / 10 % 10;
        *composed(w, at + 1) = '0' + size % 10;
        at += 2;
    }
    *composed(w, at) = 0;
    return sonde_rt_append(slot, len, (const u8*)w->limbs);
}
