/* Copies the stack at a hit, and the memory to which it points, for the session (runtime/plan/copied_memory.h).
 *
 * The verifier must not follow every path through every iteration. So all state is in the copy itself, which is map
 * memory, and every index is masked. */
#include "../../runtime/plan/copied_memory.h"
#include "user_stack.h"

extern u8 sonde_stack_copy; /* a map, defined by the script's module */

enum {
    BLOCK_WORDS = SONDE_COPY_BLOCK / 8,
    CHUNK_WORDS = SONDE_COPY_CHUNK / 8,
    STACK_WORDS = SONDE_COPY_CHUNKS * CHUNK_WORDS,
    ALL_WORDS = SONDE_COPY_BLOCKS * BLOCK_WORDS,
    TRIES = 8,        /* places in the table of known blocks */
    FRAME_BLOCKS = 4, /* of each end of a frame */
};

static inline u64 is_in(u64 address, u64 begin, u64 end) { return address - begin < end - begin; }

static inline u64 is_in_chunks(struct sonde_stack_copy* to, u64 address)
{
    return is_in(address, to->stack_at, to->stack_at + SONDE_COPY_CHUNKS * SONDE_COPY_CHUNK);
}

/* Copies the block with an address, unless it is known already or belongs to the chunks. */
RT u64 sonde_rt_copy_block(struct sonde_stack_copy* to, u64 address)
{
    u64 block = address & ~(SONDE_COPY_BLOCK - 1ull);
    u64 hash = (block / SONDE_COPY_BLOCK) * 0x9e3779b97f4a7c15ull >> 40;
    if (is_in_chunks(to, block))
        return 0;
    for (u32 i = 0; i < TRIES; i++) {
        u64* slot = &to->slots[masked(hash + i, SONDE_COPY_SLOTS - 1)];
        u64 known = *slot, number = to->blocks;
        if (known == block)
            return 0;
        if (known)
            continue;
        if (number >= SONDE_COPY_BLOCKS)
            break;
        *slot = block;
        number = masked(number, SONDE_COPY_BLOCKS - 1);
        if (bpf_probe_read_user(&to->block[number * BLOCK_WORDS], SONDE_COPY_BLOCK, (const void*)block) != 0)
            return 0;
        to->block_at[number] = block;
        to->blocks = number + 1;
        return 0;
    }
    to->left_out++;
    return 0;
}

/* Copies the memory at a word, if the word is an address. An object or a text begins there, so the next blocks are
 * copied, too. */
RT u64 sonde_rt_copy_target(struct sonde_stack_copy* to, u64 word)
{
    enum { LOWEST = 1 << 16 };
    if (!is_in(word, LOWEST, to->thread.task_size) || is_in(word, to->code, to->code_end) || is_in_chunks(to, word))
        return 0;
    sonde_rt_copy_block(to, word);
    sonde_rt_copy_block(to, word + SONDE_COPY_BLOCK);
    sonde_rt_copy_block(to, word + 2 * SONDE_COPY_BLOCK - 1);
    return 0;
}

struct copying {
    struct sonde_stack_copy* to;
    struct sonde_stacks* stacks;
};
/* Copies the frame of a function, if it is outside of the chunks: far up on the stack, or on another one, as below the
 * handler of a signal. Of a large frame, both ends are copied. */
static long copy_frame(u64 i, struct copying* c)
{
    struct sonde_machine* m = &c->stacks->machine;
    u64 at = m->sp[masked(i, SONDE_STACK_MOST - 1)], end = m->sp[masked(i + 1, SONDE_STACK_MOST - 1)];
    if (i >= m->at)
        return 1;
    if (is_in_chunks(c->to, at) && is_in_chunks(c->to, end))
        return 0;
    for (u32 n = 0; n < FRAME_BLOCKS; n++) {
        sonde_rt_copy_block(c->to, at + n * SONDE_COPY_BLOCK);
        sonde_rt_copy_block(c->to, end - n * SONDE_COPY_BLOCK);
    }
    return 0;
}

