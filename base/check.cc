// A failed CHECK ends the process at once: state that broke an invariant must not go on to load programs.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sonde {

void check_failed(const char* file, int line, const char* what) {
    std::fprintf(stderr, "sonde: internal error at %s:%d: %s\n", file, line, what);
    std::fflush(stderr);
    std::abort();
}

} // namespace sonde
