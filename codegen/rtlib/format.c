/* Numbers and padded strings for sprintf in handlers.
 *
 * `spec` packs a directive into one number, because a BPF function has at most five arguments:
 *
 *     bits 0-7      conversion: d u x X o p c s
 *     bits 8-15     flag: 0 + - space # or none
 *     bits 16-39    width
 *     bits 40-63    precision + 1; 0: none
 *
 * The digits of a number are written from the last to the first into scratch memory after the string. The common case,
 * a number without width and precision, is then one append. It has its own path, because the verifier would follow all
 * combinations of padding, prefix and sign.
 *
 * Only strings that a handler uses itself are formatted here. Output of printf() is sent as values, and the runtime
 * formats it (runtime/values/format.cc). Both must agree. */
#include "rt.h"

RT u64 sonde_rt_append(u8* slot, u64 len, const u8* src);

#define SPEC_CONVERSION(spec) ((u8)(spec))
#define SPEC_FLAG(spec) ((u8)((spec) >> 8))
#define SPEC_WIDTH(spec) (((spec) >> 16) & 0xffffff)
#define SPEC_PRECISION(spec) (((spec) >> 40) & 0xffffff)

/* Appends the first `count` bytes of `fill`, which has the length of the longest string. */
static inline u64 append_fill(u8* slot, u64 len, u64 count, const u8* fill) {
    if (count == 0)
        return len;
    u32 size = (u32)cut(count) + 1;
    len &= MASK;
    u64 n = copy_bounded(slot + len, size, fill);
    slot[MASK] = 0;
    return cut(len + n);
}
static inline u64 append_blanks(u8* slot, u64 len, u64 count) { return append_fill(slot, len, count, sonde_rt_blanks); }

/* Appends text of `size` characters, padded to the directive's width. */
static inline u64 append_padded(u8* slot, u64 len, const u8* text, u64 size, u64 spec) {
    u64 width = SPEC_WIDTH(spec);
    u64 blanks = width > size ? width - size : 0;
    if (SPEC_FLAG(spec) != '-')
        len = append_blanks(slot, len, blanks);
    len = sonde_rt_append(slot, len, text);
    if (SPEC_FLAG(spec) == '-')
        len = append_blanks(slot, len, blanks);
    return len;
}

#define DIGITS 23 /* 64 bits in octal, and a sign */

struct digits {
    u8* text; /* they end at DIGITS */
    u64 rest, base, letter;
    u64 used;
};
static long digits_step(u64 i, struct digits* d) {
    u64 digit = d->rest % d->base;
    d->text[(DIGITS - 1 - i) & 31] = (digit < 10 ? '0' : d->letter - 10) + digit;
    d->rest /= d->base;
    d->used = i + 1;
    return d->rest == 0;
}
/* d u x X o p; p is #x and can have another flag. */
ONCE u64 sonde_rt_append_long(struct sonde_slot* to, u64 len, s64 value, u64 spec) {
    NEED(to);
    u8 *slot = to->text, *text = SCRATCH(slot);
    u8 conversion = SPEC_CONVERSION(spec), flag = SPEC_FLAG(spec);
    u64 precision = SPEC_PRECISION(spec), width = SPEC_WIDTH(spec), alternative = flag == '#' || conversion == 'p';
    if (conversion == 'p')
        conversion = 'x';
    u64 sign = conversion == 'd' ? (u64)(value >> 63) : 0;
    __asm__ volatile("" : "+r"(sign)); /* prevents a branch */
    u64 magnitude = ((u64)value ^ sign) - sign;
    u64 base = conversion == 'o' ? 8 : conversion == 'x' || conversion == 'X' ? 16 : 10;
    struct digits d = {text, opaque(text + 32, magnitude), base, conversion == 'X' ? 'A' : 'a', opaque(text + 32, 0)};
    text[DIGITS] = 0;
    LOOP(DIGITS, digits_step, &d);
    if (SPEC_WIDTH(spec) == 0 && precision == 0 && (flag == 0 || flag == '#') && !(alternative && base == 8)) {
        /* The common case: the digits, and before them a prefix, which is left out if it is not wanted. */
        u64 first = DIGITS - d.used, prefix = alternative && base == 16 ? 2 : sign & 1;
        text[(first - 2) & 31] = '0';
        text[(first - 1) & 31] = base == 16 ? conversion : '-';
        u64 start = first - prefix;
        __asm__ volatile("" : "+r"(start)); /* BPF cannot subtract from a pointer */
        return sonde_rt_append(slot, len, text + (start & 31));
    }
    u64 used = opaque(text + 32, d.used) & 31; /* hides the number: the verifier would check the code below once for each number of digits */
    u8* head = text + 40;
    *(u32*)head = 0;
    u64 prefix = 0;
    if (conversion == 'd' && (value < 0 || flag == '+' || flag == ' ')) {
        head[0] = value < 0 ? '-' : flag;
        prefix = 1;
    } else if (alternative && base == 16) {
        head[0] = '0';
        head[1] = conversion;
        prefix = 2;
    } else if (alternative && base == 8) {
        head[0] = '0';
        prefix = 1;
    }
    prefix = opaque(text + 32, prefix);
    u64 least = precision ? precision - 1 : 1;
    if (flag == '0' && width > prefix + least)
        least = width - prefix;
    u64 zeros = least > used ? least - used : 0;
    u64 total = used + zeros + prefix;
    u64 blanks = width > total ? width - total : 0;
    if (flag != '-')
        len = append_blanks(slot, len, blanks);
    len = sonde_rt_append(slot, len, head);
    len = append_fill(slot, len, zeros, sonde_rt_noughts);
    u64 start = (DIGITS - used) & 31;
    __asm__ volatile("" : "+r"(start)); /* a sum, because BPF cannot subtract from a pointer */
    len = sonde_rt_append(slot, len, text + start);
    if (flag == '-')
        len = append_blanks(slot, len, blanks);
    return len;
}

