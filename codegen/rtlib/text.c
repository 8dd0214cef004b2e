/* Strings for people, and strings made of strings. Parameters as in strings.c. */
#include "rt.h"

u64 sonde_rt_append_long(u8* slot, u64 len, s64 value, u64 spec);

struct text {
    u8* dst;
    const u8* src;
    u64 len, limit; /* limit: bytes of the result without the quote that closes it */
    u64 safe;       /* what can stay if the rest does not fit: behind it is room for `"...` */
    u64 count, options, cut;
};
static long text_step(u64 i, struct text* t)
{
    u8 c = t->src[i & MASK];
    u64 exact = t->options & 2;
    if (c == 0 && !exact)
        return 1;
    if (i >= t->count) {
        t->cut = !exact;
        return 1;
    }
    u8 escaped = escape(c);
    u64 plain = !escaped && c >= 0x20 && c < 0x7f;
    u64 len = t->len, next = len + (plain ? 1 : escaped ? 2 : 4);
    if (len + 4 <= t->limit + 1)
        t->safe = len;
    if (next > t->limit) {
        t->cut = 1;
        if (t->options & 1)
            t->len = t->safe;
        return 1;
    }
    t->len = next;
    u8* dst = t->dst;
    dst[len & MASK] = plain ? c : '\\';
    if (escaped) {
        dst[(len + 1) & MASK] = escaped;
    } else if (!plain) {
        dst[(len + 1) & MASK] = '0' + (c >> 6);
        dst[(len + 2) & MASK] = '0' + ((c >> 3) & 7);
        dst[(len + 3) & MASK] = '0' + (c & 7);
    }
    return 0;
}
/* `count` characters of src with C's escapes, as at most `most` characters. options: 1 in double quotes, with "..." behind them
 * if there would be more (then `most` is 5 at least); 2 NULs are characters like any other. */
RT u64 sonde_rt_text(u8* slot, const u8* src_slot, u64 count, s64 most, u64 options)
{
    u64 quoted = options & 1;
    u64 least = quoted ? 5 : 0;
    u64 limit = most < 0 || (u64)most > MASK ? MASK : (u64)most < least ? least : (u64)most;
    u64 begin = opaque(slot, quoted);
    /* Numbers that it thinks it knows would be taken for the only ones by a verifier that meets the loop inside a loop
     * again (seen with a count of 0 in 6.18: the body was removed as dead). */
    limit = opaque(slot, limit - quoted) + quoted;
    count = opaque(slot, count);
    struct text t = {slot, src_slot, begin, limit - quoted, begin, count, options, 0};
    if (quoted)
        slot[0] = '"';
    LOOP(sonde_rt_max, text_step, &t);
    u64 len = t.len;
    if (quoted) {
        /* All characters were taken, and the string goes on. */
        if (t.cut && len + 4 > limit)
            len = t.safe;
        slot[len & MASK] = '"';
        len++;
        for (int i = 0; t.cut && i < 3; i++) {
            slot[len & MASK] = '.';
            len++;
        }
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
static long replace_step(u64 i, struct replace* r)
{
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
/* src with each `search` replaced, from the left; an empty one is nowhere. */
RT s64 sonde_rt_str_replace(u8* slot, const u8* src_slot, const u8* search_slot, const u8* with_slot)
{
    if (search_slot[0] == 0)
        return (s64)copy_bounded(slot, sonde_rt_max, src_slot);
    /* Each unknown for itself: as copies of one value, the verifier would expect them to stay equal. */
    struct replace r = {slot, src_slot, search_slot, with_slot, opaque(slot, 0), opaque(slot, 0), opaque(slot, 0)};
    LOOP(PAIRS, replace_step, &r);
    slot[r.len & MASK] = 0;
    return (s64)r.len;
}

struct flags {
    u8* dst;
    const u8* table;
    u64 len, left, rest; /* left: bits from the first that has a name on; rest: those without one */
};
/* The | before the next, unless it is the first. */
static u64 separated(struct flags* f)
{
    u64 len = f->len & MASK;
    f->dst[len] = '|';
    return (len + (len != 0)) & MASK;
}
static long flag_step(u64 i, struct flags* f)
{
    u8 name[32];
    if (!(f->left >> (i & 63) & 1))
        return 0;
    copy_bytes(name, 32, f->table + (i & 63) * 32);
    if (name[0] == 0) {
        f->rest |= 1ull << (i & 63);
        return 0;
    }
    u64 len = separated(f);
    f->len = cut(len + copy_bounded(f->dst + len, 32, name));
    return 0;
}
/* Appends to the `len` characters of the slot the names of a value's bits, with | between them, and the others as a number. `shape`:
 * how many names the table has, in cells of 32 bytes, and << 8 the bit of the first one. */
RT u64 sonde_rt_flags(u8* slot, u64 len, const u8* table, u64 shape, u64 value)
{
    u64 first = shape >> 8 & 63, count = shape & 63;
    u64 left = opaque(slot + MASK + 1, value >> first);
    struct flags f = {slot, table, len & MASK, left, count ? left >> count << count : left};
    f.rest = opaque(slot + MASK + 1, f.rest);
    LOOP((u32)count, flag_step, &f);
    u64 rest = f.rest << first | (value & ((1ull << first) - 1));
    if (rest)
        f.len = sonde_rt_append_long(slot, separated(&f), (s64)rest, 'x' | '#' << 8);
    slot[f.len & MASK] = 0;
    return f.len;
}
