/* Unwinds user stacks.
 *
 * The problem: most programs are compiled without frame pointers, so the stack itself does not show where a
 * function's return address is. The `.eh_frame` tables of each file describe this, but a BPF program cannot
 * interpret them quickly enough.
 *
 * The idea: the runtime converts the tables to compact rules (runtime/symbols), one for each range of code, and
 * stores them in maps. A rule says where the caller's stack pointer is (the CFA, canonical frame address), and where
 * the caller's fp is saved. climb() goes from a function to its caller:
 *
 *    pc -> mapping -> file and offset -> rule (rule_of())
 *    cfa = sp + n or fp + n;  return address at cfa - 8;  caller's sp = cfa;  caller's fp at cfa - m
 *
 * Some processors have a link register: a call stores the return address there, and functions that call others save it
 * beside fp (at cfa - m + 8). It is valid for the innermost function, and for one that a signal has interrupted. Some
 * processors also sign return addresses in bits that no address uses. The walk removes these bits from each one.
 *
 * Some rules need more: an expression (run_steps()) or other registers (restore()). Registers are followed only if a
 * rule needs them: then they are computed from the innermost function up to that one (work_out()). Without a rule, the
 * next instructions may lead straight to a `ret` (leave_by()). Otherwise the walk assumes that the code has frame
 * pointers, and marks the stack as doubtful.
 *
 * The walk begins with the registers at the hit. If the task is in the kernel, it begins with the registers that the
 * kernel saved at the system call, fault or interrupt.
 *
 * What would break this: the verifier must not follow every path through every iteration. So all state that changes
 * is in struct sonde_machine, in map memory, whose contents the verifier does not track. */
#include "user_stack.h"

#ifndef __bpf__
#include "../../runtime/plan/thread_walk.h"
#endif

u64 sonde_rt_append_long(struct sonde_slot* to, u64 len, s64 value, u64 spec);

/* State that would let the verifier distinguish iterations is in struct sonde_machine instead. */
struct walk {
    struct sonde_stacks* stacks;
    u64 pc, sp, fp;
};

extern u8 sonde_rules; /* a map, defined by the script's module */

/* A cache of rules, shared by all processors, because programs call from the same places again and again. It needs no
 * lock: an entry's two words match only if they were written together, for the same offset of the same file.
 * Files keep their tables as long as the session runs. */
static u64 place_of(u64 address, struct sonde_found* in) { return address - in->at.start + in->at.offset; }
/* The second half of a row's word; 0 if there is no row, NO_TABLE if the file has no table. Not inlined, because the
 * callers have little stack. */
#define NO_TABLE (1ull << 32)
RT u64 sonde_rt_row_value(struct sonde_found* in, u64 kind, u64 place)
{
    struct row row = {.inode = in->at.inode, .place = place, .kind = kind};
    if (sonde_rt_find_row(&row))
        return row.first >> 32;
    return row.kind == MISSING_TABLE ? NO_TABLE : 0;
}
static u64 rule_at(u64 address, struct sonde_found* in)
{
    u32 none = 0;
    u64 place = place_of(address, in), file = in->at.inode * 0x9e3779b97f4a7c15;
    volatile struct sonde_rule* kept = 0;
    struct sonde_rules* rules = bpf_map_lookup_elem(&sonde_rules, &none);
    if (rules && place >> 32 == 0) {
        kept = &rules->rule[masked((place * 0x9e3779b1 >> 15) ^ (file >> 50), SONDE_RULES - 1)];
        u64 what = kept->place_and_rule;
        if ((what ^ kept->mark) == file && what >> 32 == place)
            return (u32)what;
    }
    u64 rule = sonde_rt_row_value(in, UNWIND_ROWS, place);
    if (kept && (u32)rule) { /* a file without a table may get one later */
        kept->place_and_rule = place << 32 | rule;
        kept->mark = (place << 32 | rule) ^ file;
    }
    return rule;
}

/* Reads a word of the user's stack. A stack in use is in memory, so the read need not wait. The cost of a read does
 * not depend on its size, and the words that are needed are near each other, so a read fetches several. */
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

/* The search for a return address that a uretprobe has replaced. The kernel keeps the original. */
static long find_return(u64 i, struct walk* w)
{
    (void)i;
    struct sonde_machine* m = &w->stacks->machine;
    struct return_instance* instance = (void*)m->next_return;
    u64 stack = 0;
    if (!instance)
        return 1;
    READ(stack, instance->stack);
    if (stack == m->return_place) {
        READ(m->original, instance->orig_ret_vaddr);
        return 1;
    }
    READ(m->next_return, instance->next);
    return 0;
}

/* Stores the file and offset of function i, which are the same in all processes. Not inlined, because the caller has
 * little stack. */
