/* Reading user memory in sleepable programs: the fast read first, and where the page is not in memory the one that can wait for it. */
#include "rt.h"

static long (*const bpf_probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;
static long (*const bpf_probe_read_user_str)(void* dst, u32 size, const void* address) = (void*)114;
static long (*const bpf_copy_from_user)(void* dst, u32 size, const void* address) = (void*)148;
/* 6.12, "bpf: Add bpf_copy_from_user_str kfunc"; without it such a string is an error that can be caught. */
extern int bpf_copy_from_user_str(void* dst, u32 dst__sz, const void* unsafe_ptr__ign, u64 flags) __attribute__((section(".ksyms"), weak));

/* Nonzero on a fault. size is 1, 2, 4 or 8. */
RT s64 sonde_rt_read_user(u8* dst, u32 size, u64 address)
{
    size &= 15;
    if (size == 0 || size > 8)
        return 1;
    if (bpf_probe_read_user(dst, size, (const void*)address) == 0)
        return 0;
    return bpf_copy_from_user(dst, size, (const void*)address) != 0;
}

/* size bytes, at most MAXSTRINGLEN - 1, into a slot, and a NUL behind them; nonzero on a fault. */
RT s64 sonde_rt_read_user_block(u8* slot, u64 size, u64 address)
{
    u32 bound = (u32)size & MASK;
    slot[bound] = 0;
    if (bpf_probe_read_user(slot, bound, (const void*)address) == 0)
        return 0;
    return bpf_copy_from_user(slot, bound, (const void*)address) != 0;
}

/* At most size bytes with the NUL; negative on a fault, and the string is empty then. */
RT s64 sonde_rt_read_user_string(u8* slot, u64 size, u64 address)
{
    slot[0] = 0;
    u32 bound = ((u32)(size - 1) & MASK) + 1;
    long n = bpf_probe_read_user_str(slot, bound, (const void*)address);
    if (n < 0 && bpf_copy_from_user_str)
        n = bpf_copy_from_user_str(slot, bound, (const void*)address, 0);
    return n;
}
