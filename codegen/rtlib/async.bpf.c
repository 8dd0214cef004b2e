/* Follows a chain of futures or coroutines by its table (runtime/plan/async_states.h).
 *
 * Each call of step() does one thing: it handles the object, or it looks at one place or variant of a search. All state
 * is in map memory, so the verifier checks one step instead of all. */
#include "../../arch/host/pt_regs.h"
#include "../../runtime/plan/async_states.h"
#include "rt.h"

#define INLINE static inline __attribute__((always_inline))
#define OUTLINE __attribute__((noinline))
/* Enough for the longest chain that is printed, with a search for each of its objects. */
enum { ASYNC_STEPS = 1 << 16 };
enum { NO_SEARCH, FIND_PLACE, FIND_VARIANT };

static long (*const probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;
static long (*const copy_from_user)(void* dst, u32 size, const void* address) = (void*)148;

struct async_walk {
    u8* slot;
    volatile struct sonde_async_work* w;
    const struct sonde_async_states* s;
};

/* Two functions, because the verifier rejects a function that may wait in programs that must not. */
static OUTLINE long get_now(void* to, u32 size, u64 address) {
    return probe_read_user(to, size, (const void*)sonde_whole_address(address)) != 0;
}
static OUTLINE long get_wait(void* to, u32 size, u64 address) {
    address = sonde_whole_address(address);
    if (probe_read_user(to, size, (const void*)address) == 0)
        return 0;
    return copy_from_user(to, size, (const void*)address) != 0;
}

INLINE u64 word(const struct async_walk* c, u64 i) { return c->s->words[masked(i, c->s->mask)]; }

INLINE u8 digit(u64 value) {
    static const u8 digits[16] = "0123456789abcdef";
    return digits[value & 15];
}

/* Appends the number of a line. */
INLINE void add_line(struct async_walk* c, u64 line) {
    u64 length = c->w->length;
    u8* to = c->slot + masked(length, MASK);
    if (line == 0)
        return;
    to[0] = digit(line >> 12);
    to[1] = digit(line >> 8);
    to[2] = digit(line >> 4);
    to[3] = digit(line);
    c->w->length = length + SONDE_ASYNC_DIGITS;
    c->w->lines = c->w->lines + 1;
}

INLINE long end(struct async_walk* c, u64 line) {
    add_line(c, line);
    c->w->ended = 1;
    return 1;
}

/* Ends with a line and a number. */
static OUTLINE long end_with(struct async_walk* c, u64 line, u64 number) {
    u64 length = 0;
    end(c, line);
    length = c->w->length;
    u8* to = c->slot + masked(length, MASK);
    to[0] = '@';
    for (int i = 0; i < 16; i++)
        to[1 + i] = digit(number >> (60 - 4 * i));
    c->w->length = length + 17;
    return 1;
}

/* Reads w->word. */
#define GET(size, address)                                                                                             \
    do {                                                                                                               \
        u64 address_ = (address);                                                                                      \
        w->word[0] = w->word[1] = 0;                                                                                   \
        if (wait ? get_wait((void*)w->word, size, address_) : get_now((void*)w->word, size, address_))                 \
            return end_with(c, s->ends.fault, address_);                                                               \
    } while (0)

/* Goes on with the object at `at`. */
INLINE long go_on(struct async_walk* c, u64 line, u64 at, u64 row) {
    volatile struct sonde_async_work* w = c->w;
    add_line(c, line);
    w->searching = NO_SEARCH;
    w->at = at;
    w->row = row;
    if (row == 0)
        return end(c, 0);
    if (w->lines >= SONDE_ASYNC_MOST || w->length + 64 > sonde_rt_max)
        return end(c, c->s->ends.deep);
    return 0;
}

static OUTLINE long find_place(struct async_walk* c) {
    volatile struct sonde_async_work* w = c->w;
    const struct sonde_async_states* s = c->s;
    u64 low = w->low, high = w->high;
    if (low >= high)
        return end_with(c, w->missing, w->wanted + w->moved);
    u64 middle = (low + high) / 2, place = word(c, s->first_place + 2 * middle);
    if (place == w->wanted)
        return go_on(c, 0, w->at, word(c, s->first_place + 2 * middle + 1));
    if (place < w->wanted)
        w->low = middle + 1;
    else
        w->high = middle;
    return 0;
}

INLINE void search_place(struct async_walk* c, u64 address, u64 missing) {
    c->w->searching = FIND_PLACE;
    c->w->low = 0;
    c->w->high = c->s->places;
    c->w->wanted = address - c->w->moved;
    c->w->missing = missing;
}

static OUTLINE long find_variant(struct async_walk* c) {
    volatile struct sonde_async_work* w = c->w;
    u64 row = w->row, i = w->low, variant = row + 7 + 4 * i;
    if (i < word(c, row + 3)) {
        w->low = i + 1;
        if (word(c, variant) != w->wanted)
            return 0;
        return go_on(c, word(c, variant + 1), w->at + word(c, variant + 2), word(c, variant + 3));
    }
    if (word(c, row + 4) == 0)
        return end_with(c, c->s->ends.tag, w->wanted);
    return go_on(c, word(c, row + 4), w->at + word(c, row + 5), word(c, row + 6));
}

/* An object that was met before begins a cycle: the chain has no end. */
static OUTLINE long note_object(struct async_walk* c) {
    volatile struct sonde_async_work* w = c->w;
    if (w->seen_row == w->row && w->seen_at == w->at)
        return 1;
    w->steps = w->steps + 1;
    if (w->steps == w->limit) {
        w->steps = 0;
        w->limit = w->limit * 2;
        w->seen_row = w->row;
        w->seen_at = w->at;
    }
    return 0;
}

INLINE long step(struct async_walk* c, int wait) {
    volatile struct sonde_async_work* w = c->w;
    const struct sonde_async_states* s = c->s;
    if (w->searching == FIND_PLACE)
        return find_place(c);
    if (w->searching == FIND_VARIANT)
        return find_variant(c);
    u64 row = w->row, at = w->at;
    if (note_object(c))
        return end(c, s->ends.cycle);
    switch (word(c, row)) {
    case SONDE_ASYNC_RECORD:
        return go_on(c, word(c, row + 1), at + word(c, row + 2), word(c, row + 3));
    case SONDE_ASYNC_POINTER:
        GET(8, at);
        if (w->word[0] == 0)
            return end(c, word(c, row + 1));
        return go_on(c, 0, w->word[0], word(c, row + 2));
    case SONDE_ASYNC_DYN: {
        GET(8, at + word(c, row + 1));
        u64 object = w->word[0];
        GET(8, at + word(c, row + 2));
        w->at = object;
        search_place(c, w->word[0], s->ends.table);
        return 0;
    }
    case SONDE_ASYNC_TAGGED: {
        GET((u32)word(c, row + 2) & 15, at + word(c, row + 1));
        w->searching = FIND_VARIANT;
        w->low = 0;
        w->wanted = w->word[0];
        return 0;
    }
    case SONDE_ASYNC_FRAME:
        GET(16, at); /* resume and destroy; a finished coroutine has only the second one */
        search_place(c, w->word[1], s->ends.frame);
        return 0;
    case SONDE_ASYNC_COROUTINE: {
        GET(8, at);
        u64 resume = w->word[0], line = word(c, row + 6);
        if (resume != 0) {
            GET((u32)word(c, row + 2) & 15, at + word(c, row + 1));
            u64 place = w->word[0];
            line = place < word(c, row + 3) ? word(c, row + 4) + place : word(c, row + 5);
        }
        return go_on(c, line, at + word(c, row + 7), word(c, row + 8));
    }
    default:
        return end(c, word(c, row + 1));
    }
}
static long step_wait(u64 i, struct async_walk* c) {
    (void)i;
    return step(c, 1);
}
static long step_now(u64 i, struct async_walk* c) {
    (void)i;
    return step(c, 0);
}

/* Writes the numbers of the chain's lines to the slot, after `<` if the chain leads inward, otherwise after `>`. */
RT u64 sonde_rt_async_walk(u8* slot, struct sonde_async_work* work, const struct sonde_async_states* states, u64 wait) {
    struct async_walk c = {slot, work, states};
    work->lines = work->ended = work->searching = work->steps = 0;
    work->seen_row = work->seen_at = 0;
    work->limit = 1;
    slot[0] = states->inward ? '<' : '>';
    work->length = 1;
    if (wait)
        LOOP(ASYNC_STEPS, step_wait, &c);
    else
        LOOP(ASYNC_STEPS, step_now, &c);
    if (!c.w->ended)
        end(&c, states->ends.deep);
    slot[masked(c.w->length, MASK)] = 0;
    return 0;
}
