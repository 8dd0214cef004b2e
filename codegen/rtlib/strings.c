/* Strings. Parameters called `slot` are slots (rt.h); `src` is any memory that ends with a NUL.
 *
 * On BPF, a copy is a call of bpf_probe_read_kernel_str(), even from the handler's own memory. The helper stops at the
 * NUL, and the verifier needs to check only the constant size.
 *
 * Loops over characters are callbacks of bpf_loop(). Their state is a structure on the stack, of which the verifier
 * knows each field. If a counter begins with 0, the verifier would check the callback for 0, then for 1, and so on. So
 * counters begin with opaque(), which passes the 0 through map memory.
 *
 * Lengths are masked before they are used as offsets. In correct programs the mask changes nothing. It exists for the
 * verifier, which does not know that a string ends within MAXSTRINGLEN bytes. */
#include "rt.h"

/* Copies src and returns its length. */
RT u64 sonde_rt_copy(u8* slot, const u8* src) { return copy_bounded(slot, sonde_rt_max, src); }

/* Copies src, up to size bytes with the NUL. Returns the length. */
RT u64 sonde_rt_copy_short(u8* to, u32 size, const u8* src) { return copy_bounded(to, size, src); }

/* Appends src to the string of length len. Returns the new length. The result is truncated if it is too long. */
RT u64 sonde_rt_append(u8* slot, u64 len, const u8* src)
{
    len &= MASK;
    u64 n = copy_bounded(slot + len, sonde_rt_max, src);
    slot[MASK] = 0;
    return cut(len + n);
}

/* Fills the rest after the string with NULs, which makes a key of sonde_rt_max bytes. */
RT u64 sonde_rt_pad(u8* slot, u64 len)
{
    copy_bytes(slot + (len & MASK), sonde_rt_max, sonde_rt_zeros);
    return 0;
}

struct compare {
    const u8* a;
    const u8* b;
    s64 result;
};
static long compare_step(u64 i, struct compare* c)
{
    u8 x = c->a[i & MASK], y = c->b[i & MASK];
    if (x != y) {
        c->result = x < y ? -1 : 1;
        return 1;
    }
    return x == 0;
}
/* Compares like strcmp, up to sonde_rt_max bytes. */
RT s64 sonde_rt_compare_bytes(const u8* a, const u8* b)
{
    struct compare c = {a, b, 0};
    LOOP(sonde_rt_max, compare_step, &c);
    return c.result + (s64)unknown_zero(a[0]);
}
ONCE s64 sonde_rt_compare(struct sonde_slot* a, struct sonde_slot* b)
{
    NEED(a && b);
    return sonde_rt_compare_bytes(a->text, b->text);
}

/* `length` characters of src, beginning at `start`; empty if start is beyond the end. */
RT u64 sonde_rt_substr(u8* slot, const u8* src_slot, s64 start, s64 length, u64 src_len)
{
    slot[0] = 0;
    if (start < 0 || length <= 0 || (u64)start >= src_len)
        return 0;
    if (length > (s64)MASK)
        length = MASK;
    u32 size = (u32)masked((u64)length, MASK) + 1;
    return copy_bounded(slot, size, src_slot + masked((u64)start, MASK));
}

struct find {
    const u8* hay;
    const u8* needle;
    u64 matched; /* characters of the needle that match at `at` */
    u64 at;
    u64 found;
};
/* One comparison of two characters. If they differ, the search continues at the next position of the haystack, with the
 * needle's first character. */
static long find_step(u64 i, struct find* f)
{
    (void)i;
    u8 n = f->needle[f->matched & MASK];
    if (n == 0) {
        f->found = 1;
        return 1;
    }
    u8 h = f->hay[(f->at + f->matched) & (2 * sonde_rt_max - 1)];
    if (h == n) {
        f->matched++;
        return 0;
    }
    if (h == 0)
        return 1;
    f->at++;
    f->matched = 0;
    return f->at >= sonde_rt_max;
}
/* The position of the second string in the first one; -1 if it does not occur. Overwrites the scratch. */
ONCE s64 sonde_rt_strpos(struct sonde_slot* hay, struct sonde_slot* needle, struct sonde_slot* scratch)
{
    NEED(hay && needle && scratch);
    u64 zero = opaque(scratch, 0);
    struct find f = {hay->text, needle->text, zero, zero, 0};
    LOOP(PAIRS, find_step, &f);
    return f.found ? (s64)f.at : -1;
}