static long copy_chunk(u64 i, struct sonde_stack_copy** context)
{
    struct sonde_stack_copy* to = *context;
    i = masked(i, SONDE_COPY_CHUNKS - 1);
    u64 at = to->stack_at + i * SONDE_COPY_CHUNK;
    if (bpf_probe_read_user(&to->stack[i * CHUNK_WORDS], SONDE_COPY_CHUNK, (const void*)at) == 0)
        to->chunks |= 1ull << i;
    return 0;
}

/* The words of the frames outside of the chunks. */
static long follow_frame_word(u64 i, struct sonde_stack_copy** context)
{
    struct sonde_stack_copy* to = *context;
    if (i >= to->frame_blocks * BLOCK_WORDS)
        return 1;
    sonde_rt_copy_target(to, to->block[masked(i, ALL_WORDS - 1)]);
    return 0;
}
/* The other words in the order of their importance: registers, the stack from its top on, blocks. */
static long follow_word(u64 i, struct sonde_stack_copy** context)
{
    struct sonde_stack_copy* to = *context;
    u64 word = 0;
    if (i < SONDE_THREAD_WORDS) {
        word = to->thread.registers[i < SONDE_THREAD_WORDS ? i : 0];
    } else if (i < SONDE_THREAD_WORDS + STACK_WORDS) {
        word = to->stack[masked(i - SONDE_THREAD_WORDS, STACK_WORDS - 1)];
    } else {
        u64 at = i - SONDE_THREAD_WORDS - STACK_WORDS;
        if (at >= to->blocks * BLOCK_WORDS)
            return 1;
        word = to->block[masked(at, ALL_WORDS - 1)];
    }
    sonde_rt_copy_target(to, word);
    return 0;
}

/* Copies the current thread's stack, which was unwound, unless an earlier hit was copied. */
ONCE int sonde_rt_copy_stack(struct sonde_stacks* stacks)
{
    u32 none = 0;
    struct sonde_stack_copy* to = bpf_map_lookup_elem(&sonde_stack_copy, &none);
    if (!to || !stacks || !__sync_bool_compare_and_swap(&to->state, SONDE_COPY_FREE, SONDE_COPY_BEGUN))
        return 0;
    struct task_struct* task = bpf_get_current_task_btf();
    const u8* registers = bpf_task_pt_regs(task);
    u64 numbers = bpf_get_current_pid_tgid(), sp = 0;
    struct mm_struct* mm = 0;
    /* Word by word: their number depends on the architecture, and after the last one the kernel's stack ends. */
    for (u32 i = 0; i < SONDE_THREAD_WORDS; i++)
        bpf_probe_read_kernel(&to->thread.registers[i], 8, registers + 8 * i);
    bpf_probe_read_kernel(&sp, sizeof sp, registers + SONDE_REGS_SP);
    READ(to->thread.thread_pointer, task->thread.SONDE_THREAD_POINTER);
    READ(mm, task->mm);
    READ(to->thread.task_size, mm->task_size);
    READ(to->code, mm->start_code);
    READ(to->code_end, mm->end_code);
    to->thread.process = numbers >> 32;
    to->thread.thread = (u32)numbers;
    to->thread.memory = (u64)mm;
    to->stack_at = (sp - SONDE_COPY_BELOW) & ~(SONDE_COPY_CHUNK - 1ull);
    LOOP(SONDE_COPY_CHUNKS, copy_chunk, &to);
    struct copying c = {to, stacks};
    LOOP(SONDE_STACK_MOST, copy_frame, &c);
    to->frame_blocks = to->blocks;
    LOOP(ALL_WORDS, follow_frame_word, &to);
    LOOP(SONDE_THREAD_WORDS + STACK_WORDS + ALL_WORDS, follow_word, &to);
    __sync_val_compare_and_swap(&to->state, SONDE_COPY_BEGUN, SONDE_COPY_DONE); /* orders what was written before */
    return 0;
}
