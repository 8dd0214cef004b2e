// CHECK: an invariant of sonde. If it fails, sonde has a bug: CHECK prints the place and aborts.
#pragma once

namespace sonde {
[[noreturn]] void check_failed(const char* file, int line, const char* what);
}

#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (!(cond)) [[unlikely]]                                                                                      \
            ::sonde::check_failed(__FILE__, __LINE__, #cond);                                                          \
    } while (0)
#define UNREACHABLE(what) ::sonde::check_failed(__FILE__, __LINE__, "unreachable: " what)
