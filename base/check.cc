// A failed CHECK ends the process immediately, so that a wrong state cannot lead to wrong programs in the kernel.
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
