/* Strings word by word: their lengths, and keys of arrays whose maps have identities as keys
 * (runtime/plan/array_maps.h).
 *
 * Most strings are short, so their first words are handled without a loop, each with its own way out. The rest is a
 * callback of bpf_loop(), which handles as many words at once. Texts are in memory of sonde_rt_max bytes, a multiple of
 * WORDS, and aligned to 8 bytes. */
#include "rt.h"

#include "../../runtime/plan/key_identity.h"

enum { WORDS = 4 };
/* The number of groups of words after the first one, and one of them, at an offset that the verifier can check. */
#define MORE_GROUPS (sonde_rt_max / (8 * WORDS) - 1)
static inline const u64* later_words(const u8* text, u64 i) {
    return (const u64*)(text + masked(8 * WORDS * (i + 1), MASK & ~(8u * WORDS - 1)));
}

struct measuring {
    const u8* text;
    u64 length;
};
/* If the string ends in these words, stores the offset of its NUL and returns 1. */
static inline long find_nul(const u64* words, u64* at) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const u64 nul = sonde_first_nul(words[i]);
        if (nul) {
            *at = 8 * i + (u64)__builtin_ctzll(nul) / 8;
            return 1;
        }
    }
    return 0;
}
static long find_later_nul(u64 i, struct measuring* m) {
    u64 at = 0;
    if (!find_nul(later_words(m->text, i), &at))
        return 0;
    m->length = 8 * WORDS * (i + 1) + at;
    return 1;
}
/* The length of a string. For a short one, this takes less time than a copy. */
RT u64 sonde_rt_length(const u8* text) {
    struct measuring m = {text, 0};
    if (!find_nul((const u64*)text, &m.length))
        LOOP(MORE_GROUPS, find_later_nul, &m);
    return m.length & MASK;
}

/* Adds a number to the identity of a key. */
RT u64 sonde_rt_identify_number(struct sonde_identity* to, u64 number) {
    sonde_identify(to, number);
    return 0;
}

struct identifying_text {
    const u8* text;
    struct sonde_identity identity;
};
/* Returns 1 if the string ends in these words. */
static inline long add_words(struct sonde_identity* to, const u64* words) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const u64 nul = sonde_first_nul(words[i]);
        sonde_identify(to, sonde_up_to_nul(words[i], nul));
        if (nul)
            return 1;
    }
    return 0;
}
static long add_later_words(u64 i, struct identifying_text* d) {
    return add_words(&d->identity, later_words(d->text, i));
}
/* Adds a string to the identity of a key. */
RT u64 sonde_rt_identify_string(struct sonde_identity* to, const u8* text) {
    struct identifying_text d = {text, *to};
    if (!add_words(&d.identity, (const u64*)text))
        LOOP(MORE_GROUPS, add_later_words, &d);
    *to = d.identity;
    return 0;
}

struct comparing_texts {
    const u8 *one, *other;
    u64 differs;
};
/* Returns 1 if the strings differ in these words, or end in them. */
static inline long compare_words(const u64* one, const u64* other, u64* differs) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const u64 nul = sonde_first_nul(one[i]);
        *differs = sonde_up_to_nul(one[i] ^ other[i], nul);
        if (*differs | nul)
            return 1;
    }
    return 0;
}
static long compare_later_words(u64 i, struct comparing_texts* c) {
    return compare_words(later_words(c->one, i), later_words(c->other, i), &c->differs);
}
/* Returns 0 if the strings are equal. */
RT u64 sonde_rt_strings_differ(const u8* one, const u8* other) {
    struct comparing_texts c = {one, other, 0};
    if (!compare_words((const u64*)one, (const u64*)other, &c.differs))
        LOOP(MORE_GROUPS, compare_later_words, &c);
    return c.differs;
}

struct padding {
    u8* text;
    u64 keep; /* all bits, until the NUL was seen; then none */
};
static long pad_word(u64 i, struct padding* p) {
    u64* at = (u64*)(p->text + masked(8 * i, MASK & ~7u));
    const u64 word = *at & p->keep, nul = sonde_first_nul(word);
    *at = sonde_up_to_nul(word, nul);
    p->keep = nul ? 0 : p->keep;
    return 0;
}
/* Overwrites the bytes after the string's NUL with NULs. */
RT u64 sonde_rt_pad_string(u8* text) {
    struct padding p = {text, ~0ull};
    LOOP(sonde_rt_max / 8, pad_word, &p);
    return 0;
}
/* Zeroes memory before a key: `size` bytes, a constant. */
RT u64 sonde_rt_zero(u8* to, u32 size) {
    copy_bytes(to, size, sonde_rt_zeros);
    return 0;
}
