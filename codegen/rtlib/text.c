/* Strings for people, and strings composed of strings. Parameters are as in strings.c.
 *
 * The verifier follows both sides of each branch. A loop over the characters of a string, with ten cases for each,
 * would be too complex for it. So sonde_rt_text() decides with arithmetic: a condition is 0 or 1 (below()), and a
 * selection is a multiplication or a mask. For example, either(c, a, b) is `b ^ ((a ^ b) & -c)`.
 *
 * Each step writes ten bytes, the longest form of a character, and moves on by the length of the form that is right.
 * The next character overwrites the rest.
 *
 * UTF-8 is decoded in the same way: the number of a character is computed for two, three and four bytes at once, and
 * the right one is selected. */
#include "rt.h"

u64 sonde_rt_append_long(struct sonde_slot* to, u64 len, s64 value, u64 spec);

struct text {
    u8* dst;
    const u8* src;
    u64 len, limit; /* limit: bytes of the result without the closing quote */
    u64 safe;       /* length that can remain if the rest does not fit; leaves room for `"...` */
    u64 count, options, cut;
    u64 at; /* index in src */
};
/* One character: `size` bytes, and its code point in hexadecimal with 4 digits, or with 8 if it is `large`. Bytes
 * that are not UTF-8 are characters of their own without digits. */
struct character {
    u64 size, large, many; /* many: it has several bytes */
    u64 digits;            /* the first digit is in the highest 4 of 32 bits */
};
/* Decodes a character without branches (see below()). `rest`: the number of bytes. */
static inline struct character character_at(const u8* src, u64 rest) {
    u64 a = src[0], b = src[1] ^ 0x80, c = src[2] ^ 0x80,
        d = src[3] ^ 0x80; /* continuation bytes then have only 6 bits set */
    u64 b_follows = below(b, 64), c_follows = b_follows & below(c, 64), d_follows = c_follows & below(d, 64);
    u64 two_number = (a & 0x1f) << 6 | (b & 63), three_number = (a & 15) << 12 | (b & 63) << 6 | (c & 63);
    u64 four_number = (a & 7) << 18 | (b & 63) << 12 | (c & 63) << 6 | (d & 63);
    /* Rejects forms that are longer than necessary, surrogates, and numbers above 10FFFF (RFC 3629). */
    u64 two = b_follows & below((a - 0xc2) & 0xff, 0x1e) & below(1, rest);
    u64 three = c_follows & below(a ^ 0xe0, 16) & below(0x7ff, three_number) &
                (1 - below((three_number - 0xd800) & 0xffff, 0x800)) & below(2, rest);
    u64 four = d_follows & below(a ^ 0xf0, 8) & below((four_number - 0x10000) & 0xffffffff, 0x100000) & below(3, rest);
    struct character out = {1 + two + 2 * three + 3 * four, four, two | three | four,
                            (two_number << 16 & (0 - two)) | (three_number << 16 & (0 - three)) |
                                (four_number & (0 - four))};
    return out;
}
/* The digit at this position. Masked, because the verifier of 6.1 does not recognize that the rest of the number is
 * within the table. */
static inline u8 digit_at(u64 digits, u64 shift) {
    static const u8 hexadecimal[16] = "0123456789ABCDEF";
    return hexadecimal[masked(digits >> shift, 15)];
}
static inline u8 either(u64 first, u8 a, u8 b) { return b ^ ((a ^ b) & (u8)(0 - first)); }
/* Appends one character: as itself, as a letter after a backslash, as three octal digits, or if it has several bytes
 * as \uXXXX or \UXXXXXXXX. There is only one branch, for the last iteration, because the verifier follows both sides
 * of each branch. */
static long text_step(u64 i, struct text* t) {
    (void)i;
    u64 at = t->at;
    const u8* from = t->src + (at & MASK);
    u8 c = from[0], letter = escape(c);
    u64 exact = t->options >> 1 & 1, len = t->len;
    u64 escaped = below(0, letter), plain = below((u8)(c - 0x20), 0x5f) & ~escaped;
    u64 inside = below(at, t->count);
    struct character one = character_at(from, (t->count - at) & (0 - inside));
    u64 next = len + 4 - 3 * plain - 2 * escaped + 2 * one.many + 4 * one.large;
    u64 ends = below(c, 1) & ~exact, beyond = 1 - inside, full = below(t->limit, next);
    t->safe ^= (t->safe ^ len) & (0 - below(len + 2, t->limit));
    if (ends | beyond | full) {
        t->cut = (1 - ends) & (1 - (beyond & exact));
        return 1;
    }
    /* The next character overwrites bytes that are not needed. */
    u8 *out = t->dst + (len & MASK), digit = '0' + (c >> 6);
    out[0] = either(plain, c, '\\');
    out[1] = either(one.many, either(one.large, 'U', 'u'), either(escaped, letter, digit));
    out[2] = either(one.many, digit_at(one.digits, 28), '0' + ((c >> 3) & 7));
    out[3] = either(one.many, digit_at(one.digits, 24), '0' + (c & 7));
    out[4] = digit_at(one.digits, 20);
    out[5] = digit_at(one.digits, 16);
    out[6] = digit_at(one.digits, 12);
    out[7] = digit_at(one.digits, 8);
    out[8] = digit_at(one.digits, 4);
    out[9] = digit_at(one.digits, 0);
    t->len = next;
    t->at = at + one.size;
    return 0;
}
/* Escapes `count` bytes of src as in C, up to `most` characters. options: 1 adds double quotes, and dots after them
 * if the text is cut (then `most` is at least 5); 2 treats NULs like other characters. */
