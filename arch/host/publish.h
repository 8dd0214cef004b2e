/* Stores a word after all earlier stores, as other processors see it. For code that BPF programs share. */
#pragma once

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define PUBLISH(place, value)                                                                                          \
    ((void)__sync_lock_test_and_set(place, value)) /* BPF's atomic operations are full barriers */
#else
#define PUBLISH(place, value) ((void)(*(volatile __typeof__(*(place))*)(place) = (value))) /* stores stay in order */
#endif
