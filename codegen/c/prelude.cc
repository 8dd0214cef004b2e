#include "codegen/c/prelude.h"

namespace sonde {

const char* const c_basic_types = R"(
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef u8 uint8_t;
typedef u16 uint16_t;
typedef u32 uint32_t;
typedef s8 int8_t;
typedef s16 int16_t;
typedef s32 int32_t;
typedef s64 int64_t;
typedef u64 uint64_t;
typedef _Bool bool;
typedef unsigned long size_t;
typedef long ssize_t;
typedef unsigned long uintptr_t;
typedef unsigned int gfp_t;
)";

// Helpers of BPF are addresses that are their numbers (include/uapi/linux/bpf.h).
const char* const c_prelude = R"(
#define NULL ((void *)0)
#define true 1
#define false 0
#define CHAR_BIT 8
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffl
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xfffffffffffffffful
#define LLONG_MAX 0x7fffffffffffffffll
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 0xffffffffffffffffull
#define PAGE_SHIFT 12
#define PAGE_SIZE (1ul << PAGE_SHIFT)
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
#define STAP_VERSION(a, b) (((a) << 8) + (b))
#define STAP_COMPAT_VERSION STAP_VERSION(5, 6)
#define likely(x) (x)
#define unlikely(x) (x)
#define __user
#define __kernel
#define __rcu
#define __iomem
#define __force
#define __percpu
#define inline inline __attribute__((unused))
#define offsetof(type, member) __builtin_offsetof(type, member)
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define READ_ONCE(x) (x)
#define kread(pointer) (*(pointer))
#define min(a, b) ({ __auto_type a_ = (a); __auto_type b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __auto_type a_ = (a); __auto_type b_ = (b); a_ > b_ ? a_ : b_; })
#define IS_ERR(pointer) ((unsigned long)(pointer) >= (unsigned long)-4095)
#define IS_ERR_OR_NULL(pointer) (!(pointer) || IS_ERR(pointer))
#define PTR_ERR(pointer) ((long)(pointer))

static long (*const bpf_probe_read_kernel)(void *, u32, const void *) = (void *)113;
static long (*const bpf_probe_read_user)(void *, u32, const void *) = (void *)112;
static long (*const bpf_probe_read_kernel_str)(void *, u32, const void *) = (void *)115;
static long (*const bpf_probe_read_user_str)(void *, u32, const void *) = (void *)114;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*const bpf_get_current_uid_gid)(void) = (void *)15;
static long (*const bpf_get_current_comm)(void *, u32) = (void *)16;
static u64 (*const bpf_get_current_task)(void) = (void *)35;
static u64 (*const bpf_jiffies64)(void) = (void *)118;
static long (*const bpf_snprintf)(char *, u32, const char *, const u64 *, u32) = (void *)165;

#define current ((struct task_struct *)bpf_get_current_task())
#define jiffies ((unsigned long)bpf_jiffies64())
#define smp_processor_id() ((int)bpf_get_smp_processor_id())
#define get_current() current

/* The verifier knows what is locked; handlers do not sleep, so that what RCU protects stays. */
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define rcu_dereference(pointer) (pointer)
#define preempt_disable() ((void)0)
#define preempt_enable() ((void)0)

#define list_entry(pointer, type, member) container_of(pointer, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_next_entry(at, member) list_entry((at)->member.next, __typeof__(*(at)), member)
#define list_empty(head) ((head)->next == (head))
#define list_for_each(at, head) for (at = (head)->next; at != (head); at = at->next)
#define list_for_each_safe(at, after, head)                                                                            \
    for (at = (head)->next; at != (head) && (after = at->next, 1); at = after)
#define list_for_each_entry(at, head, member)                                                                          \
    for (at = list_first_entry(head, __typeof__(*at), member); &at->member != (head); at = list_next_entry(at, member))
#define list_for_each_entry_safe(at, after, head, member)                                                              \
    for (at = list_first_entry(head, __typeof__(*at), member);                                                         \
         &at->member != (head) && (after = list_next_entry(at, member), 1); at = after)
#define list_for_each_entry_rcu list_for_each_entry
#define list_for_each_rcu list_for_each
#define hlist_entry(pointer, type, member) container_of(pointer, type, member)
#define hlist_for_each(at, head) for (at = (head)->first; at; at = at->next)
#define sonde_hlist_entry(pointer, type, member)                                                                       \
    ({ __auto_type node_ = (pointer); node_ ? hlist_entry(node_, type, member) : (type *)NULL; })