RT u64 sonde_rt_note_place(struct walk* w, u64 i)
{
    struct sonde_place* to = &w->stacks->place[i & (SONDE_STACK_MOST - 1)];
    const struct sonde_mapping* in = &w->stacks->machine.in.at;
    to->inode = in->inode;
    if (in->inode) {
        to->place = w->pc - in->start + in->offset;
        to->owner = in->edition;
        return 0;
    }
    to->place = w->pc;
    to->owner = in->end ? who_runs() : 0;
    return 0;
}

/* Marks the stack as doubtful: there is no rule for the code, and it need not use frame pointers. The search for the
 * rule says whether there was a table: by now the session may have added it. */
static inline void note_doubt(struct walk* w, u64 rule)
{
    struct sonde_machine* m = &w->stacks->machine;
    if (m->in.at.inode && rule & NO_TABLE)
        m->doubt = SONDE_STACK_EARLY;
    else if (m->doubt == 0)
        m->doubt = SONDE_STACK_GUESSED;
    m->guessed_in_file |= m->in.at.inode;
}

#include "../../arch/host/leaving_code.h"
#include "../../arch/host/stack_start.h"

/* Returns 1 if the code leads straight to a return. Then the machine's `cfa` and `kept` (address of the caller's fp,
 * or 0) are valid. */
RT u64 sonde_rt_leaves(struct walk* w, u64 word)
{
    struct sonde_machine* m = &w->stacks->machine;
    m->code_at = m->kept = m->leaves = 0;
    if (SONDE_HAS_LINK)
        m->back_at = 0;
    m->word = word;
    m->cfa = w->sp;
    m->own_fp = w->fp;
    if (bpf_probe_read_user(m->code, sizeof m->code, (const void*)w->pc) != 0)
        return 0;
    LOOP(12, leave_by, &m);
    return m->leaves;
}

/* Interprets the expression of a rule. All its state is in map memory, so that all steps look the same to the
 * verifier. */
struct run {
    struct sonde_machine* m;
    void* table;
    u64 mask; /* mask for a word's bits */
};
static inline void push(struct sonde_machine* m, u64 value)
{
    m->words[m->depth & (SONDE_STEP_WORDS - 1)] = value;
    m->depth++;
}
static inline u64 combine(u64 kind, u64 a, u64 b)
{
    switch (kind) {
    case SONDE_STEP_PLUS:
        return a + b;
    case SONDE_STEP_MINUS:
        return a - b;
    case SONDE_STEP_TIMES:
        return a * b;
    case SONDE_STEP_AND:
        return a & b;
    case SONDE_STEP_OR:
        return a | b;
    case SONDE_STEP_XOR:
        return a ^ b;
    case SONDE_STEP_SHIFT_LEFT:
        return b < 64 ? a << (b & 63) : 0;
    case SONDE_STEP_SHIFT_RIGHT:
        return b < 64 ? a >> (b & 63) : 0;
    case SONDE_STEP_SHIFT_SIGNED:
        return (u64)((s64)a >> (b < 64 ? b & 63 : 63));
    case SONDE_STEP_EQUAL:
        return a == b;
    case SONDE_STEP_UNEQUAL:
        return a != b;
    case SONDE_STEP_LESS:
        return (s64)a < (s64)b;
    case SONDE_STEP_LESS_OR_EQUAL:
        return (s64)a <= (s64)b;
    case SONDE_STEP_GREATER:
        return (s64)a > (s64)b;
    default:
        return (s64)a >= (s64)b;
    }
}
static long take_step(u64 i, struct run* r)
{
    (void)i;
    struct sonde_machine* m = r->m;
    u64 step = element(r->table, (u32)m->step), reg = SONDE_STEP_REGISTER_OF(step) & (SONDE_REGISTERS - 1);
    u64 number = (u64)SONDE_STEP_NUMBER_OF(step), kind = SONDE_STEP_KIND(step);
    u64* top = &m->words[(m->depth - 1) & (SONDE_STEP_WORDS - 1)];
    u64* second = &m->words[(m->depth - 2) & (SONDE_STEP_WORDS - 1)];
    u64* third = &m->words[(m->depth - 3) & (SONDE_STEP_WORDS - 1)];
    u64 word = 0;
    m->step++;
    if (kind >= SONDE_STEP_PLUS && kind <= SONDE_STEP_GREATER_OR_EQUAL) {
        *second = combine(kind, *second, *top) & r->mask;
        m->depth--;
        return 0;
    }
    switch (kind) {
    case SONDE_STEP_REST:
        m->ended = !m->fresh;
        return !m->fresh;
    case SONDE_STEP_NUMBER:
        push(m, number);
        return 0;
    case SONDE_STEP_REGISTER:
        if (!(m->usable >> reg & 1)) {
            m->ended = SONDE_STEPS_LACK;
            return 1;
        }
        push(m, (m->registers[reg] + number) & r->mask);
        return 0;
    case SONDE_STEP_CFA:
        push(m, (m->cfa + number) & r->mask);
        return 0;
    case SONDE_STEP_ADD:
        *top = (*top + number) & r->mask;
        return 0;
    case SONDE_STEP_READ:
        m->read_at = *top;
        if (bpf_probe_read_user(&word, number & 8 ? 8 : number & 7, (const void*)*top) != 0) {
            /* If the caller's pc is known already, only what depends on this word is unknown. */
            if (!(m->set >> SONDE_PC & 1))
                return 1;
            m->failed = 1;
        }
        *top = word;
        return 0;
    case SONDE_STEP_PICK:
        word = m->words[(m->depth - 1 - number) & (SONDE_STEP_WORDS - 1)];
        push(m, word);
        return 0;
    case SONDE_STEP_SWAP:
        word = *top;
        *top = *second;
        *second = word;
        return 0;
    case SONDE_STEP_ROTATE:
        word = *top;
        *top = *second;
        *second = *third;
        *third = word;
        return 0;
    case SONDE_STEP_NEGATE:
        *top = (0 - *top) & r->mask;
        return 0;
    case SONDE_STEP_NOT:
        *top = ~*top & r->mask;
        return 0;
    case SONDE_STEP_ABSOLUTE:
        *top = (s64)*top < 0 ? 0 - *top : *top;
        return 0;
    case SONDE_STEP_BRANCH:
        m->depth--;
        m->step += *top ? number : 0;
        return 0;
    case SONDE_STEP_JUMP:
        m->step += number;
        return 0;
    case SONDE_STEP_DROP:
        m->depth--;
        return 0;
    case SONDE_STEP_SET_CFA:
        m->depth--;
        m->cfa = *top;
        return 0;
    case SONDE_STEP_SET:
        m->depth--;
        m->given[reg] = *top;
        if (reg == SONDE_PC)
            m->return_at = m->read_at;
        m->set |= (u64)!m->failed << reg;
        m->forgotten |= m->failed << reg;
        m->failed = 0;
        return 0;
    case SONDE_STEP_FORGET:
        m->forgotten |= 1ull << reg;
        return 0;
    case SONDE_STEP_SIGNAL:
        m->exact = 1;
        return 0;
    default:
        m->ended = kind == SONDE_STEP_END;
        return 1;
    }
}
/* Runs a rule's program for the function whose pc, sp and fp are in `registers`. Returns 1 if the program
 * succeeds. `fresh`: all registers are valid and become those of the caller. */
