// Common code of the C and C++ programs. Built with -DTRUTH, they print each call with its parameters and each return
// with its value, as sonde does with $$parms$$ and $$return$$; otherwise they print nothing. The volatile `sink` keeps
// the compiler from leaving out calls that have no other effect.
#pragma once
#include <stdbool.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE __attribute__((always_inline))
#define COLD __attribute__((cold))
#define UNPACK(...) __VA_ARGS__

#ifdef TRUTH
#define ENTER(name, parameters, ...)                                                                                   \
    const char* const name_ = name;                                                                                    \
    printf("call\t%s\t" parameters "\n", name_, ##__VA_ARGS__)
#define RETURN(type, format, printed, ...)                                                                             \
    do {                                                                                                               \
        type result_ = __VA_ARGS__;                                                                                    \
        printf("return\t%s\treturn=" format "\n", name_, UNPACK printed);                                              \
        return result_;                                                                                                \
    } while (0)
#define LEAVE()                                                                                                        \
    do {                                                                                                               \
        printf("return\t%s\t\n", name_);                                                                               \
        return;                                                                                                        \
    } while (0)
#define TAIL(...)                                                                                                      \
    do {                                                                                                               \
        __VA_ARGS__;                                                                                                   \
        printf("return\t%s\t\n", name_);                                                                               \
        return;                                                                                                        \
    } while (0)
#else
#define ENTER(...) ((void)0)
#define RETURN(type, format, printed, ...) return __VA_ARGS__
#define LEAVE() return
#define TAIL(...) return __VA_ARGS__
#endif

static volatile long sink;
static volatile int zero;

static inline ALWAYS_INLINE int opaque(int value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

static inline ALWAYS_INLINE void escape(volatile void* address) { __asm__ volatile("" : : "r"(address) : "memory"); }