struct number {
    const u8* text;
    u64 at, value, base;
};
static long digit_step(u64 i, struct number* n)
{
    u8 c = n->text[(n->at + i) & MASK];
    u8 letter = c | 32;
    u64 digit = c >= '0' && c <= '9' ? c - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 99;
    if (digit >= n->base)
        return 1;
    n->value = n->value * n->base + digit;
    return 0;
}
/* Reads a number like the kernel (simple_strtol): no blanks and no plus before it, and no digits above f. Overwrites
 * the scratch. */
ONCE s64 sonde_rt_strtol(struct sonde_slot* src, s64 base, struct sonde_slot* scratch)
{
    NEED(src && scratch);
    const u8* slot = src->text;
    if (base != 0 && (base < 2 || base > 36))
        return 0;
    struct number n = {slot, opaque(scratch, 0), opaque(scratch, 0), 0};
    u8 sign = slot[0];
    u64 at = n.at + (sign == '-');
    u8 first = slot[at & MASK], second = slot[(at + 1) & MASK] | 32;
    u64 hex = first == '0' && second == 'x' && (base == 0 || base == 16);
    u64 radix = base ? (u64)base : hex ? 16 : first == '0' ? 8 : 10;
    n.at = at + 2 * hex;
    n.base = opaque(scratch, radix);
    LOOP(sonde_rt_max, digit_step, &n);
    return sign == '-' ? -(s64)n.value : (s64)n.value;
}

struct token {
    const u8* text;
    const u8* delim;
    u64 at, begin, end, state; /* state: 0 before the token, 1 in it */
    u64 d, hit;
};
static long delim_step(u64 i, struct token* t)
{
    u8 c = t->delim[i & MASK];
    if (c == 0)
        return 1;
    if (c == t->text[t->at & MASK]) {
        t->hit = 1;
        return 1;
    }
    return 0;
}
static long token_step(u64 i, struct token* t)
{
    (void)i;
    if (t->at >= MASK || t->text[t->at & MASK] == 0)
        return 1;
    t->hit = 0;
    LOOP(sonde_rt_max, delim_step, t);
    if (t->hit && t->state)
        return 1;
    if (!t->hit && !t->state) {
        t->state = 1;
        t->begin = t->at;
    }
    t->at++;
    return 0;
}
/* The next token of the text in `state`, from *position on. If the input is not empty, it replaces the text first. */
ONCE s64 sonde_rt_tokenize(struct sonde_slot* to, struct sonde_slot* state, u64* position, struct sonde_slot* input,
                           struct sonde_slot* delimiters)
{
    NEED(to && state && position && input && delimiters);
    u8 *slot = to->text, *text = state->text;
    if (input->text[0]) {
        copy_bounded(text, sonde_rt_max, input->text);
        *position = 0;
    }
    u64 zero = opaque(slot, 0), start = opaque(slot, *position);
    struct token t = {text, delimiters->text, start, zero, zero, zero, zero, zero};
    LOOP(sonde_rt_max, token_step, &t);
    slot[0] = 0;
    *position = t.at;
    if (!t.state)
        return 0;
    u32 size = (u32)((t.at - t.begin) & MASK) + 1;
    return (s64)copy_bounded(slot, size, text + (t.begin & MASK));
}

struct cells {
    u64 table;
    u64 found;
    const u8* text;
    u8 name[32];
};
static long name_step(u64 i, struct compare* c)
{
    u8 x = c->a[i & 31], y = c->b[i & MASK];
    c->result = x != y;
    return x != y || x == 0;
}
static long cell_step(u64 i, struct cells* c)
{
    copy_bytes(c->name, 32, (const u8*)(c->table + (i & MOST_CELLS) * 32));
    struct compare compare = {c->name, c->text, 0};
    LOOP(32, name_step, &compare);
    if (compare.result)
        return 0;
    c->found = i;
    return 1;
}
/* The index of the name among `count` cells of 32 bytes; -1 if it does not occur. The table is the address of the
 * cells. */
ONCE s64 sonde_rt_find_cell(u64 table, u64 count, struct sonde_slot* name)
{
    NEED(name);
    struct cells c = {table, (u64)-1, name->text, {0}};
    LOOP((u32)count & MOST_CELLS, cell_step, &c);
    return (s64)c.found;
}