#define BIT(reg) (1ull << (reg))
#define BASIC (BIT(SONDE_PC) | BIT(SONDE_SP) | BIT(SONDE_FP))
RT u64 sonde_rt_run_steps(struct walk* w, u64 rule, u64 fresh)
{
    struct sonde_machine* m = &w->stacks->machine;
    u64 inode = m->in.at.inode, narrow = rule & SONDE_RULE_NARROW;
    struct run r = {m, bpf_map_lookup_elem(&sonde_files, &inode), narrow ? 0xffffffffull : ~0ull};
    m->ended = 0;
    if (!r.table)
        return 0;
    m->step = (element(r.table, 5) >> 32) + (u64)SONDE_RULE_STEP((u32)rule);
    m->depth = m->set = m->forgotten = m->exact = m->cfa = m->failed = 0;
    m->fresh = fresh;
    m->usable = (fresh ? m->known : 0) | BASIC;
    if (SONDE_HAS_LINK) {
        m->registers[SONDE_LINK] = m->link;
        m->usable &= ~(BIT(SONDE_LINK) | m->is_loose << SONDE_SP);
        m->usable |= m->has_link << SONDE_LINK;
    }
    LOOP(SONDE_STEPS_MOST, take_step, &r);
    if (m->ended != 1)
        return 0;
    if (fresh) {
        for (u32 n = 0; n < SONDE_REGISTERS_SET; n++) {
            u64 given = 0 - (m->set >> n & 1);
            m->registers[n] = (m->given[n] & given) | (m->registers[n] & ~given);
        }
        m->known = (m->known & ~m->forgotten) | m->set;
    }
    return 1;
}

/* Restores registers that a function has saved at distances from its CFA. All others keep their values, even those
 * that functions may change. A rule uses such a register at a call only if the called function preserves it
 * (OpenSSL's assembly has its CFA in rax). */
static long restore(u64 n, struct walk* w)
{
    struct sonde_machine* m = &w->stacks->machine;
    u64 words = SONDE_SAVED_WORDS(m->saves, n), narrow = m->word == 4, reg = SONDE_SAVED_REGISTER(narrow, n);
    u64 value = 0, is_there = 0, word = 8 - 4 * narrow; /* the mask gives the verifier a bound */
    if (words == SONDE_SAVED_SAME)
        return 0;
    if (words != SONDE_SAVED_UNKNOWN)
        is_there = read_word(&w->stacks->user, m->cfa - words * word, word, &value);
    m->registers[reg] = value;
    m->known &= ~(1ull << reg);
    m->known |= is_there << reg;
    return 0;
}

