/* System calls of 32-bit programs: identifies the call, and stores its arguments where 64-bit programs have them.
 *
 * The problem: a script says `probe syscall.read { println(fd) }`, and means reads of all programs. But a 32-bit
 * program passes its arguments in other registers (on x86-64 ebx, ecx, edx, esi, edi, ebp), and its calls have other numbers.
 * Some old calls pass the address of an array with the arguments instead, and socketcall() and ipc() stand for many
 * calls, by their first argument.
 *
 * The idea: build the registers that a 64-bit program would have had for the same call. The handler then reads its
 * arguments from there. A table tells for each call which source belongs to each argument:
 *
 *     a register, zero-extended or sign-extended
 *     two registers that form a number of 64 bits
 *     a word of the array
 *     a 16-bit user id, of which 0xffff means -1
 *     a number of pages, which becomes bytes
 *
 * The compiler makes the table from the architecture's table of calls. */
#include "../../arch/host/calls_32.h"
#include "kernel_task.h"

static long (*const bpf_probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;

enum { WORDS = 8 }; /* largest number of words in an array, a power of 2 */
struct array {
    u64 address;
    u32 count; /* words; 0: the call has no array */
};

static u64 narrow_register(u64 regs, u64 at)
{
    u64 value = 0;
    bpf_probe_read_kernel(&value, sizeof value, (const void*)(regs + at));
    return (u32)value;
}

/* Returns the call's number in plans, and the array with its arguments. Returns -1 if the call does not exist. */
static s64 find_call(u64 regs, u64 number, struct array* array)
{
    enum { SEMCTL = 3, MSGRCV = 12, LAST_IPC = 24, LAST_SOCKET = 20 };
    /* Number of arguments by the first argument of socketcall() (net/socket.c, nargs). */
    static const u8 counts[32] = {0, 3, 3, 3, 2, 3, 3, 3, 4, 4, 4, 6, 6, 2, 5, 5, 3, 3, 4, 5, 4};
    array->count = 0;
    if (number != SONDE_CALL_OLD_SELECT && number != SONDE_CALL_OLD_MMAP && number != SONDE_CALL_SOCKETCALL &&
        number != SONDE_CALL_IPC)
        return (s64)number;
    u64 first = narrow_register(regs, SONDE_REGS_NARROW1);
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
        array->address = narrow_register(regs, SONDE_REGS_NARROW2);
        array->count = counts[first & 31];
        return (s64)(SONDE_INNER_SOCKETS + first);
    }
    u64 inner = first & 0xffff;
    if (inner == 0 || inner > LAST_IPC)
        return -1;
    array->address = narrow_register(regs, SONDE_REGS_NARROW5);
    if (inner == MSGRCV && first != inner)
        return SONDE_INNER_NEW_MSGRCV;
    array->count = inner == SEMCTL ? 1 : inner == MSGRCV ? 2 : 0;
    return (s64)(SONDE_INNER_IPC + inner);
}

/* Also returns -1 if the array cannot be read: the kernel refuses such a call before doing anything. */
static s64 read_call(u64 regs, u64 number, u32* words)
{
    struct array array = {0, 0};
    s64 call = find_call(regs, number, &array);
    if (call < 0 || !array.count)
        return call;
    return bpf_probe_read_user(words, sizeof *words * (array.count & (WORDS - 1)), (const void*)array.address) ? -1
                                                                                                               : call;
}

/* Returns the call's number minus SONDE_INNER_CALLS. */
RT s64 sonde_rt_inner_call(u64 regs, u64 number)
{
    u32 words[WORDS] = {0}; /* kernels up to 6.1 require initialized memory if the size is not constant */
    return read_call(regs, number, words) - SONDE_INNER_CALLS;
}

/* Returns the address where a struct pt_regs would begin whose part with the arguments is `out`. The address is a
 * number. The verifier would check the rest of the handler twice otherwise, once with a pointer and once without. */
static s64 registers_around(u64* out)
{
    u64 address = 0;
    bpf_probe_read_kernel(&address, sizeof address, &out);
    return (s64)(address - SONDE_CALL_REGISTERS);
}

/* The same for the arguments of a 64-bit program after the call, where the result overwrites one of them. */
RT s64 sonde_rt_kept_registers(u64 regs, u64* out)
{
    static const unsigned short kept[8] = {SONDE_WIDE_ARGUMENTS};
    static const u8 wide[8] = {SONDE_CALL_ARGUMENTS};
    for (int i = 0; i < 6; i++)
        bpf_probe_read_kernel(&out[wide[i]], sizeof *out, (const void*)(regs + kept[i]));
    return registers_around(out);
}

/* Fills `out`, which has the layout of a part of the 64-bit struct pt_regs. Returns the address where that structure
 * would begin. `tables`: the sizes of each call's arguments, by its number in plans. */
RT s64 sonde_rt_call_registers(u64 regs, u64 number, const u64* tables, u64* out)
{
    static const unsigned short narrow[8] = {SONDE_NARROW_ARGUMENTS};
    static const u8 wide[8] = {SONDE_CALL_ARGUMENTS};
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
    return registers_around(out);
}