#define hlist_for_each_entry(at, head, member)                                                                         \
    for (at = sonde_hlist_entry((head)->first, __typeof__(*(at)), member); at;                                         \
         at = sonde_hlist_entry((at)->member.next, __typeof__(*(at)), member))
#define hlist_for_each_entry_rcu hlist_for_each_entry

/* Replaced when everything is inlined: a slot that only an error's text is in, and the status of an error here. */
extern char *sonde_c_work(void);
extern long sonde_c_fail(void);
/* A helper's status at that address; a negative one is a read that failed. */
extern void sonde_c_read(long status, const void *from);

#define memcpy(to, from, size) __builtin_memcpy(to, from, size)
#define memset(to, byte, size) __builtin_memset(to, byte, size)

static inline size_t strlcpy(char *to, const char *from, size_t size) {
    long length = bpf_probe_read_kernel_str(to, (u32)size, from);
    sonde_c_read(length, from);
    return (size_t)length - 1;
}
static inline size_t strlen(const char *text) { return strlcpy(sonde_c_work(), text, MAXSTRINGLEN); }
static inline size_t strlcat(char *to, const char *from, size_t size) {
    size_t at = strlen(to);
    return at >= size || at >= MAXSTRINGLEN ? at : at + strlcpy(to + (at & (MAXSTRINGLEN - 1)), from, size - at);
}
/* Without a size: that of the array, or of a string of the script. */
#define SONDE_ROOM(to) (__builtin_object_size(to, 1) < MAXSTRINGLEN ? __builtin_object_size(to, 1) : MAXSTRINGLEN)
#define strcpy(to, from) ({ char *to_ = (to); strlcpy(to_, from, SONDE_ROOM(to)); to_; })
#define strcat(to, from) ({ char *to_ = (to); strlcat(to_, from, SONDE_ROOM(to)); to_; })
#define sprintf(to, ...) snprintf(to, SONDE_ROOM(to), __VA_ARGS__)
#define strscpy(to, from, size) ((long)strlcpy(to, from, size))
static inline int strncmp(const char *a, const char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        u8 x = (u8)a[i], y = (u8)b[i];
        if (x != y)
            return x < y ? -1 : 1;
        if (!x)
            break;
    }
    return 0;
}
static inline int strcmp(const char *a, const char *b) { return strncmp(a, b, MAXSTRINGLEN); }
static inline int memcmp(const void *a, const void *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        u8 x = ((const u8 *)a)[i], y = ((const u8 *)b)[i];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

#define SONDE_NTH(a, b, c, d, e, f, g, h, i, n, ...) n
#define SONDE_WORDS0()
#define SONDE_WORDS1(a) (u64)(a)
#define SONDE_WORDS2(a, ...) (u64)(a), SONDE_WORDS1(__VA_ARGS__)
#define SONDE_WORDS3(a, ...) (u64)(a), SONDE_WORDS2(__VA_ARGS__)
#define SONDE_WORDS4(a, ...) (u64)(a), SONDE_WORDS3(__VA_ARGS__)
#define SONDE_WORDS5(a, ...) (u64)(a), SONDE_WORDS4(__VA_ARGS__)
#define SONDE_WORDS6(a, ...) (u64)(a), SONDE_WORDS5(__VA_ARGS__)
#define SONDE_WORDS7(a, ...) (u64)(a), SONDE_WORDS6(__VA_ARGS__)
#define SONDE_WORDS8(a, ...) (u64)(a), SONDE_WORDS7(__VA_ARGS__)
#define SONDE_WORDS(...)                                                                                               \
    SONDE_NTH(_, ##__VA_ARGS__, SONDE_WORDS8, SONDE_WORDS7, SONDE_WORDS6, SONDE_WORDS5, SONDE_WORDS4, SONDE_WORDS3,    \
              SONDE_WORDS2, SONDE_WORDS1, SONDE_WORDS0)(__VA_ARGS__)
#define snprintf(to, size, format, ...)                                                                                \
    ({                                                                                                                 \
        static const char format_[] = format;                                                                          \
        u64 words_[] = {SONDE_WORDS(__VA_ARGS__)};                                                                     \
        (int)bpf_snprintf(to, size, format_, sizeof(words_) ? words_ : (u64 *)NULL, sizeof(words_)) - 1;               \
    })
#define scnprintf snprintf

#define STAP_RETVALUE THIS->__retvalue
#define STAP_ERROR(...)                                                                                                \
    do {                                                                                                               \
        snprintf(sonde_c_work(), MAXSTRINGLEN, __VA_ARGS__);                                                           \
        THIS->__status = sonde_c_fail();                                                                               \
        return;                                                                                                        \
    } while (0)
)";

} // namespace sonde
