/* User stacks: each function's caller by the tables of its file, and where there is none by frame pointers.
 *
 * They begin with the registers of what was hit in user space. Where the task is in the kernel, these are the ones that
 * the kernel saved when the task entered it, by a system call, a fault or an interrupt: it saves all of them. */
#include "files.h"

static long (*const bpf_probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;

u64 sonde_rt_append_long(struct sonde_slot* to, u64 len, s64 value, u64 spec);

struct walk {
    struct sonde_stack* stack;
    u64 rip, rsp, rbp;
    u32 exact;  /* rip is the instruction itself; else it is after a call */
    u32 narrow; /* 32-bit code: words of 4 bytes, where no table says it */
    u64 most, depth;
    u32 state;  /* 0: it goes on; else how it has ended */
    u32 unread; /* code was met whose file has no table here */
    u64 returns; /* what the kernel has put off: the newest struct return_instance */
    struct mapped in;
};

extern u8 sonde_rules; /* a map, defined by the script's module */

/* Programs call from the same places again and again: what was found for them is kept, for all processors. Nothing is
 * locked. A rule's two words match only if they were written together, for that place of that file; files keep their
 * tables as long as the session runs. */
static u32 rule_at(u64 address, struct mapped* in)
{
    u32 none = 0;
    u64 place = address - in->at.start + in->at.offset, file = in->at.inode * 0x9e3779b97f4a7c15;
    volatile struct sonde_rule* kept = 0;
    struct sonde_rules* rules = bpf_map_lookup_elem(&sonde_rules, &none);
    if (rules && place >> 32 == 0) {
        kept = &rules->rule[masked((place * 0x9e3779b1 >> 15) ^ (file >> 50), SONDE_RULES - 1)];
        u64 what = kept->place_and_rule;
        if ((what ^ kept->mark) == file && what >> 32 == place)
            return (u32)what;
    }
    struct row row = {in->at.inode, UNWIND_ROWS, place, 0, 0};
    if (!sonde_rt_find_row(&row))
        return SONDE_RULE_NONE;
    u32 rule = (u32)(row.first >> 32);
    if (kept) {
        kept->place_and_rule = place << 32 | rule;
        kept->mark = (place << 32 | rule) ^ file;
    }
    return rule;
}

/* A stack that is in use is in memory: nothing has to be waited for. What one read costs does not depend on its size, and
 * the words that are wanted lie near each other, so that some more are read along. */
static u64 read_word(struct sonde_stack* stack, u64 address, u64 size, u64* value)
{
    u64 place = address - stack->window_at;
    *value = 0;
    if (place >= sizeof stack->window) {
        stack->window_at = address;
        place = 0;
        if (bpf_probe_read_user(stack->window, sizeof stack->window, (const void*)address) != 0)
            stack->window_at = 0;
    }
    if (size != 8 || place & 7 || !stack->window_at)
        return bpf_probe_read_user(value, (u32)size, (const void*)address) == 0;
    *value = stack->window[masked(place >> 3, SONDE_STACK_WINDOW - 1)];
    return 1;
}

/* Where a function shall return to a uretprobe, the kernel has kept the address. */
struct returning {
    u64 next, place, address;
};
static long find_return(u64 i, struct returning* r)
{
    (void)i;
    struct return_instance* instance = (void*)r->next;
    u64 stack = 0;
    if (!instance)
        return 1;
    READ(stack, instance->stack);
    if (stack == r->place) {
        READ(r->address, instance->orig_ret_vaddr);
        return 1;
    }
    READ(r->next, instance->next);
    return 0;
}

/* The process, as long as it runs the same program. */
static inline u64 who_runs(void)
{
    struct task_struct* task = bpf_get_current_task_btf();
    u64 process = (u32)(bpf_get_current_pid_tgid() >> 32), mm = 0, program = 0;
    READ(mm, task->mm);
    READ(program, task->self_exec_id);
    return sonde_mix(sonde_mix(mm, process, 0xff51afd7ed558ccdull), program, 0xff51afd7ed558ccdull) | 1;
}
/* The same place has the same words in all processes. Apart: what climbs has little stack. */
RT u64 sonde_rt_note_place(struct walk* w, u64 i)
{
    struct sonde_place* to = &((struct sonde_stacks*)w->stack)->place[i & (SONDE_STACK_MOST - 1)];
    const struct sonde_mapping* in = &w->in.at;
    void *vdso = 0, *image = 0;
    if (in->inode) {
        to->inode = in->inode;
        to->place = w->rip - in->start + in->offset;
        to->owner = in->edition;
        return 0;
    }
    to->inode = 0;
    to->place = w->rip;
    to->owner = 0;
    if (!in->end)
        return 0;
    struct mm_struct* mm = 0;
    READ(mm, bpf_get_current_task_btf()->mm);
    READ(vdso, mm->context.vdso);
    if ((u64)vdso == in->start) {
        READ(image, mm->context.vdso_image);
        to->place = w->rip - in->start;
        to->inode = (u64)image;
    } else {
        to->owner = who_runs();
    }
    return 0;
}

/* Without a table frame pointers lead on, which code need not have. Apart, as above. */
RT u64 sonde_rt_note_unread(struct walk* w)
{
    u64 inode = w->in.at.inode;
    if (inode && !bpf_map_lookup_elem(&sonde_files, &inode))
        w->unread = 1;
    return 0;
}

static long climb(u64 i, struct walk* w)
{
    u64 address = w->rip - !w->exact;
    u64 is_code = sonde_rt_find_mapping(address, &w->in) && w->in.code;
    w->state = SONDE_STACK_LOST;
    /* What is no code was no return address. But the task may have been led there: by a call through a null pointer. */
    if (!is_code && i)
        return 1;
    if (i >= w->most) {
        w->state = SONDE_STACK_CUT;
        return 1;
    }
    w->stack->address[i & (SONDE_STACK_MOST - 1)] = w->rip;
    w->depth = i + 1;
    sonde_rt_note_place(w, i);

    u32 rule = is_code ? rule_at(address, &w->in) : SONDE_RULE(SONDE_RULE_RSP, 1, 0);
    rule |= w->narrow;
    /* Words of 8 bytes or 4, by arithmetic whose bounds the verifier sees. */
    u64 word = 8 - ((rule & SONDE_RULE_NARROW) >> 1);
    u64 cfa = SONDE_RULE_CFA(rule) * word, saved = SONDE_RULE_SAVED_RBP(rule) * word, rbp = w->rbp, back = 0;
    w->exact = 0;
    switch (SONDE_RULE_KIND(rule) & (SONDE_RULE_NARROW - 1)) {
    case SONDE_RULE_NONE:
        sonde_rt_note_unread(w);
        /* The outermost function has no frame pointer (psABI, 3.4.1). */
        if (rbp == 0) {
            w->state = SONDE_STACK_WHOLE;
            return 1;
        }
        cfa = rbp + 2 * word;
        saved = 2 * word;
        break;
    case SONDE_RULE_RSP:
        cfa += w->rsp;
        break;
    case SONDE_RULE_RBP:
        cfa += rbp;
        break;
    case SONDE_RULE_PLT:
        cfa = w->rsp + ((w->rip & 15) * word >= cfa ? 2 * word : word);
        break;
    case SONDE_RULE_REALIGN:
        if (!read_word(w->stack, rbp - cfa, word, &cfa))
            return 1;
        saved = cfa - rbp;
        break;
    case SONDE_RULE_SIGNAL:
        /* struct ucontext: the registers r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip from byte 40 on. */
        if (!read_word(w->stack, w->rsp + 160, 8, &cfa) || !read_word(w->stack, w->rsp + 168, 8, &back) ||
            !read_word(w->stack, w->rsp + 120, 8, &w->rbp))
            return 1;
        w->rsp = cfa;
        w->rip = back;
        w->exact = 1;
        return 0;
    case SONDE_RULE_END:
        w->state = SONDE_STACK_WHOLE;
        return 1;
    default:
        return 1;
    }
    if (cfa <= w->rsp || (saved && !read_word(w->stack, cfa - saved, word, &w->rbp)) ||
        !read_word(w->stack, cfa - word, word, &back))
        return 1;
    if (w->returns) {
        struct returning r = {w->returns, cfa - word, 0};
        LOOP(64, find_return, &r);
        if (r.address)
            back = r.address;
    }
    w->rsp = cfa;
    w->rip = back;
    if (back == 0) {
        w->state = SONDE_STACK_WHOLE;
        return 1;
    }
    return 0;
}

/* Why a task in the kernel has no user stack; 0: it has one. */
static inline u64 why_none(struct sonde_stack* stack, struct task_struct* task)
{
    enum { PF_EXITING = 4, PF_KTHREAD = 0x200000 };
    struct mm_struct* mm = 0;
    u32 flags = 0;
    if (stack->from == SONDE_FROM_NOWHERE)
        return SONDE_STACK_NO_PROCESS;
    if (stack->rsp && stack->rsp != (u64)bpf_get_current_task())
        return SONDE_STACK_OTHER_TASK;
    READ(flags, task->flags);
    READ(mm, task->mm);
    if (flags & PF_KTHREAD)
        return SONDE_STACK_KERNEL_THREAD;
    if (flags & PF_EXITING)
        return mm ? 0 : SONDE_STACK_GONE;
    return !mm ? SONDE_STACK_KERNEL_THREAD : stack->from == SONDE_FROM_END ? SONDE_STACK_GONE : 0;
}

/* Begins where the current task entered the kernel. */
static inline void begin_at_entry(struct walk* w)
{
    enum { ORIG_AX, IP, CS, FLAGS, SP, SAVED }; /* as they follow in pt_regs */
    enum { NARROW_CS = 0x23, PRIVILEGE = 3 }; /* arch/x86/include/asm/segment.h */
    struct task_struct* task = bpf_get_current_task_btf();
    u64* saved = w->stack->address; /* not in use yet */
    w->state = why_none(w->stack, task);
    if (w->state)
        return;
    const u8* registers = bpf_task_pt_regs(task);
    bpf_probe_read_kernel(saved, SAVED * sizeof *saved, registers + SONDE_REGS_ORIG_AX);
    bpf_probe_read_kernel(&w->rbp, sizeof w->rbp, registers + SONDE_REGS_BP);
    w->rip = saved[IP];
    w->rsp = saved[SP];
    /* A thread of the kernel's in the process (io_uring's) has registers that never were in user space. */
    if ((saved[CS] & PRIVILEGE) != PRIVILEGE || (w->rip | w->rsp) == 0)
        w->state = SONDE_STACK_KERNEL_THREAD;
    if ((saved[CS] & 0xffff) == NARROW_CS)
        w->narrow = SONDE_RULE_NARROW;
    /* After a system call rip is after its instruction, which may be its function's last one. */
    w->exact = (s64)saved[ORIG_AX] < 0;
}

/* Fills the user's stack, at most `most` addresses, unless that is done. */
ONCE int sonde_rt_unwind(struct sonde_stacks* stacks, u64 most)
{
    if (!stacks || stacks->user.state != SONDE_STACK_FRESH)
        return 0;
    struct sonde_stack* stack = &stacks->user;
    struct walk w = {stack, stack->rip, stack->rsp, stack->rbp, 1, 0, most, 0, 0, 0, 0, {}};
    if (stack->from != SONDE_FROM_REGISTERS)
        begin_at_entry(&w);
    if (w.state) {
        stack->state = w.state;
        stack->depth = 0;
        return 0;
    }
    struct uprobe_task* probes = bpf_get_current_task_btf()->utask;
    stack->window_at = 0;
    if (probes)
        READ(w.returns, probes->return_instances);
    LOOP((u32)most + 1, climb, &w);
    stack->depth = w.depth;
    stack->state = w.state;
    if (w.unread && w.state != SONDE_STACK_CUT) {
        stack->state = SONDE_STACK_EARLY;
        stack->rbp = 0;
    }
    return 0;
}

extern u8 sonde_no_stacks; /* a map, defined by the script's module */

/* There is none, or not all of it, and no line of the output says so: once for each hit. rbp is not in use then. */
RT s64 sonde_rt_count_no_stack(struct sonde_stack* stack, u64 probe)
{
    u32 index = (u32)probe;
    if (stack->rbp)
        return 0;
    stack->rbp = 1;
    struct sonde_no_stacks* counts = bpf_map_lookup_elem(&sonde_no_stacks, &index);
    u64 why = stack->state - SONDE_STACK_COUNTED;
    if (counts && why < SONDE_STACK_STATES - SONDE_STACK_COUNTED)
        __sync_fetch_and_add(&counts->count[why], 1);
    return 0;
}

RT s64 sonde_rt_stack_at(struct sonde_stack* stack, u64 n)
{
    return n < stack->depth ? (s64)stack->address[masked(n, SONDE_STACK_MOST - 1)] : 0;
}

struct text {
    struct sonde_slot* slot;
    struct sonde_stack* stack;
    u64 len, first, end, noughts;
};
/* Eight hexadecimal digits, as the bytes of a word in memory: each four bits get a byte, all at once. */
static inline u64 hexadecimal(u64 bits)
{
    u64 each = (bits | bits << 16) & 0x0000ffff0000ffff;
    each = (each | each << 8) & 0x00ff00ff00ff00ff;
    each = (each | each << 4) & 0x0f0f0f0f0f0f0f0f;
    u64 letters = (each + 0x0606060606060606) >> 4 & 0x0101010101010101; /* 1 where it is 10 or more */
    return __builtin_bswap64(each + 0x3030303030303030 + letters * ('a' - '0' - 10));
}
/* How many digits a number has. Without branches, as below(). */
static inline u64 count_digits(u64 number)
{
    u64 wide = 1 - below(number >> 32, 1), rest = number >> 32 * wide, digits = 8 * wide + 1;
    for (u64 step = 4; step; step >>= 1) {
        u64 more = 1 - below(rest >> 4 * step, 1);
        rest >>= 4 * step * more;
        digits += step * more;
    }
    return digits;
}
struct __attribute__((packed)) unaligned {
    u64 word;
};
static inline void put_word(u8* to, u64 word) { ((struct unaligned*)to)->word = word; }

static long add_address(u64 i, struct text* t)
{
    enum { LONGEST = 18 }; /* 0x and 16 digits */
    u64 n = t->first + i;
    if (n >= t->end || n >= t->stack->depth)
        return 1;
    u64 len = t->len & MASK, address = t->stack->address[masked(n, SONDE_STACK_MOST - 1)];
    if (i) {
        t->slot->text[len] = ' ';
        len = cut(len + 1);
    }
    if (len + LONGEST > MASK) {
        /* Part of an address would be another one. */
        if (i && len + 2 + count_digits(address) > MASK) {
            t->slot->text[masked(len - 1, MASK)] = 0;
            t->len = len - 1;
            return 1;
        }
        t->len = sonde_rt_append_long(t->slot, len, (s64)address, 'x' | '#' << 8);
        return 0;
    }
    u64 digits = count_digits(address), left = address << (64 - 4 * digits);
    u64 noughts = i == 0 ? t->noughts & 7 : i == 1 ? t->noughts >> 3 & 7 : 0;
    u8* to = t->slot->text + masked(len, MASK);
    to[0] = '0';
    to[1] = 'x';
    if (noughts) {
        put_word(to + 2, hexadecimal(0));
        digits += noughts;
        to += masked(noughts, 7);
    }
    put_word(to + 2, hexadecimal(left >> 32));
    put_word(to + 10, hexadecimal(left & 0xffffffff));
    len += 2 + digits;
    t->slot->text[masked(len, MASK)] = 0;
    t->len = len;
    return 0;
}
static inline void write_text(struct sonde_slot* slot, struct sonde_stack* stack, u64 first, s64 count, u64 noughts)
{
    struct text t = {slot, stack, opaque(slot, 0), first, count < 0 ? SONDE_STACK_MOST : first + (u64)count, noughts};
    slot->text[0] = 0;
    LOOP(SONDE_STACK_MOST, add_address, &t);
}
/* "0x1234 0x5678" of `count` addresses from the first one on; count < 0: all. */
ONCE s64 sonde_rt_stack_text(struct sonde_slot* slot, struct sonde_stack* stack, u64 first, s64 count)
{
    NEED(slot && stack);
    write_text(slot, stack, first, count, 0);
    return 0;
}
/* The same, padded with NULs, as one of the texts that mean these addresses: the lower three bits of `noughts` are how many
 * more digits the first one has, the next three those of the second one. */
ONCE int sonde_rt_padded_stack_text(struct sonde_slot* slot, struct sonde_stack* stack, u64 first, s64 count, u64 noughts)
{
    NEED(slot && stack);
    write_text(slot, stack, first, count, noughts);
    u64 len = copy_bounded(slot->text, sonde_rt_max, slot->text);
    copy_bytes(slot->text + len, sonde_rt_max, sonde_rt_zeros);
    return 0;
}
