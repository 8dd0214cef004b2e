/* The language runtimes whose functions stacks show (language_runtimes.def).
 * C, because codegen/rtlib includes it. */
#ifndef SONDE_LANGUAGE_RUNTIMES_H
#define SONDE_LANGUAGE_RUNTIMES_H

enum sonde_language {
#define LANGUAGE_RUNTIME(id, ...) SONDE_LANGUAGE_##id,
#include "language_runtimes.def"
#undef LANGUAGE_RUNTIME
    SONDE_LANGUAGES,
};
enum { SONDE_INTERPRETERS_MOST = 16 }; /* interpreters of each language in one session */

#endif