/* Loads the innermost function's registers. Those that the kernel saved are used only if they belong to the stack's
 * start. */
static inline void load_registers(struct walk* w)
{
    struct sonde_machine* m = &w->stacks->machine;
    const u8* registers = bpf_task_pt_regs(bpf_get_current_task_btf());
    bpf_probe_read_kernel(m->registers, 8 * SONDE_REGISTERS_READ, registers);
    m->known = m->registers[SONDE_PC] == w->stacks->user.address[0] && m->registers[SONDE_SP] == m->sp[0] ? ~0ull : 0;
    m->loaded = 1;
}
static inline u64 rule_of(struct walk* w, u64 looked, u64* is_code)
{
    struct sonde_machine* m = &w->stacks->machine;
    *is_code = sonde_rt_find_mapping(looked, &m->in) && m->in.code;
    u64 as_called = SONDE_HAS_LINK ? SONDE_RULE(SONDE_RULE_LINK, 0, 0) : SONDE_RULE(SONDE_RULE_SP, 1, 0);
    return (*is_code ? rule_at(looked, &m->in) : as_called) | (u32)m->narrow;
}
static inline int is_for_link(u64 kind)
{
    return SONDE_HAS_LINK && (kind == SONDE_RULE_LINK || kind == SONDE_RULE_ALONE);
}
/* Computes the caller's registers from those of a function. */
static inline void work_out(struct walk* w)
{
    struct sonde_machine* m = &w->stacks->machine;
    u64 i = m->since & (SONDE_STACK_MOST - 1), is_code;
    u32 rule = (u32)rule_of(w, m->looked[i], &is_code), kind = SONDE_RULE_KIND(rule);
    m->registers[SONDE_PC] = w->stacks->user.address[i];
    m->registers[SONDE_SP] = m->sp[i];
    m->registers[SONDE_FP] = m->fp[i];
    if (kind == SONDE_RULE_SP || kind == SONDE_RULE_FP || is_for_link(kind)) {
        m->saves = (u32)sonde_rt_row_value(&m->in, SAVES_ROWS, place_of(m->looked[i], &m->in));
        m->cfa = m->sp[(i + 1) & (SONDE_STACK_MOST - 1)];
        m->word = rule & SONDE_RULE_NARROW ? 4 : 8;
        LOOP(SONDE_SAVED_MOST, restore, w);
        if (SONDE_BEYOND_SAVES)
            m->known &= m->saves & SONDE_SAVED_BEYOND ? ~SONDE_BEYOND_SAVES : ~0ull;
    } else if (kind != SONDE_RULE_STEPS || !sonde_rt_run_steps(w, rule, 1))
        m->known = 0;
    m->since++;
}

/* The return address, or the original if a uretprobe has replaced it. `place` is the value of sp at the function's
 * first instruction: where the return address is, if calls store it on the stack. */
static inline u64 return_address(struct walk* w, u64 place, u64 back)
{
    struct sonde_machine* m = &w->stacks->machine;
    if (!m->returns)
        return back;
    m->next_return = m->returns;
    m->return_place = place;
    m->original = 0;
    LOOP(64, find_return, w);
    return m->original ? m->original : back;
}
static inline u64 without_signature(struct sonde_machine* m, u64 address)
{
    return SONDE_HAS_LINK ? address & m->address_bits : address;
}
/* Finds the caller of function i by the rule's program. */
static inline long climb_by_steps(struct walk* w, u64 i, u64 rule)
{
    struct sonde_machine* m = &w->stacks->machine;
    u64 fresh = m->loaded && m->since == i;
    m->registers[SONDE_PC] = w->pc;
    m->registers[SONDE_SP] = w->sp;
    m->registers[SONDE_FP] = w->fp;
    if (!sonde_rt_run_steps(w, rule, fresh)) {
        if (m->ended != SONDE_STEPS_LACK || fresh)
            return 1;
        if (!m->loaded)
            load_registers(w);
        m->wanted = i;
        m->state = 0;
        return 0;
    }
    m->since += fresh;
    if (m->set >> SONDE_FP & 1)
        w->fp = m->given[SONDE_FP];
    else if (m->forgotten >> SONDE_FP & 1)
        w->fp = 0;
    w->sp = m->set >> SONDE_SP & 1 ? m->given[SONDE_SP] : m->cfa;
    w->stacks->machine.exact_now = m->exact;
    if (SONDE_HAS_LINK) {
        m->has_link = m->set >> SONDE_LINK & 1;
        m->link = m->given[SONDE_LINK];
        m->is_loose = 0;
        m->return_at = w->sp;
    }
    w->pc = m->exact ? m->given[SONDE_PC] : return_address(w, m->return_at, m->given[SONDE_PC]);
    w->pc = without_signature(m, w->pc);
    m->at++;
    m->state = w->pc ? 0 : SONDE_STACK_WHOLE;
    return w->pc == 0;
}

