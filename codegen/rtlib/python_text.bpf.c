/* Reads texts of Python. See python.h. */
#include "python.h"

/* Appends a character. Python decodes the bytes of file names that are not UTF-8 to the characters from U+DC80 on
 * (PEP 383). They become these bytes again. */
static long add_python_character(u64 i, struct python_text** of) {
    struct python_text* t = *of;
    struct __attribute__((packed)) unaligned_u32 {
        u32 value;
    };
    const u8* from = (const u8*)t->object + masked(t->data + i * t->width, PYTHON_OBJECT - 1);
    u64 c = ((const struct unaligned_u32*)from)->value & 0xffffffffull >> (32 - 8 * (t->width & 7));
    u64 len = t->len & (PYTHON_TEXT - 1);
    u8* to = t->utf8 + len;
    if (len + 4 >= PYTHON_TEXT)
        return 1;
    if (c < 0x80 || (c >= 0xdc80 && c <= 0xdcff)) {
        to[0] = (u8)c;
        len += 1;
    } else if (c < 0x800) {
        to[0] = (u8)(0xc0 | c >> 6);
        to[1] = (u8)(0x80 | (c & 0x3f));
        len += 2;
    } else if (c < 0x10000) {
        to[0] = (u8)(0xe0 | c >> 12);
        to[1] = (u8)(0x80 | (c >> 6 & 0x3f));
        to[2] = (u8)(0x80 | (c & 0x3f));
        len += 3;
    } else {
        to[0] = (u8)(0xf0 | (c >> 18 & 7));
        to[1] = (u8)(0x80 | (c >> 12 & 0x3f));
        to[2] = (u8)(0x80 | (c >> 6 & 0x3f));
        to[3] = (u8)(0x80 | (c & 0x3f));
        len += 4;
    }
    t->len = len;
    return 0;
}

RT u64 sonde_rt_read_python_text(struct python_text* t, const struct sonde_python* layout, u64 type, u64 address,
                                 s64 first) {
    u64 got = PYTHON_FIRST_READ;
    t->len = t->count = 0;
    t->utf8[0] = 0;
    if (read_python(t->object, PYTHON_FIRST_READ, address) != 0) {
        got = PYTHON_SMALLEST_TEXT;
        if (read_python(t->object, PYTHON_SMALLEST_TEXT, address) != 0)
            return 0;
    }
    u64 state = t->object[SONDE_PYTHON_TEXT_STATE / 8], width = state >> 2 & 7;
    if (t->object[SONDE_PYTHON_TYPE / 8] != type || !(state >> 5 & 1) || (width != 1 && width != 2 && width != 4))
        return 0;
    t->is_ascii = state >> 6 & 1;
    t->width = width;
    t->data = t->is_ascii ? layout->text_data : layout->text_wide;
    t->all = t->object[SONDE_PYTHON_SIZE / 8];
    /* As many characters as UTF-8 can have in the result, less a reserve for the largest one. */
    u64 most = t->is_ascii ? PYTHON_TEXT - 1 : width == 1 ? 125 : width == 2 ? 83 : 62;
    u64 left = first<0 ? t->all : t->all>(u64) first ? t->all - (u64)first : 0;
    t->count = left < most ? left : most;
    t->first = first < 0 ? t->all - t->count : (u64)first;
    u64 data = masked(t->data, PYTHON_HEAD_MOST), bytes = masked(t->count * width, PYTHON_TEXT - 1);
    if ((t->first || data + bytes > got) &&
        read_python((u8*)t->object + data, (u32)bytes, address + data + t->first * width) != 0)
        return 0;
    return 1;
}
RT u64 sonde_rt_convert_python_text(struct python_text* t) {
    t->len = 0;
    if (t->is_ascii) {
        t->len = t->count & (PYTHON_TEXT - 1);
        copy_bytes(t->utf8, PYTHON_TEXT, (const u8*)t->object + masked(t->data, PYTHON_HEAD_MOST));
    } else {
        LOOP((u32)t->count, add_python_character, &t); /* a context must be on the stack */
    }
    t->utf8[t->len & (PYTHON_TEXT - 1)] = 0;
    return 0;
}
