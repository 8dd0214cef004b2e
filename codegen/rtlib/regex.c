/* Matches regular expressions (base/regex.h explains the operations). The state is in map memory, whose contents the
 * verifier does not track, so it checks one step instead of all.
 *
 * Each step is one call of a function by bpf_loop(). It reads one byte of the string, or begins one operation:
 *
 *     NEXT_OP          begin_op(): do an operation, or start an automaton for it
 *     READ_BACKWARD    step_backward(): one byte towards the beginning
 *     READ_FORWARD     step_forward(): one byte towards the end
 *
 * For a concatenation such as `(a+)(b?c)`, the backward automaton first marks all places from which the second part
 * matches up to the end. The forward automaton then reads the first part, and remembers the last marked place at which
 * it accepts. This is where the two groups meet.
 *
 * A cell of the table has the number of the next state, and two flags: whether that state accepts inside of a string
 * and at its edge. So a step needs one load from the table. */
#include "regex.h"
#include "rt.h"

enum { SEARCH, TRY, DONE, MARK, UNSET, AFTER, BEFORE, JUMP, IF_EMPTY, UNLESS, SPLIT, LAST };
enum { NEXT_OP, READ_BACKWARD, READ_FORWARD };

#define STATE 0x3fff
#define INSIDE 0x4000
#define EDGE 0x8000
#define STEPS (1 << 23) /* the limit of bpf_loop() */

u64 sonde_rt_copy(u8* slot, const u8* src);

static inline u64 next_cell(const struct sonde_regex* regex, u64 cell, u8 c)
{
    u64 i = ((cell & STATE) * regex->width + regex->classes[c]) & regex->table_mask;
    return ((const unsigned short*)((const u8*)regex + regex->table_at))[i];
}

struct test {
    const u8* text;
    const struct sonde_regex* regex;
    volatile struct sonde_regex_test* s;
};
static long test_step(u64 i, struct test* t)
{
    (void)i;
    u64 cell = t->s->cell, at = t->s->at;
    u8 c = t->text[at & MASK];
    if (cell & (c ? INSIDE : EDGE)) {
        t->s->found = 1;
        return 1;
    }
    if (c != 0 && (cell & STATE) != 0) {
        t->s->cell = next_cell(t->regex, cell, c);
        t->s->at = at + 1;
        return 0;
    }
    u64 start = t->s->start;
    if (!t->regex->everywhere || t->text[start & MASK] == 0)
        return 1;
    t->s->start = start + 1;
    t->s->at = start + 1;
    t->s->cell = t->regex->test.inside;
    return 0;
}
/* Returns 1 if the string has a match. */
RT s64 sonde_rt_regex_test(const u8* slot, const struct sonde_regex* regex, struct sonde_regex_test* s)
{
    struct test t = {slot, regex, s};
    t.s->cell = regex->test.edge;
    t.s->at = 0;
    t.s->start = 0;
    t.s->found = 0;
    LOOP(STEPS, test_step, &t);
    return (s64)t.s->found;
}

struct match {
    struct sonde_regex_state* s;
    const struct sonde_regex* regex;
};
static inline u8* text_of(struct sonde_regex_state* s) { return (u8*)(s + 1); }
static inline u8* marks_of(struct sonde_regex_state* s) { return (u8*)(s + 1) + 2 * sonde_rt_max; }
static inline u32* register_of(struct sonde_regex_state* s, u64 i)
{
    return &s->registers[i & (SONDE_REGEX_REGISTERS - 1)];
}
static inline const struct sonde_regex_op* op_of(const struct match* m)
{
    const struct sonde_regex_op* ops = (const struct sonde_regex_op*)(m->regex + 1);
    return &ops[m->s->op & m->regex->op_mask];
}

static inline void read_forward(struct sonde_regex_state* s, const struct sonde_regex_op* op, u64 start)
{
    s->doing = READ_FORWARD;
    s->start = start;
    s->at = start;
    s->stop = *register_of(s, op->to);
    s->best = SONDE_REGEX_NONE;
    s->cell = start == 0 ? op->forward.edge : op->forward.inside;
}

