/* The identity of an array's key, a hash of 128 bits (runtime/plan/array_maps.h). C, because codegen/rtlib and the
 * runtime compute it.
 *
 * An identity begins with zeros. Each number of the key adds a word, which is the number's bytes without its sign. Each
 * string adds the words of 8 bytes up to the one with its NUL. Bytes after the NUL count as zeros, so they can have any
 * value. */
#ifndef SONDE_KEY_IDENTITY_H
#define SONDE_KEY_IDENTITY_H

#include "identity.h"

/* A number whose lowest bit belongs to the first NUL in the word. 0: the word has no NUL. */
static inline unsigned long long sonde_first_nul(unsigned long long word) {
    return (word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull;
}
/* The bytes of a word up to the NUL that sonde_first_nul() found, with the NUL itself. Without a branch, because the
 * verifier would follow both sides for each word. */
static inline unsigned long long sonde_up_to_nul(unsigned long long word, unsigned long long nul) {
    return word & (nul ^ (nul - 1));
}

#endif
