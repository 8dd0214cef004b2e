/* Reads a text of Python (an object of the type `str`) as UTF-8.
 *
 * Python stores all characters of a text with the same width: 1, 2 or 4 bytes, as the largest character needs
 * (PEP 393). They follow the object's head, whose size depends on whether the text is ASCII. Only this compact form is
 * supported: names, files, literals and results of Python's own functions have it.
 *
 * All state is in struct python_text, in map memory, so the verifier checks the loop once. */
#pragma once

#include "rt.h"

#include "../../runtime/plan/python.h"

enum {
    PYTHON_TEXT = 256, /* bytes of the result, with its NUL */
    /* The first read of an object is larger than most texts. It fails if it reaches memory that is not mapped; then the
     * second one is as small as the smallest object. */
    PYTHON_FIRST_READ = 256,
    PYTHON_SMALLEST_TEXT = 48,
    PYTHON_HEAD_MOST = 127,
    PYTHON_OBJECT = 512, /* more than head and characters, and a power of two */
};
struct python_text {
    u64 object[PYTHON_OBJECT / 8 + 1]; /* head and characters */
    u64 data;                          /* offset of the characters in `object` */
    u64 width, is_ascii;               /* bytes of a character */
    u64 all, first, count;             /* the text's characters; those that were read */
    u64 len;                           /* of `utf8`, without the NUL */
    u8 utf8[PYTHON_TEXT + 8];
};
enum { PYTHON_FROM_END = -1 };

/* Reads the head and the characters of the text at `address`, of which the first one is `first`; PYTHON_FROM_END: the
 * last ones that fit. `type` is the address of PyUnicode_Type in the process. Returns 0 if there is no such text, or if
 * its memory cannot be read. */
u64 sonde_rt_read_python_text(struct python_text* t, const struct sonde_python* layout, u64 type, u64 address,
                              s64 first);
/* Converts the characters that were read to UTF-8, with a NUL at the end. */
u64 sonde_rt_convert_python_text(struct python_text* t);

static inline long read_python(void* to, u32 size, u64 address) {
    static long (*const probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;
    return probe_read_user(to, size, (const void*)address);
}
