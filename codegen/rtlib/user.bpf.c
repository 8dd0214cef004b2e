/* Reads and writes user memory. A read first tries the fast helper. If the page is not in memory, it uses the one
 * that can wait.
 *
 * Only a sleepable program may wait. `wait` is a constant at each call, so other programs do not contain the waiting
 * read. All routines accept addresses with a tag (sonde_whole_address()). */
#include "../../arch/host/pt_regs.h"
#include "rt.h"

enum { SONDE_WIDE_OK, SONDE_WIDE_FAULT, SONDE_WIDE_INVALID };

static long (*const bpf_probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;
static long (*const bpf_probe_read_user_str)(void* dst, u32 size, const void* address) = (void*)114;
static long (*const bpf_probe_write_user)(void* address, const void* src, u32 size) = (void*)36;
static long (*const bpf_copy_from_user)(void* dst, u32 size, const void* address) = (void*)148;
/* 6.12, "bpf: Add bpf_copy_from_user_str kfunc". Without it, such a string is an error that `try` can catch. */
extern int bpf_copy_from_user_str(void* dst, u32 dst__sz, const void* unsafe_ptr__ign, u64 flags) __attribute__((section(".ksyms"), weak));

/* Returns a number other than 0 on a fault. size is 1, 2, 4 or 8. */
RT s64 sonde_rt_read_user(u8* dst, u32 size, u64 address, u64 wait)
{
    address = sonde_whole_address(address);
    size &= 15;
    if (size == 0 || size > 8)
        return 1;
    if (bpf_probe_read_user(dst, size, (const void*)address) == 0)
        return 0;
    if (!wait)
        return 1;
    return bpf_copy_from_user(dst, size, (const void*)address) != 0;
}

/* Reads size bytes (at most MAXSTRINGLEN - 1) into a slot and adds a NUL. Returns a number other than 0 on a fault. */
RT s64 sonde_rt_read_user_block(u8* slot, u64 size, u64 address, u64 wait)
{
    address = sonde_whole_address(address);
    u32 bound = (u32)masked(size, MASK);
    slot[bound] = 0;
    if ((s64)address < 0) /* a kernel address */
        return bpf_probe_read_kernel(slot, bound, (const void*)address) != 0;
    if (bpf_probe_read_user(slot, bound, (const void*)address) == 0)
        return 0;
    if (!wait)
        return 1;
    return bpf_copy_from_user(slot, bound, (const void*)address) != 0;
}

/* Reads at most size bytes with the NUL. On a fault, returns a negative number and an empty string. */
RT s64 sonde_rt_read_user_string(u8* slot, u64 size, u64 address, u64 wait)
{
    address = sonde_whole_address(address);
    slot[0] = 0;
    u32 bound = (u32)masked(size - 1, MASK) + 1;
    long n = bpf_probe_read_user_str(slot, bound, (const void*)address);
    if (n < 0 && wait && bpf_copy_from_user_str)
        n = bpf_copy_from_user_str(slot, bound, (const void*)address, 0);
    return n;
}

/* The same for kernel memory. Addresses in the user's half are read as user memory, because kernel structures can
 * point there, too. */
RT s64 sonde_rt_read_kernel_string(u8* slot, u64 size, u64 address)
{
    address = sonde_whole_address(address);
    slot[0] = 0;
    u32 bound = (u32)masked(size - 1, MASK) + 1;
    if ((s64)address < 0)
        return bpf_probe_read_kernel_str(slot, bound, (const void*)address);
    return bpf_probe_read_user_str(slot, bound, (const void*)address);
}

struct wide {
    u8* dst;
    u64 address, len, width;
    u64 high; /* the first half of a surrogate pair, or 0 */
    u64 status;
};
enum { READ_USER, READ_USER_WAIT, READ_KERNEL };
/* Inlined: the verifier rejects a function that may sleep if any caller must not sleep. */
static inline __attribute__((always_inline)) long wide_unit(u64 i, struct wide* w, int how)
{
    u64 unit = 0;
    u64 address = w->address + i * w->width;
    u32 size = (u32)w->width & 7;
    long fault = how == READ_KERNEL ? bpf_probe_read_kernel(&unit, size, (const void*)address)
                                    : bpf_probe_read_user(&unit, size, (const void*)address);
    if (fault && (how != READ_USER_WAIT || bpf_copy_from_user(&unit, size, (const void*)address) != 0)) {
        w->status = SONDE_WIDE_FAULT;
        return 1;
    }
    u64 high = w->high;
    u64 is_low = unit >= 0xdc00 && unit < 0xe000, is_high = unit >= 0xd800 && unit < 0xdc00;
    /* A surrogate pair must have both halves, in order. */
    if ((high != 0) != is_low || unit > 0x10ffff || (is_high && w->width == 4)) {
        w->status = SONDE_WIDE_INVALID;
        return 1;
    }
    if (unit == 0)
        return 1;
    if (is_high) {
        w->high = unit;
        return 0;
    }
    if (is_low)
        unit = 0x10000 + ((high & 0x3ff) << 10) + (unit & 0x3ff);
    w->high = 0;
    u64 size8 = unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit < 0x10000 ? 3 : 4;
    u64 len = w->len;
    if (len + size8 > MASK)
        return 1;
    u8* dst = w->dst;
    if (size8 == 1) {
        dst[len & MASK] = unit;
    } else if (size8 == 2) {
        dst[len & MASK] = 0xc0 | unit >> 6;
        dst[(len + 1) & MASK] = 0x80 | (unit & 63);
    } else if (size8 == 3) {
        dst[len & MASK] = 0xe0 | unit >> 12;
        dst[(len + 1) & MASK] = 0x80 | ((unit >> 6) & 63);
        dst[(len + 2) & MASK] = 0x80 | (unit & 63);
    } else {
        dst[len & MASK] = 0xf0 | unit >> 18;
        dst[(len + 1) & MASK] = 0x80 | ((unit >> 12) & 63);
        dst[(len + 2) & MASK] = 0x80 | ((unit >> 6) & 63);
        dst[(len + 3) & MASK] = 0x80 | (unit & 63);
    }
    w->len = len + size8;
    return 0;
}
static long wide_step(u64 i, struct wide* w) { return wide_unit(i, w, READ_USER); }
static long wide_step_wait(u64 i, struct wide* w) { return wide_unit(i, w, READ_USER_WAIT); }
static long wide_step_kernel(u64 i, struct wide* w) { return wide_unit(i, w, READ_KERNEL); }
/* Reads a string with units of 2 or 4 bytes (UTF-16, UTF-32) as UTF-8, truncated if it is too long. Returns a
 * SONDE_WIDE value. */
RT s64 sonde_rt_read_user_wide(u8* slot, u64 width, u64 address, u64 wait)
{
    address = sonde_whole_address(address);
    struct wide w = {slot, address, opaque(slot, 0), width, opaque(slot, 0), SONDE_WIDE_OK};
    if (wait)
        LOOP(sonde_rt_max, wide_step_wait, &w);
    else
        LOOP(sonde_rt_max, wide_step, &w);
    slot[w.len & MASK] = 0;
    return (s64)w.status;
}

/* Returns a number other than 0 on a fault. size is 1, 2, 4 or 8. */
RT s64 sonde_rt_write_user(const u8* src, u32 size, u64 address)
{
    address = sonde_whole_address(address);
    size &= 15;
    if (size == 0 || size > 8 || (s64)address < 0)
        return 1;
    return bpf_probe_write_user((void*)address, src, size) != 0;
}

/* Writes size bytes of a slot, at most MAXSTRINGLEN. A size of 0 succeeds. */
RT s64 sonde_rt_write_user_block(const u8* slot, u64 size, u64 address)
{
    address = sonde_whole_address(address);
    if (size == 0)
        return 0;
    u32 bound = (u32)masked(size - 1, MASK) + 1;
    if ((s64)address < 0)
        return 1;
    return bpf_probe_write_user((void*)address, slot, bound) != 0;
}

/* The same for kernel memory. */
ONCE s64 sonde_rt_read_kernel_wide(struct sonde_slot* to, u64 width, u64 address)
{
    NEED(to);
    u8* slot = to->text;
    struct wide w = {slot, address, opaque(slot, 0), width, opaque(slot, 0), SONDE_WIDE_OK};
    LOOP(sonde_rt_max, wide_step_kernel, &w);
    slot[w.len & MASK] = 0;
    return (s64)w.status;
}