ONCE u64 sonde_rt_text(struct sonde_slot* to, struct sonde_slot* src, u64 count, s64 most, u64 options) {
    NEED(to && src);
    u8* slot = to->text;
    u64 quoted = options & 1;
    u64 least = quoted ? 5 : 0;
    u64 limit = most < 0 || (u64)most > MASK ? MASK : (u64)most < least ? least : (u64)most;
    u64 begin = opaque(slot, quoted);
    /* If the verifier meets this loop within another loop, it would assume that the numbers it knows are the only
     * ones. Seen with a count of 0 in 6.18: it removed the body as dead code. */
    limit = opaque(slot, limit - quoted) + quoted;
    count = opaque(slot, count > MASK ? MASK : count);
    u64 first = opaque(slot, 0);
    struct text t = {slot, src->text, begin, limit - quoted, begin, count, options, 0, first};
    if (quoted)
        slot[0] = '"';
    LOOP(sonde_rt_max, text_step, &t);
    u64 len = opaque(SCRATCH(slot), t.len), cut = opaque(SCRATCH(slot), t.cut);
    if (quoted) {
        /* If the quote and the dots do not fit, go back to where they do. */
        len ^= (len ^ t.safe) & (0 - (cut & below(limit, len + 4)));
        u8 *end = slot + (len & MASK), dot = '.' & (0 - cut);
        end[0] = '"';
        end[1] = end[2] = end[3] = dot;
        len += 1 + 3 * cut;
    }
    slot[len & MASK] = 0;
    return len;
}

struct replace {
    u8* dst;
    const u8* src;
    const u8* search;
    const u8* with;
    u64 at, matched, len;
};
static long replace_step(u64 i, struct replace* r) {
    (void)i;
    u8 want = r->search[r->matched & MASK];
    if (want == 0) {
        u64 len = r->len & MASK;
        len += copy_bounded(r->dst + len, sonde_rt_max, r->with);
        r->len = len > MASK ? MASK : len;
        r->at += r->matched;
        r->matched = 0;
        return r->len >= MASK;
    }
    u8 c = r->src[(r->at + r->matched) & MASK];
    if (c == want) {
        r->matched++;
        return 0;
    }
    c = r->src[r->at & MASK];
    if (c == 0 || r->len >= MASK)
        return 1;
    r->dst[r->len & MASK] = c;
    r->len++;
    r->at++;
    r->matched = 0;
    return 0;
}
/* Replaces each `search` in src, from the left. An empty `search` does not occur. */
ONCE s64 sonde_rt_str_replace(struct sonde_slot* to, struct sonde_slot* src, struct sonde_slot* search,
                              struct sonde_slot* with) {
    NEED(to && src && search && with);
    u8* slot = to->text;
    if (search->text[0] == 0)
        return (s64)copy_bounded(slot, sonde_rt_max, src->text);
    /* Each is opaque by itself: the verifier would expect copies of one value to remain equal. */
    struct replace r = {slot, src->text, search->text, with->text, opaque(slot, 0), opaque(slot, 0), opaque(slot, 0)};
    LOOP(PAIRS, replace_step, &r);
    slot[r.len & MASK] = 0;
    return (s64)r.len;
}

struct flags {
    u8* dst;
    u64 table;
    u64 len, left; /* left: bits that have no name yet */
};
struct flag_cell {
    u8 name[32];
    u64 bits;
};
/* Appends "|" unless this is the first name. */
static u64 separated(struct flags* f) {
    u64 len = f->len & MASK;
    f->dst[len] = '|';
    return (len + (len != 0)) & MASK;
}
static long flag_step(u64 i, struct flags* f) {
    struct flag_cell cell;
    copy_bytes((u8*)&cell, sizeof cell, (const u8*)(f->table + (i & MOST_CELLS) * sizeof cell));
    if ((f->left & cell.bits) != cell.bits)
        return 0;
    f->left &= ~cell.bits;
    u64 len = separated(f);
    f->len = cut(len + copy_bounded(f->dst + len, 32, cell.name));
    return 0;
}
/* Appends the names of a value's bits to the `len` characters in the slot, separated by "|", in the table's order.
 * Remaining bits are appended as a number. The table is the address of `count` flag cells. */
ONCE u64 sonde_rt_flags(struct sonde_slot* to, u64 len, u64 table, u64 count, u64 value) {
    NEED(to);
    u8* slot = to->text;
    struct flags f = {slot, table, len & MASK, opaque(slot + MASK + 1, value)};
    LOOP((u32)count & MOST_CELLS, flag_step, &f);
    if (f.left)
        f.len = sonde_rt_append_long(to, separated(&f), (s64)f.left, 'x' | '#' << 8);
    slot[f.len & MASK] = 0;
    return f.len;
}
