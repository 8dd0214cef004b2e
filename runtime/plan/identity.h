/* Hashes that identify stacks and frames. C, because codegen/rtlib and the runtime compute them. */
#ifndef SONDE_IDENTITY_H
#define SONDE_IDENTITY_H

/* A hash of 128 bits. */
struct sonde_identity {
    unsigned long long word[2];
};
/* Two independent hashes of the same words, which begin with zeros. Different stacks have equal hashes for one of 2^128
 * pairs. The words include kernel addresses, so an attacker cannot choose stacks with equal hashes. Strings can be
 * chosen, so they are compared, too (runtime/plan/array_maps.h). */
static inline unsigned long long sonde_mix(unsigned long long sum, unsigned long long word, unsigned long long factor) {
    sum = (sum ^ word) * factor;
    return sum ^ sum >> 32;
}
/* Adds a word to the identity. It begins with zeros. */
static inline void sonde_identify(struct sonde_identity* to, unsigned long long word) {
    to->word[0] = sonde_mix(to->word[0], word, 0xff51afd7ed558ccdull);
    to->word[1] = sonde_mix(to->word[1] + word, 0, 0x9e3779b97f4a7c15ull);
}

#endif