/* The same by a rule of a processor with a link register: the return address is at `place`; 0: in the link register.
 * `is_loose`: the caller's frame is above `cfa`, but it is unknown how far. */
static inline long climb_by_link(struct walk* w, u64 cfa, u64 saved, u64 place, u64 is_loose)
{
    struct sonde_machine* m = &w->stacks->machine;
    u64 back = m->link;
    /* Only the innermost function can have an empty frame: a function that calls others has saved the return address. */
    if (cfa < w->sp || (place == 0 && !m->has_link) || (place && cfa == w->sp))
        return 1;
    if ((saved && !read_word(&w->stacks->user, cfa - saved, 8, &w->fp)) ||
        (place && !read_word(&w->stacks->user, place, 8, &back)))
        return 1;
    w->sp = cfa;
    m->is_loose = is_loose;
    m->has_link = 0;
    w->pc = without_signature(m, return_address(w, cfa, back));
    m->at++;
    m->state = w->pc ? 0 : SONDE_STACK_WHOLE;
    return w->pc == 0;
}

/* Notes that function i is an interpreter's loop, which sonde_rt_merge_interpreted() replaces. */
RT u64 sonde_rt_note_loop(struct walk* w, u64 i)
{
    struct sonde_interpreter_walk* to = &w->stacks->walk;
    const struct sonde_mapping* in = &w->stacks->machine.in.at;
    if (!to->inode) {
        u64 inode = in->inode;
        void* table = bpf_map_lookup_elem(&sonde_files, &inode);
        u64 interpreter = table ? (u32)element(table, SONDE_TABLE_INTERPRETERS) : 0;
        if (!interpreter)
            return 0;
        to->inode = in->inode;
        to->language = SONDE_TABLE_LANGUAGE_OF(interpreter);
        to->element = SONDE_TABLE_ELEMENT_OF(interpreter);
        to->base = in->start - in->offset;
    }
    if (to->inode == in->inode)
        to->loops[masked(i >> 6, 1)] |= 1ull << (i & 63);
    return 0;
}

u64 sonde_rt_type_in_heap(u64 heap);
u64 sonde_rt_note_java(struct sonde_stacks* stacks);
u64 sonde_rt_java_caller(struct sonde_stacks* stacks, u64 i, u64 pc, u64 sp, u64 fp);

/* Whether the process runs Java. The code heap begins with an object, whose type is in the library of HotSpot. So the
 * heap in which the walk meets generated code leads to the library. */
ALWAYS_INLINE u64 is_java(struct walk* w)
{
    enum { TRIES = 4 }; /* another compiler may have generated the code */
    struct sonde_machine* m = &w->stacks->machine;
    if (w->stacks->walk.inode)
        return w->stacks->walk.language == SONDE_LANGUAGE_JAVA;
    if (m->java_tries >= TRIES)
        return 0;
    m->java_tries++;
    u64 type = sonde_rt_type_in_heap(m->in.at.start);
    return type && sonde_rt_find_mapping(type, &m->java) && sonde_rt_note_java(w->stacks);
}
/* Tries to find the caller of generated code as that of Java (java_stack.bpf.c). Sets `*end` if this decides whether
 * the walk ends. */
ALWAYS_INLINE u64 climb_by_java(struct walk* w, u64 i, long* end)
{
    struct sonde_machine* m = &w->stacks->machine;
    if (!is_java(w))
        return 0;
    u64 result = sonde_rt_java_caller(w->stacks, i, w->pc, w->sp, w->fp);
    if (result != SONDE_JAVA_FOUND && result != SONDE_JAVA_LOST)
        return 0;
    const struct sonde_java_walk* from = &w->stacks->java;
    *end = 1;
    if (result == SONDE_JAVA_LOST || from->cfa <= w->sp)
        return 1;
    m->exact_now = 0;
    w->sp = from->cfa;
    w->fp = from->saved_at;
    w->pc = from->back;
    m->at++;
    m->state = w->pc ? 0 : SONDE_STACK_WHOLE;
    *end = w->pc == 0;
    return 1;
}