/* s; text_len is its length. The precision can shorten the text. */
ONCE u64 sonde_rt_append_string(struct sonde_slot* to, u64 len, struct sonde_slot* text, u64 text_len, u64 spec) {
    NEED(to && text);
    u64 precision = SPEC_PRECISION(spec);
    if (precision && precision - 1 < text_len) {
        text_len = precision - 1;
        text->text[text_len & MASK] = 0;
    }
    return append_padded(to->text, len, text->text, text_len, spec);
}

/* c; `#` escapes characters that are not printable, and those that C escapes between single quotes. */
ONCE u64 sonde_rt_append_char(struct sonde_slot* to, u64 len, s64 value, u64 spec) {
    NEED(to);
    u8 *slot = to->text, *text = SCRATCH(slot);
    *(u64*)text = (u8)value;
    u64 size = 1;
    u8 c = (u8)value;
    if (SPEC_FLAG(spec) == '#') {
        u8 escaped = c == '"' ? 0 : c == '\'' ? c : escape(c);
        if (escaped) {
            text[0] = '\\';
            text[1] = escaped;
            size = 2;
        } else if (c < 0x20 || c >= 0x7f) {
            text[0] = '\\';
            text[1] = '0' + (c >> 6);
            text[2] = '0' + ((c >> 3) & 7);
            text[3] = '0' + (c & 7);
            size = 4;
        }
    }
    return append_padded(slot, len, text, size, spec);
}

struct dump {
    u8* dst;
    const u8* src;
    u64 len, count;
};
static long dump_step(u64 i, struct dump* d) {
    if (i >= d->count || d->len >= MASK - 1)
        return 1;
    u8 c = d->src[i & MASK], high = c >> 4, low = c & 15;
    d->dst[d->len & MASK] = high < 10 ? '0' + high : 'a' + high - 10;
    d->dst[(d->len + 1) & MASK] = low < 10 ? '0' + low : 'a' + low - 10;
    d->len += 2;
    return 0;
}
/* M: count bytes in hexadecimal. */
ONCE u64 sonde_rt_append_dump(struct sonde_slot* to, u64 len, struct sonde_slot* src, struct sonde_slot* text,
                              u64 count_and_spec) {
    NEED(to && src && text);
    struct dump d = {text->text, src->text, opaque(text, 0), count_and_spec & 0xffff};
    LOOP(sonde_rt_max, dump_step, &d);
    text->text[d.len & MASK] = 0;
    return append_padded(to->text, len, text->text, d.len, count_and_spec & ~0xffffull);
}

static inline u64 put2(u8* text, u64 at, u64 value) {
    text[at] = '0' + value / 10 % 10;
    text[at + 1] = '0' + value % 10;
    return at + 2;
}

/* Formats seconds since the epoch as "Thu Jan  1 00:00:00 1970" in UTC. Returns 0 for times before 1901-12-13 or
 * after the year 9999.
 *
 * Converts days to a date in a proleptic Gregorian calendar with eras of 400 years (146,097 days) and years that
 * begin in March. */
ONCE u64 sonde_rt_ctime(struct sonde_slot* to, s64 seconds) {
    static const u8 names[] = "ThuFriSatSunMonTueWedJanFebMarAprMayJunJulAugSepOctNovDec";
    NEED(to);
    u8* slot = to->text;
    slot[0] = 0;
    if (seconds < -2147483648ll || seconds > 253402300799ll)
        return 0;
    u64 since = (u64)(seconds + 146097 * 86400ll); /* one era later, so that it is not negative */
    u64 days = since / 86400, clock = since % 86400;
    u64 z = days + 719468;
    u64 era = z / 146097, doe = z % 146097;
    u64 yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    u64 doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    u64 mp = (5 * doy + 2) / 153;
    u64 day = doy - (153 * mp + 2) / 5 + 1;
    u64 month = mp < 10 ? mp + 2 : mp - 10; /* 0: January */
    u64 year = yoe + era * 400 + (month < 2) - 400;
    u8* text = SCRATCH(slot);
    u64 weekday = days % 7 & 7, month_at = 21 + 3 * (month & 15);
    __asm__ volatile("" : "+r"(weekday), "+r"(month_at)); /* hides the numbers from the compiler; the verifier sees the masks */
    copy_bytes(text, 3, names + 3 * (weekday & 7));
    text[3] = ' ';
    copy_bytes(text + 4, 3, names + (month_at & 127));
    text[7] = ' ';
    put2(text, 8, day);
    if (day < 10)
        text[8] = ' ';
    text[10] = ' ';
    put2(text, 11, clock / 3600);
    text[13] = ':';
    put2(text, 14, clock / 60 % 60);
    text[16] = ':';
    put2(text, 17, clock % 60);
    text[19] = ' ';
    put2(text, 20, year / 100);
    put2(text, 22, year % 100);
    text[24] = 0;
    return sonde_rt_append(slot, 0, text);
}
