/* Finds a return address by executing the end of a function in software. */
#pragma once

/* Interprets one instruction of code that runs straight to a `ret`. `back_at` is where the return address is saved; 0:
 * it is in the link register. Example: `ldp x29, x30, [sp], #32; ret`. */
static long leave_by(u64 i, struct sonde_machine** at) {
    (void)i;
    enum { PAIR = 31 << 5 | 30 << 10 | 29, LINK = 31 << 5 | 30 }; /* x29, x30 and sp; x30 and sp */
    struct sonde_machine* m = *at;
    u32 one = *(const u32*)((const u8*)m->code + masked(m->code_at, 28));
    u64 adjustment = (u64)(one >> 10 & 0xfff) << (one >> 22 & 1 ? 12 : 0);
    s64 of_pair = (s64)((s32)(one << 10) >> 25) * 8, of_one = (s32)(one << 11) >> 23;
    u32 pair = one & 0xffc07fff, link = one & 0xffe00fff;
    if (m->code_at > 28)
        return 1;
    m->code_at += 4;
    m->leaves = one == 0xd65f03c0 || one == 0xd65f0bff || one == 0xd65f0fff; /* ret, retaa, retab */
    if (m->leaves)
        return 1;
    if (pair == (0xa8c00000 | PAIR)) { /* ldp x29, x30, [sp], #n */
        m->kept = m->cfa;
        m->back_at = m->cfa + 8;
        m->cfa += (u64)of_pair;
    } else if (pair == (0xa9400000 | PAIR)) { /* ldp x29, x30, [sp, #n] */
        m->kept = m->cfa + (u64)of_pair;
        m->back_at = m->kept + 8;
    } else if (link == (0xf8400400 | LINK)) { /* ldr x30, [sp], #n */
        m->back_at = m->cfa;
        m->cfa += (u64)of_one;
    } else if ((one & 0xffc003ff) == (0xf9400000 | LINK)) { /* ldr x30, [sp, #n] */
        m->back_at = m->cfa + 8 * (u64)(one >> 10 & 0xfff);
    } else if ((one & 0xff8003ff) == 0x910003ff) { /* add sp, sp, #n */
        m->cfa += adjustment;
    } else if ((one & 0xff8003ff) == 0x910003bf) { /* add sp, x29, #n; mov sp, x29 */
        m->cfa = m->own_fp + adjustment;
    } else if ((one & 0xff8003ff) == 0xd10003bf) { /* sub sp, x29, #n */
        m->cfa = m->own_fp - adjustment;
    } else if ((one & 0xffc003e0) == 0xa94003e0 && (one & 31) < 29 && (one >> 10 & 31) < 29) {
        return 0; /* ldp of other registers from [sp, #n] */
    } else if ((one & 0xffc003e0) == 0xf94003e0 && (one & 31) < 29) {
        return 0; /* ldr of one of them */
    } else {
        return (one & 0xfffff01f) != 0xd503201f; /* hints, such as nop and autiasp */
    }
    return 0;
}