/* One step: finds the next caller, or if this needs registers that were not followed, follows them by one function. */
static long climb(u64 n, struct walk* w)
{
    (void)n;
    struct sonde_stack* stack = &w->stacks->user;
    struct sonde_machine* m = &w->stacks->machine;
    if (m->since < m->wanted) {
        work_out(w);
        return 0;
    }
    u64 address = w->pc - !m->exact_now, i = m->at, is_code;
    u64 rule = rule_of(w, address, &is_code);
    /* A new thread has a stack of its own, without callers: the first word is what the parent has put there. A new
     * process has a copy of its parent's stack. */
    m->state = m->born && (i == 0 || (i == 1 && !is_code)) ? SONDE_STACK_WHOLE : SONDE_STACK_LOST;
    if (m->execs && i == 0 && !is_code)
        return 1;
#ifndef __bpf__
    if (i < SONDE_STACK_MOST) /* the CFA of the function before, even if its caller is unknown */
        m->sp[i] = w->sp;
#endif
    /* An address outside of code cannot be a return address. But the innermost one can be, after a call through a
     * null pointer. */
    if (!is_code && i)
        return 1;
    if (i >= m->most) {
        m->state = SONDE_STACK_CUT;
        return 1;
    }
    i &= SONDE_STACK_MOST - 1;
    stack->address[i] = w->pc;
    stack->depth = i + 1;
    m->looked[i] = address;
    m->sp[i] = w->sp;
    m->fp[i] = w->fp;
    sonde_rt_note_place(w, i);
    if (rule & SONDE_RULE_INTERPRETER && SONDE_RULE_KIND(rule) != SONDE_RULE_STEPS)
        sonde_rt_note_loop(w, i);
    long end = 0;
    if (!SONDE_HAS_LINK && is_code && !m->in.at.inode && !m->narrow && climb_by_java(w, i, &end))
        return end;
    /* The link register of a new thread is its parent's. Nothing describes the frames of 32-bit programs. */
    if (SONDE_HAS_LINK && (m->narrow || (m->born && i == 0)))
        return 1;

    /* Words of 8 or 4 bytes, computed so that the verifier knows the bounds. */
    u64 word = 8 - ((rule & SONDE_RULE_NARROW) >> 1);
    u64 cfa = SONDE_RULE_CFA(rule) * word, saved = SONDE_RULE_SAVED_FP(rule) * word, fp = w->fp, back = 0;
    /* With a link register: where the return address is; 0: in the link register, 1: above the caller's fp. */
    u64 place = 1, is_loose = 0;
    switch (SONDE_RULE_KIND(rule)) {
    case SONDE_RULE_NONE:
        if (cfa == 0 && sonde_rt_leaves(w, word)) {
            cfa = m->cfa + (SONDE_HAS_LINK ? 0 : word);
            saved = m->kept ? cfa - m->kept : 0;
            place = m->back_at;
            break;
        }
        if (cfa == 0)
            note_doubt(w, rule);
        /* The outermost function has a frame pointer of 0 (psABI, 3.4.1). */
        if (fp == 0) {
            m->state = SONDE_STACK_WHOLE;
            return 1;
        }
        cfa = fp + 2 * word;
        saved = 2 * word;
        is_loose = 1;
        break;
    case SONDE_RULE_SP:
        if (SONDE_HAS_LINK && saved == SONDE_RULE_FP_OF_GO * word) {
            place = m->is_loose ? fp + word : w->sp;
            saved = fp == place - word ? cfa + word : 0;
            cfa += place;
            break;
        }
        cfa += w->sp;
        /* If sp is not known, trust that the function has set fp to where the caller's fp is saved. */
        if (SONDE_HAS_LINK && m->is_loose)
            cfa = fp + saved;
        break;
    case SONDE_RULE_LINK:
    case SONDE_RULE_ALONE:
        if (!SONDE_HAS_LINK || m->is_loose)
            return 1;
        cfa += w->sp;
        place = saved ? cfa - saved : 0;
        saved = 0;
        break;
    case SONDE_RULE_FP:
        cfa += fp;
        break;
    case SONDE_RULE_END:
        m->state = SONDE_STACK_WHOLE;
        return 1;
    case SONDE_RULE_STEPS:
        return climb_by_steps(w, i, rule);
    default:
        return 1;
    }
    m->exact_now = 0;
    if (SONDE_HAS_LINK)
        return climb_by_link(w, cfa, saved, place == 1 ? cfa - saved + word : place, is_loose);
    if (saved == SONDE_RULE_FP_OF_GO * word)
        saved = fp == cfa - 2 * word ? 2 * word : 0;
    if (cfa <= w->sp || (saved && !read_word(stack, cfa - saved, word, &w->fp)) ||
        !read_word(stack, cfa - word, word, &back))
        return 1;
    w->sp = cfa;
    w->pc = return_address(w, cfa - word, back);
    m->at++;
    m->state = back ? 0 : SONDE_STACK_WHOLE;
    return back == 0;
}

/* While the kernel single-steps a probed instruction, perhaps one of another session, the processor executes a copy in
 * the mapping [uprobes], and pc points to or behind the copy. Returns the address in the program. Any other pc is
 * unchanged. */
static inline u64 outside_of_copy(struct sonde_machine* m, struct uprobe_task* probes, u64 pc)
{
    enum { LONGEST_INSTRUCTION = 15 };
    u64 *active = &m->words[0], *original = &m->words[1], *copy = &m->words[2]; /* the caller has little stack */
    *active = 0;
    READ(*active, probes->active_uprobe);
    if (!*active)
        return pc;
    READ(*original, probes->vaddr);
    READ(*copy, probes->xol_vaddr);
    return pc - *copy <= LONGEST_INSTRUCTION ? pc - *copy + *original : pc;
}

