/* Seals of strings among the values that functions' entries save (codegen/bpf/entry_values.cc). */
#include "saved.h"
#include "rt.h"

struct seal {
    const u8* text;
    u64 sum;
};
enum { WORDS = 4 }; /* of an iteration; a string that has fewer words begins again */
static long add_words(u64 i, struct seal* s)
{
#pragma clang loop unroll(full)
    for (u64 k = 0; k < WORDS; k++)
        s->sum = (s->sum + *(const u64*)(s->text + (8 * (WORDS * i + k) & (sonde_rt_max - 8)))) * SONDE_SEAL_FACTOR;
    return 0;
}

/* Adds all bytes of a string's memory to a seal. */
RT u64 sonde_rt_seal_text(u64 sum, const u8* text)
{
    struct seal s = {text, sum};
    LOOP((sonde_rt_max + 8 * WORDS - 1) / (8 * WORDS), add_words, &s);
    return s.sum;
}

/* Copies all bytes of a string's memory. */
RT u64 sonde_rt_take_text(u8* to, const u8* text)
{
    copy_bytes(to, sonde_rt_max, text);
    return 0;
}
