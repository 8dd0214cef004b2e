/* System calls of 32-bit programs: which one it is, and its arguments where a 64-bit program has them. */
#include "../../runtime/calls_32.h"
#include "kernel_task.h"

static long (*const bpf_probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;

enum { WORDS = 8 }; /* at most in an array, a power of 2 */
struct array {
    u64 address;
    u32 count; /* words; 0: the call has none */
};

static u64 narrow_register(u64 regs, u64 at)
{
    u64 value = 0;
    bpf_probe_read_kernel(&value, sizeof value, (const void*)(regs + at));
    return (u32)value;
}

/* The call's number in plans, and its array; -1 if there is no such call. */
static s64 find_call(u64 regs, u64 number, struct array* array)
{
    enum { SEMCTL = 3, MSGRCV = 12, LAST_IPC = 24, LAST_SOCKET = 20 };
    /* Arguments by the number of socketcall(): net/socket.c, nargs. */
    static const u8 counts[32] = {0, 3, 3, 3, 2, 3, 3, 3, 4, 4, 4, 6, 6, 2, 5, 5, 3, 3, 4, 5, 4};
    array->count = 0;
    if (number != SONDE_CALL_OLD_SELECT && number != SONDE_CALL_OLD_MMAP && number != SONDE_CALL_SOCKETCALL &&
        number != SONDE_CALL_IPC)
        return (s64)number;
    u64 first = narrow_register(regs, SONDE_REGS_BX);
    array->address = first;
    if (number == SONDE_CALL_OLD_SELECT) {
        array->count = 5;
        return SONDE_INNER_SELECT;
    }
    if (number == SONDE_CALL_OLD_MMAP) {
        array->count = 6;
        return SONDE_INNER_MMAP;
    }
    if (number == SONDE_CALL_SOCKETCALL) {
        if (first == 0 || first > LAST_SOCKET)
            return -1;
        array->address = narrow_register(regs, SONDE_REGS_CX);
        array->count = counts[first & 31];
        return (s64)(SONDE_INNER_SOCKETS + first);
    }
    u64 inner = first & 0xffff;
    if (inner == 0 || inner > LAST_IPC)
        return -1;
    array->address = narrow_register(regs, SONDE_REGS_DI);
    if (inner == MSGRCV && first != inner)
        return SONDE_INNER_NEW_MSGRCV;
    array->count = inner == SEMCTL ? 1 : inner == MSGRCV ? 2 : 0;
    return (s64)(SONDE_INNER_IPC + inner);
}

/* -1 too where the array cannot be read: the kernel refuses such a call before it does anything. */
static s64 read_call(u64 regs, u64 number, u32* words)
{
    struct array array = {0, 0};
    s64 call = find_call(regs, number, &array);
    if (call < 0 || !array.count)
        return call;
    return bpf_probe_read_user(words, sizeof *words * (array.count & (WORDS - 1)), (const void*)array.address) ? -1
                                                                                                               : call;
}

/* From SONDE_INNER_CALLS on. */
RT s64 sonde_rt_inner_call(u64 regs, u64 number)
{
    u32 words[WORDS] = {0}; /* kernels up to 6.1 want all of it set where the size is not known */
    return read_call(regs, number, words) - SONDE_INNER_CALLS;
}

/* Fills `out`, which has what struct pt_regs of 64 bits has from r10 to rdi; gives where that structure would begin.
 * `tables`: the bytes of each call's arguments, by its number in plans. */
RT s64 sonde_rt_call_registers(u64 regs, u64 number, const u64* tables, u64* out)
{
    static const u8 narrow[8] = {SONDE_REGS_BX, SONDE_REGS_CX, SONDE_REGS_DX,
                                 SONDE_REGS_SI, SONDE_REGS_DI, SONDE_REGS_BP};
    enum { WORD = 8, FIRST = SONDE_REGS_R10 };
    static const u8 wide[8] = {(SONDE_REGS_DI - FIRST) / WORD, (SONDE_REGS_SI - FIRST) / WORD,
                               (SONDE_REGS_DX - FIRST) / WORD, (SONDE_REGS_R10 - FIRST) / WORD,
                               (SONDE_REGS_R8 - FIRST) / WORD, (SONDE_REGS_R9 - FIRST) / WORD};
    u32 words[WORDS] = {0};
    u64 values[8] = {0};
    u64 call = (u64)read_call(regs, number, words);
    u64 sources = call < SONDE_INNER_CALLS + SONDE_INNER_COUNT ? tables[call & 1023] : 0;
    for (int i = 0; i < 6; i++)
        values[i] = narrow_register(regs, narrow[i]);
    for (int i = 0; i < 6; i++) {
        u64 source = sources >> 8 * i, place = source & 7, value = values[place];
        switch (source & SONDE_ARGUMENT_MASK) {
        case SONDE_ARGUMENT_SIGNED:
            value = (u64)(s64)(s32)value;
            break;
        case SONDE_ARGUMENT_ID:
            value = (value & 0xffff) == 0xffff ? ~0ull : value & 0xffff;
            break;
        case SONDE_ARGUMENT_PAGES:
            value <<= 12;
            break;
        case SONDE_ARGUMENT_PAIR:
            value |= values[(place + 1) & 7] << 32;
            break;
        case SONDE_ARGUMENT_WORD:
            value = words[place];
            break;
        case SONDE_ARGUMENT_SIGNED_WORD:
            value = (u64)(s64)(s32)words[place];
            break;
        case SONDE_ARGUMENT_NOWHERE:
            value = 0;
        }
        out[wide[i]] = value;
    }
    /* As a number: the verifier would go both ways through all of the handler, one with a pointer and one without. */
    u64* self = out;
    u64 address = 0;
    bpf_probe_read_kernel(&address, sizeof address, &self);
    return (s64)(address - FIRST);
}