/* Begins where the current task entered the kernel. Not inlined, as above. */
RT u64 sonde_rt_begin_at_entry(struct walk* w)
{
    enum { NUMBER = SONDE_ENTRY_NUMBER, MODE = SONDE_ENTRY_MODE, SAVED = SONDE_ENTRY_WORDS };
    struct task_struct* task = bpf_get_current_task_btf();
    u64* saved = w->stacks->user.address; /* not used yet */
    w->stacks->machine.state = why_none(&w->stacks->user, task);
    if (w->stacks->machine.state)
        return 0;
    const u8* registers = bpf_task_pt_regs(task);
    bpf_probe_read_kernel(saved, SAVED * sizeof *saved, registers + SONDE_ENTRY_FIRST);
    bpf_probe_read_kernel(&w->fp, sizeof w->fp, registers + SONDE_REGS_FP);
    bpf_probe_read_kernel(&saved[SAVED], sizeof *saved, registers + SONDE_REGS_CALL_RESULT);
    s64 number = sonde_entry_number(saved[NUMBER]);
    w->stacks->machine.born = saved[SAVED] == 0 && sonde_is_clone((u64)number, saved[MODE]);
    if (SONDE_HAS_LINK && w->stacks->machine.born)
        w->stacks->machine.born = sonde_has_new_stack(saved, registers);
    w->stacks->machine.execs = sonde_is_exec((u64)number, saved[MODE]);
    w->pc = saved[SONDE_ENTRY_PC];
    w->sp = saved[SONDE_ENTRY_SP];
    if (SONDE_HAS_LINK) {
        w->stacks->machine.link = saved[SONDE_ENTRY_LINK];
        w->stacks->machine.has_link = 1;
    }
    /* A kernel thread in a process (for example of io_uring) has registers that never were in user space. */
    if (!sonde_is_user_mode(saved[MODE]) || (w->pc | w->sp) == 0)
        w->stacks->machine.state = SONDE_STACK_KERNEL_THREAD;
    if (sonde_is_32_bit_mode(saved[MODE]))
        w->stacks->machine.narrow = SONDE_RULE_NARROW;
    /* After a system call, pc points after the instruction, which may be the function's last one. The number of the call
     * does not show this: execve() and the delivery of a signal keep it, but set pc to the first instruction of other
     * code. Such code may not have run yet, so its page may not be in memory. */
    unsigned short before = 0;
    w->stacks->machine.exact_now = number < 0 ||
                                   bpf_probe_read_user(&before, sizeof before, (const void*)(w->pc - 2)) != 0 ||
                                   !sonde_is_system_call(before);
    return 0;
}

/* The start for a processor with a link register. The register belongs to the start if pc and sp do. */
RT u64 sonde_rt_begin_link(struct walk* w)
{
    struct task_struct* task = bpf_get_current_task_btf();
    struct sonde_machine* m = &w->stacks->machine;
    const u8* registers = bpf_task_pt_regs(task);
    u64 pc = 0, sp = 0, size = 0;
    struct mm_struct* mm = 0;
    bpf_probe_read_kernel(&m->link, 8, registers + 8 * SONDE_LINK);
    bpf_probe_read_kernel(&pc, 8, registers + SONDE_REGS_PC);
    bpf_probe_read_kernel(&sp, 8, registers + SONDE_REGS_SP);
    READ(mm, task->mm);
    READ(size, mm->task_size);
    m->has_link = pc == w->pc && sp == w->sp;
    m->is_loose = 0;
    m->address_bits = size - 1;
    return 0;
}