static inline long begin_op(struct match* m)
{
    struct sonde_regex_state* s = m->s;
    const struct sonde_regex_op* op = op_of(m);
    u32 from = *register_of(s, op->from), to = *register_of(s, op->to);
    u64 next = s->op + 1;
    u32 out = op->out & (SONDE_REGEX_GROUPS - 1);
    switch (op->code) {
    case DONE:
        s->matched = 1;
        return 1;
    case MARK:
        s->begin[out] = from;
        s->end[out] = to;
        break;
    case UNSET:
        s->begin[out] = SONDE_REGEX_NONE;
        break;
    case AFTER:
        *register_of(s, op->out) = from + op->target;
        break;
    case BEFORE:
        *register_of(s, op->out) = to - op->target;
        break;
    case JUMP:
        next = op->target;
        break;
    case IF_EMPTY:
        if (from == to)
            next = op->target;
        break;
    case TRY:
    case UNLESS:
        read_forward(s, op, from);
        return 0;
    default:
        if (op->code == LAST && from == to) { /* only one place is possible, or none */
            *register_of(s, op->out) = from;
            read_forward(s, op, from);
            return 0;
        }
        s->doing = READ_BACKWARD;
        s->at = to;
        s->stop = from;
        s->best = SONDE_REGEX_NONE;
        s->cell = to == s->length ? op->backward.edge : op->backward.inside;
        return 0;
    }
    s->op = next;
    return 0;
}

/* Marks the places from which the text that was read after them matches. */
static inline long step_backward(struct match* m)
{
    struct sonde_regex_state* s = m->s;
    u64 at = s->at, cell = s->cell;
    u64 accepts = cell & (at == 0 ? EDGE : INSIDE);
    marks_of(s)[at & MASK] = accepts != 0;
    if (accepts)
        s->best = at;
    if (at != s->stop && (cell & STATE) != 0) {
        at--;
        s->cell = next_cell(m->regex, cell, text_of(s)[at & MASK]);
        s->at = at;
        return 0;
    }
    s->low = at;
    const struct sonde_regex_op* op = op_of(m);
    u64 start = *register_of(s, op->from);
    if (op->code == SEARCH) {
        if (s->best == SONDE_REGEX_NONE)
            return 1;
        start = s->best;
    }
    read_forward(s, op, start);
    return 0;
}

static inline long step_forward(struct match* m)
{
    struct sonde_regex_state* s = m->s;
    u64 at = s->at, cell = s->cell;
    const struct sonde_regex_op* op = op_of(m);
    u64 code = op->code;
    if (code == LAST && s->start == s->stop)
        code = UNLESS;
    if (cell & (at == s->length ? EDGE : INSIDE)) {
        int fits = 1;
        if (code == UNLESS)
            fits = at == s->stop;
        else if (code != SEARCH && code != TRY)
            fits = at >= s->low && marks_of(s)[at & MASK] && (code == SPLIT || at != s->start);
        if (fits)
            s->best = at;
    }
    if (at != s->stop && (cell & STATE) != 0) {
        s->cell = next_cell(m->regex, cell, text_of(s)[at & MASK]);
        s->at = at + 1;
        return 0;
    }
    if (code == TRY && s->best == SONDE_REGEX_NONE) {
        if (s->start == s->stop)
            return 1;
        read_forward(s, op, s->start + 1);
        return 0;
    }
    s->doing = NEXT_OP;
    if (s->best == SONDE_REGEX_NONE) {
        s->op = op->target;
        return 0;
    }
    if (code == SEARCH || code == TRY) {
        s->registers[0] = (u32)s->start;
        s->registers[1] = (u32)s->best;
    } else if (code == SPLIT) {
        *register_of(s, op->out) = (u32)s->best;
    } else if (code == LAST) {
        if (s->best != s->stop) {
            read_forward(s, op, s->best);
            return 0;
        }
        *register_of(s, op->out) = (u32)s->start;
    }
    s->op = s->op + 1;
    return 0;
}

static long match_step(u64 i, struct match* m)
{
    (void)i;
    if (m->s->doing == NEXT_OP)
        return begin_op(m);
    return m->s->doing == READ_BACKWARD ? step_backward(m) : step_forward(m);
}

/* Returns 1 if src has a match, and stores its position in the state. */
RT s64 sonde_rt_regex_match(struct sonde_regex_state* s, const u8* src, const struct sonde_regex* regex)
{
    s->length = sonde_rt_copy(text_of(s), src);
    s->matched = 0;
    s->groups = regex->groups;
    s->op = 0;
    s->doing = NEXT_OP;
    s->registers[0] = 0;
    s->registers[1] = (u32)s->length;
    static const u32 none[SONDE_REGEX_GROUPS] = {[0 ... SONDE_REGEX_GROUPS - 1] = SONDE_REGEX_NONE};
    copy_bytes((u8*)s->begin, sizeof none, (const u8*)none);
    struct match m = {s, regex};
    LOOP(STEPS, match_step, &m);
    return (s64)s->matched;
}

/* Copies the text that group n has matched, and returns its length. */
RT u64 sonde_rt_regex_group(u8* slot, struct sonde_regex_state* s, u64 n)
{
    slot[0] = 0;
    n = masked(n, SONDE_REGEX_GROUPS - 1);
    u64 begin = s->begin[n], end = s->end[n];
    if (begin >= end || end > MASK)
        return 0;
    return copy_bounded(slot, (u32)((end - begin) & MASK) + 1, text_of(s) + (begin & MASK));
}
