/* Runs the routines for user stacks in the session's process, for a thread that does not run
 * (runtime/plan/thread_walk.h).
 *
 * In handlers, the routines take the thread from the current task, and data from maps. Here they take both from the
 * walk, through the macros of elsewhere.h. Only their environment differs, so a stack is the same in both. */
#include "files.h"

#include "../../runtime/plan/java.h"
#include "../../runtime/plan/javascript.h"
#include "../../runtime/plan/php.h"
#include "../../runtime/plan/python.h"
#include "../../runtime/plan/ruby.h"
#include "../../runtime/plan/thread_walk.h"

/* Their addresses stand for the maps. */
u8 sonde_files, sonde_rules, sonde_frame_cache, sonde_frame_names, sonde_python_cache;
#define LANGUAGE_RUNTIME(id, name, ...) u8 sonde_##name;
#include "../../runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
const u32 sonde_rt_max = 4096;
const u8 sonde_rt_zeros[sizeof(struct sonde_interpreted_name)];

/* The current walk, with the kernel's structures of its thread. */
static struct {
    struct sonde_thread_walk* walk;
    struct task_struct task;
    struct {
        struct mm_struct mm;
        u64 auxiliary[SONDE_THREAD_AUXILIARY]; /* mm.saved_auxv goes on here */
    } memory;
} now;
_Static_assert(sizeof now.memory.mm == __builtin_offsetof(struct mm_struct, saved_auxv) + 8, "saved_auxv is the last one");

struct task_struct* sonde_elsewhere_task(void) { return &now.task; }
const u8* sonde_elsewhere_registers(void) { return (const u8*)now.walk->thread->registers; }
u64 sonde_elsewhere_numbers(void) { return now.walk->thread->process << 32 | now.walk->thread->thread; }

/* As the helper, clears the result on a fault. */
long sonde_elsewhere_read(void* to, u32 size, const void* address)
{
    if (now.walk->read(now.walk->context, to, size, (u64)address) == 0)
        return 0;
    __builtin_memset(to, 0, size);
    return -14; /* EFAULT */
}
long sonde_elsewhere_read_string(void* to, u32 size, const void* address)
{
    u8* text = to;
    for (u32 i = 0; i < size; i++) {
        if (now.walk->read(now.walk->context, text + i, 1, (u64)address + i) != 0) {
            __builtin_memset(to, 0, size);
            return -14;
        }
        if (!text[i])
            return i + 1;
    }
    if (size)
        text[size - 1] = 0;
    return size;
}

void* sonde_elsewhere_element(void* map, const void* key)
{
    struct sonde_thread_walk* walk = now.walk;
    u32 index = *(const u32*)key;
    if (map == &sonde_files)
        return (void*)walk->find_table(walk->context, *(const u64*)key);
    if (map == &sonde_rules)
        return &walk->caches->rules;
    if (map == &sonde_frame_cache)
        return &walk->caches->frames;
    if (map == &sonde_python_cache)
        return &walk->caches->python;
    if (map == &sonde_frame_names)
        return walk->find_name(walk->context, index);
#define LANGUAGE_RUNTIME(id, name, ...)                                                                                \
    if (map == &sonde_##name)                                                                                          \
        return (void*)walk->find_interpreter(walk->context, SONDE_LANGUAGE_##id, index);
#include "../../runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
    const struct sonde_walk_table* table = map;
    return index < table->count ? (void*)&table->words[index] : 0;
}

int sonde_rt_find_mapping(u64 address, struct sonde_found* m)
{
    if (address >= m->at.start && address < m->at.end)
        return 1;
    *m = (struct sonde_found){};
    if (!now.walk->find_mapping(now.walk->context, address, m)) {
        m->at.end = 0;
        return 0;
    }
    m->at.process = now.walk->thread->process;
    return 1;
}

int sonde_rt_unwind(struct sonde_stacks* stacks, u64 most);
void sonde_rt_note_registers(struct sonde_stacks* stacks, struct sonde_walked_function* to);
int sonde_rt_merge_interpreted(struct sonde_stacks* stacks, u64 most);
#define LANGUAGE_RUNTIME(id, name, ...) int sonde_rt_follow_##name(struct sonde_stacks* stacks, u64 most);
#include "../../runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME

static void copy_structures(const struct sonde_thread* thread)
{
    now.task = (struct task_struct){
        .flags = (u32)thread->flags,
        .pid = (s32)thread->thread,
        .tgid = (s32)thread->process,
        .mm = thread->memory ? &now.memory.mm : 0,
        .self_exec_id = thread->exec_id,
        .clear_child_tid = (int*)thread->clear_child_tid,
        .thread.SONDE_THREAD_POINTER = thread->thread_pointer,
    };
    now.memory.mm = (struct mm_struct){
        .start_code = thread->start_code,
        .exec_vm = thread->code_pages,
        .task_size = thread->task_size,
    };
    u8* auxiliary = (u8*)&now.memory + __builtin_offsetof(struct mm_struct, saved_auxv);
    __builtin_memcpy(auxiliary, thread->auxiliary, sizeof thread->auxiliary);
}

/* Puts the registers of functions where the merge has put their addresses. */
static void move_functions(struct sonde_thread_walk* walk)
{
    static struct sonde_walked_function native[SONDE_STACK_MOST];
    __builtin_memcpy(native, walk->functions, sizeof native);
    __builtin_memset(walk->functions, 0, sizeof walk->functions);
    for (u64 i = 0; i < walk->stacks.user.depth; i++)
        if (walk->stacks.machine.looked[i] < SONDE_STACK_MOST)
            walk->functions[i] = native[walk->stacks.machine.looked[i]];
}

void sonde_walk_thread(struct sonde_thread_walk* walk)
{
    struct sonde_stacks* stacks = &walk->stacks;
    now.walk = walk;
    copy_structures(walk->thread);
    __builtin_memset(walk->functions, 0, sizeof walk->functions);
    stacks->user.from = SONDE_FROM_ENTRY;
    stacks->user.pc = stacks->user.sp = stacks->user.fp = stacks->user.depth = stacks->left = 0;
    stacks->user.state = stacks->interpreted.state = SONDE_STACK_FRESH;
    stacks->walk.is_followed = 0;
    sonde_rt_unwind(stacks, walk->most);
    sonde_rt_note_registers(stacks, walk->functions);
    if ((stacks->walk.loops[0] | stacks->walk.loops[1]) == 0)
        return;
#define LANGUAGE_RUNTIME(id, name, ...) sonde_rt_follow_##name(stacks, walk->most);
#include "../../runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
    const u64 is_followed = stacks->walk.is_followed;
    sonde_rt_merge_interpreted(stacks, walk->most);
    if (is_followed)
        move_functions(walk);
}
