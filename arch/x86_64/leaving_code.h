/* Finds a return address by executing the end of a function in software. */
#pragma once

/* Interprets one instruction of code that runs straight to a `ret`, which shows where the return address is. This is
 * exact for return addresses in code without tables. Example: `add $8,%rsp; ret` in the code of `python3 -X perf`. */
static long leave_by(u64 i, struct sonde_machine** at) {
    (void)i;
    struct sonde_machine* m = *at;
    const u8* code = (const u8*)m->code + masked(m->code_at, 15);
    u64 word = m->word, wide = code[0] == 0x48 && word == 8;
    u32 three = (wide ? 0 : code[0]) | (u32)code[1] << 8 | (u32)code[2] << 16;
    s64 byte = (signed char)code[3];
    if (m->code_at > 15)
        return 1;
    m->leaves = code[0] == 0xc3 || (code[0] == 0xf3 && code[1] == 0xc3);
    if (m->leaves)
        return 1;
    if ((code[0] & 0xf8) == 0x58 && code[0] != 0x5c) { /* pop */
        m->kept = code[0] == 0x5d ? m->cfa : m->kept;
        m->cfa += word;
        m->code_at += 1;
    } else if (code[0] == 0x41 && word == 8 && (code[1] & 0xf8) == 0x58) { /* pop of r8 to r15 */
        m->cfa += 8;
        m->code_at += 2;
    } else if (code[0] == 0xc9) { /* leave */
        m->kept = m->own_fp;
        m->cfa = m->own_fp + word;
        m->code_at += 1;
    } else if (code[0] == 0x90) { /* nop */
        m->code_at += 1;
    } else if (three == 0xc48300) { /* add $byte,%rsp */
        m->cfa += (u64)byte;
        m->code_at += 4;
    } else if (three == 0xc48100) { /* add $long,%rsp */
        m->cfa += (u64)(s64)(s32)(code[3] | (u32)code[4] << 8 | (u32)code[5] << 16 | (u32)code[6] << 24);
        m->code_at += 7;
    } else if (three == 0x658d00) { /* lea byte(%rbp),%rsp */
        m->cfa = m->own_fp + (u64)byte;
        m->code_at += 4;
    } else if (three == 0xec8900 || three == 0xe58b00) { /* mov %rbp,%rsp */
        m->cfa = m->own_fp;
        m->code_at += 3;
    } else {
        return 1;
    }
    return 0;
}