/* Unwinds the user's stack up to `most` addresses, unless that has happened already. */
ONCE int sonde_rt_unwind(struct sonde_stacks* stacks, u64 most)
{
    if (!stacks || stacks->user.state != SONDE_STACK_FRESH)
        return 0;
    struct sonde_stack* stack = &stacks->user;
    struct sonde_machine* m = &stacks->machine;
#ifdef __bpf__ /* elsewhere, no walk begins with a visit */
    if (stack->from == SONDE_FROM_VISIT) {
        struct task_struct* visited = (void*)stack->sp;
        /* Read in place, because a variable would take 32 bytes of the stack that all calls of a handler share. */
        stack->address[0] = 0;
        READ(*(s32*)stack->address, visited->pid);
        stack->depth = 0;
        stack->state = SONDE_STACK_VISITED;
        return 0;
    }
#endif
    struct walk w = {stacks, stack->pc, stack->sp, stack->fp};
    m->exact_now = 1;
    m->narrow = m->state = m->doubt = m->returns = m->born = m->execs = m->guessed_in_file = m->java_tries = 0;
    m->most = most;
    m->in = m->java = (struct sonde_found){};
    stacks->walk.inode = stacks->walk.loops[0] = stacks->walk.loops[1] = 0;
    if (SONDE_HAS_LINK)
        sonde_rt_begin_link(&w);
    if (stack->from != SONDE_FROM_REGISTERS)
        sonde_rt_begin_at_entry(&w);
    stack->depth = 0;
    if (m->state) {
        stack->state = m->state;
        return 0;
    }
    struct uprobe_task* probes = bpf_get_current_task_btf()->utask;
    stack->window_at = 0;
    if (probes) {
        READ(m->returns, probes->return_instances);
        w.pc = outside_of_copy(m, probes, w.pc);
    }
    m->at = m->since = m->wanted = m->loaded = 0;
    /* Each function is left once, and its registers are computed once; each may require a restart. */
    LOOP(3 * ((u32)most + 1), climb, &w);
    /* execve() releases the program's memory before the next program runs. Mappings may still be known then. */
    if (m->execs && m->state == SONDE_STACK_LOST && stack->window_at == 0) {
        m->state = SONDE_STACK_GONE;
        stack->depth = 0;
    }
    stack->state = m->state ? m->state : SONDE_STACK_LOST;
    if (m->doubt == SONDE_STACK_EARLY ? m->state != SONDE_STACK_CUT : m->doubt && m->state != SONDE_STACK_LOST)
        stack->state = m->doubt;
    if (stack->state >= SONDE_STACK_COUNTED)
        stack->fp = 0; /* not counted yet */
    return 0;
}

#ifndef __bpf__
/* Stores the registers of all functions for the session, which reads arguments of functions there. To be called right
 * after the stack was unwound. */
void sonde_rt_note_registers(struct sonde_stacks* stacks, struct sonde_walked_function* to)
{
    struct sonde_machine* m = &stacks->machine;
    struct walk w = {stacks, 0, 0, 0};
    if (stacks->user.depth == 0)
        return;
    load_registers(&w);
    m->since = 0;
    for (u64 i = 0; i < stacks->user.depth; i++) {
        const u64 has_caller = i + 1 < stacks->user.depth, has_cfa = i + 1 <= m->at && i + 1 < SONDE_STACK_MOST;
        m->registers[SONDE_PC] = stacks->user.address[i];
        m->registers[SONDE_SP] = m->sp[i];
        m->registers[SONDE_FP] = m->fp[i];
        to[i].is_native = 1;
        to[i].cfa = has_cfa ? m->sp[i + 1] : 0;
        to[i].known = m->known | BASIC;
        copy_bytes((u8*)to[i].registers, sizeof to[i].registers, (const u8*)m->registers);
        if (has_caller)
            work_out(&w);
    }
}
#else
extern u8 sonde_no_stacks; /* a map, defined by the script's module */

/* Counts a missing or incomplete stack that does not appear in the output, once for each hit. Uses fp as the mark,
 * which is free then. */
RT s64 sonde_rt_count_no_stack(struct sonde_stack* stack, u64 probe)
{
    u32 index = (u32)probe;
    if (stack->fp)
        return 0;
    stack->fp = 1;
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
/* Eight hexadecimal digits as the bytes of a word: each four bits become a byte, all in parallel. */
static inline u64 hexadecimal(u64 bits)
{
    u64 each = (bits | bits << 16) & 0x0000ffff0000ffff;
    each = (each | each << 8) & 0x00ff00ff00ff00ff;
    each = (each | each << 4) & 0x0f0f0f0f0f0f0f0f;
    u64 letters = (each + 0x0606060606060606) >> 4 & 0x0101010101010101; /* 1 for digits above 9 */
    return __builtin_bswap64(each + 0x3030303030303030 + letters * ('a' - '0' - 10));
}
/* The number of hexadecimal digits of a number, without branches (see below()). */
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
        /* Do not append a part of an address, because it would be another address. */
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
/* Writes `count` addresses, beginning with `first`, as "0x1234 0x5678". If count is negative, writes all. */
ONCE s64 sonde_rt_stack_text(struct sonde_slot* slot, struct sonde_stack* stack, u64 first, s64 count)
{
    NEED(slot && stack);
    write_text(slot, stack, first, count, 0);
    return 0;
}
/* The same, padded with NULs, in one of several notations of the same addresses. The lower three bits of `noughts`
 * are the number of additional leading zeros of the first address, the next three bits those of the second one. */
ONCE int sonde_rt_padded_stack_text(struct sonde_slot* slot, struct sonde_stack* stack, u64 first, s64 count, u64 noughts)
{
    NEED(slot && stack);
    write_text(slot, stack, first, count, noughts);
    u64 len = copy_bounded(slot->text, sonde_rt_max, slot->text);
    copy_bytes(slot->text + len, sonde_rt_max, sonde_rt_zeros);
    return 0;
}
#endif
