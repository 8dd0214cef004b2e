// Macros and small functions, and the BPF helpers. The address of a helper is its number (include/uapi/linux/bpf.h).
// clang-format off
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
#define PAGE_SIZE ((unsigned long)sonde_mem_page_size())
#define PAGE_SHIFT __builtin_ctzl(PAGE_SIZE)
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
#define EPERM 1
#define ENOENT 2
#define ESRCH 3
#define EINTR 4
#define EIO 5
#define ENXIO 6
#define E2BIG 7
#define ENOEXEC 8
#define EBADF 9
#define ECHILD 10
#define EAGAIN 11
#define EWOULDBLOCK 11
#define ENOMEM 12
#define EACCES 13
#define EFAULT 14
#define ENOTBLK 15
#define EBUSY 16
#define EEXIST 17
#define EXDEV 18
#define ENODEV 19
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ENFILE 23
#define EMFILE 24
#define ENOTTY 25
#define ETXTBSY 26
#define EFBIG 27
#define ENOSPC 28
#define ESPIPE 29
#define EROFS 30
#define EMLINK 31
#define EPIPE 32
#define EDOM 33
#define ERANGE 34
#define EDEADLK 35
#define ENAMETOOLONG 36
#define ENOLCK 37
#define ENOSYS 38
#define ENOTEMPTY 39
#define ELOOP 40
#define ENODATA 61
#define ETIME 62
#define EPROTO 71
#define EOVERFLOW 75
#define EILSEQ 84
#define ENOTSOCK 88
#define EMSGSIZE 90
#define EPROTONOSUPPORT 93
#define EOPNOTSUPP 95
#define EAFNOSUPPORT 97
#define EADDRINUSE 98
#define EADDRNOTAVAIL 99
#define ENETDOWN 100
#define ENETUNREACH 101
#define ECONNABORTED 103
#define ECONNRESET 104
#define ENOBUFS 105
#define EISCONN 106
#define ENOTCONN 107
#define ETIMEDOUT 110
#define ECONNREFUSED 111
#define EHOSTUNREACH 113
#define EALREADY 114
#define EINPROGRESS 115
#define ESTALE 116
#define EDQUOT 122
#define ECANCELED 125
#define STAP_VERSION(a, b) (((a) << 8) + (b))
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
#define WRITE_ONCE(x, value) ((x) = (value))
#define BITS_PER_LONG 64
#define __be16_to_cpu ntohs
#define be16_to_cpu ntohs
#define be32_to_cpu ntohl
#define be64_to_cpu __builtin_bswap64
#define ntohs(x) __builtin_bswap16(x)
#define htons(x) __builtin_bswap16(x)
#define ntohl(x) __builtin_bswap32(x)
#define htonl(x) __builtin_bswap32(x)
#define test_bit(bit, words) ((((const unsigned long *)(words))[(unsigned long)(bit) / 64] >> ((bit) & 63)) & 1)
#define MAJOR(number) ((unsigned)(number) >> 20)
#define MINOR(number) ((unsigned)(number) & 0xfffff)
#define MKDEV(major, minor) ((unsigned)(major) << 20 | (minor))
#define S_IFMT 0170000
#define S_ISLNK(mode) (((mode) & S_IFMT) == 0120000)
#define S_ISREG(mode) (((mode) & S_IFMT) == 0100000)
#define S_ISDIR(mode) (((mode) & S_IFMT) == 0040000)
#define S_ISCHR(mode) (((mode) & S_IFMT) == 0020000)
#define S_ISBLK(mode) (((mode) & S_IFMT) == 0060000)
#define S_ISFIFO(mode) (((mode) & S_IFMT) == 0010000)
#define S_ISSOCK(mode) (((mode) & S_IFMT) == 0140000)
#define S_DEAD 16
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16
#define AF_PACKET 17
#define SOCK_SNDBUF_LOCK 1
#define SOCK_RCVBUF_LOCK 2
#define RLIMIT_STACK 3
#define RLIMIT_NOFILE 7
#define _STK_LIM (8 * 1024 * 1024)
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
static long (*const bpf_probe_write_user)(void *, const void *, u32) = (void *)36;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*const bpf_get_current_uid_gid)(void) = (void *)15;
static long (*const bpf_get_current_comm)(void *, u32) = (void *)16;
static u64 (*const bpf_get_current_task)(void) = (void *)35;
static u64 (*const bpf_jiffies64)(void) = (void *)118;
static u64 (*const bpf_ktime_get_boot_ns)(void) = (void *)125;
static u64 (*const bpf_ktime_get_tai_ns)(void) = (void *)208;
static long (*const bpf_get_numa_node_id)(void) = (void *)42;
static u64 (*const bpf_get_current_cgroup_id)(void) = (void *)80;
static u64 (*const bpf_get_current_ancestor_cgroup_id)(int) = (void *)123;
static long (*const bpf_get_ns_current_pid_tgid)(u64, u64, void *, u32) = (void *)120;
static long (*const bpf_get_task_stack)(void *, void *, u32, u64) = (void *)141;
static void *(*const bpf_get_current_task_btf)(void) = (void *)158;
static void *(*const bpf_task_pt_regs)(void *) = (void *)175;
static long (*const bpf_snprintf)(char *, u32, const char *, const u64 *, u32) = (void *)165;

#define current ((struct task_struct *)bpf_get_current_task())
#define jiffies ((unsigned long)bpf_jiffies64())
#define smp_processor_id() ((int)bpf_get_smp_processor_id())
#define get_current() current

/* The verifier knows what is locked; handlers do not sleep, so that what RCU protects stays. */
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define rcu_dereference(pointer) (pointer)
#define rcu_dereference_raw(pointer) (pointer)
#define spin_lock(lock) ((void)0)
#define spin_unlock(lock) ((void)0)
#define get_task_struct(task) (task)
#define put_task_struct(task) ((void)0)
#define put_pid(pid) ((void)0)
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
#define sonde_hlist_entries(at, head, member)                                                                          \
    for (at = sonde_hlist_entry((head)->first, __typeof__(*(at)), member); at;                                         \
         at = sonde_hlist_entry((at)->member.next, __typeof__(*(at)), member))
/* Before Linux 3.9 the node was an argument of its own. */
#define sonde_hlist_entries_old(at, node, head, member)                                                                \
    for (node = (head)->first; node && (at = hlist_entry(node, __typeof__(*(at)), member), 1); node = node->next)
#define SONDE_FIFTH(a, b, c, d, e, ...) e
#define hlist_for_each_entry(...)                                                                                      \
    SONDE_FIFTH(__VA_ARGS__, sonde_hlist_entries_old, sonde_hlist_entries)(__VA_ARGS__)
#define hlist_for_each_entry_rcu hlist_for_each_entry

/* Replaced when everything is inlined: a slot that only an error's text is in, and the status of an error here. */
extern char *sonde_mark_work(void);
extern long sonde_mark_fail(void);
/* Ends it all with the error's text that lies in that slot. */
extern void sonde_mark_throw(void);
/* Ends it all unless the status of a call is 0. */
extern void sonde_mark_check(long status);
/* What calls of the script's functions take, and a slot for a text, another one for each place where it stands. */
extern void *sonde_mark_environment(void);
extern char *sonde_mark_slot(void);
/* The status of bpf_snprintf(): ends it all where the kernel had no room for the values (MAX_BPRINTF_BIN_ARGS). */
extern void sonde_mark_printed(long status);
/* A helper's status at that address; a negative one is a read that failed. */
extern void sonde_mark_read(long status, const void *from);

#define memcpy(to, from, size) __builtin_memcpy(to, from, size)
#define memmove memcpy
static inline void *sonde_memset(void *to, int byte, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((u8 *)to)[i] = (u8)byte;
    return to;
}
#define memset(to, byte, size)                                                                                         \
    __builtin_choose_expr(__builtin_constant_p(size), __builtin_memset(to, byte, size), sonde_memset(to, byte, size))

/* Dropped where nobody uses the number. */
extern size_t sonde_mark_length(const char *text) __attribute__((pure));
#define strlen(text) sonde_mark_length(text)
/* As the kernel's: the number is the length of what was to be copied, also where that had no room. */
static inline size_t strlcpy(char *to, const char *from, size_t size) {
    long length = bpf_probe_read_kernel_str(to, (u32)size, from);
    sonde_mark_read(length, from);
    return length < 0 ? 0 : length && (size_t)length < size ? (size_t)length - 1 : sonde_mark_length(from);
}
static inline long sonde_strscpy(char *to, const char *from, size_t size) {
    long length = bpf_probe_read_kernel_str(to, (u32)size, from);
    sonde_mark_read(length, from);
    return !size || (length > 0 && (size_t)length >= size && sonde_mark_length(from) >= size) ? -E2BIG : length - 1;
}
static inline size_t strlcat(char *to, const char *from, size_t size) {
    size_t at = strlen(to);
    return at >= size || at >= MAXSTRINGLEN ? at : at + strlcpy(to + (at & (MAXSTRINGLEN - 1)), from, size - at);
}
/* In a local array the place and the size are both unknown, which is nothing that the verifier follows. */
static inline size_t sonde_append(char *to, const char *from, size_t size) {
    size_t at = 0, i = 0;
    while (at < size && to[at])
        at++;
    for (; at + 1 < size && from[i]; i++)
        to[at++] = from[i];
    if (at < size)
        to[at] = 0;
    return from[i] ? at + sonde_mark_length(from + i) : at;
}
#define SONDE_IS_LOCAL(to) (__builtin_object_size(to, 1) < MAXSTRINGLEN)
#define strlcat(to, from, size)                                                                                        \
    (SONDE_IS_LOCAL(to) ? sonde_append(to, from, (size) < __builtin_object_size(to, 1) ? (size)                        \
                                                                                  : __builtin_object_size(to, 1))      \
                        : strlcat(to, from, size))
/* Without a size: that of the array, or of a string of the script. */
#define SONDE_ROOM(to) (__builtin_object_size(to, 1) < MAXSTRINGLEN ? __builtin_object_size(to, 1) : MAXSTRINGLEN)
#define strcpy(to, from) ({ char *to_ = (to); strlcpy(to_, from, SONDE_ROOM(to)); to_; })
#define strcat(to, from) ({ char *to_ = (to); strlcat(to_, from, SONDE_ROOM(to)); to_; })
#define sprintf(to, ...) snprintf(to, SONDE_ROOM(to), __VA_ARGS__)
#define SONDE_THIRD(a, b, c, ...) c
/* Since Linux 6.9 the size of an array need not be said. */
#define strscpy(to, ...) sonde_strscpy(to, SONDE_THIRD(__VA_ARGS__, SONDE_AS_SAID, SONDE_AS_ROOM)(to, __VA_ARGS__))
#define SONDE_AS_SAID(to, from, size) from, size
#define SONDE_AS_ROOM(to, from) from, SONDE_ROOM(to)
#define strscpy_pad strscpy
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

#define SONDE_NTH(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10,                                                         \
                  a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, one, ...) one
#define SONDE_MANY(...) ({ _Static_assert(0, "a format of C can have at most twelve values"); 0ull; })
#define SONDE_WORDS0()
#define SONDE_WORDS1(a) (u64)(a)
#define SONDE_WORDS2(a, ...) (u64)(a), SONDE_WORDS1(__VA_ARGS__)
#define SONDE_WORDS3(a, ...) (u64)(a), SONDE_WORDS2(__VA_ARGS__)
#define SONDE_WORDS4(a, ...) (u64)(a), SONDE_WORDS3(__VA_ARGS__)
#define SONDE_WORDS5(a, ...) (u64)(a), SONDE_WORDS4(__VA_ARGS__)
#define SONDE_WORDS6(a, ...) (u64)(a), SONDE_WORDS5(__VA_ARGS__)
#define SONDE_WORDS7(a, ...) (u64)(a), SONDE_WORDS6(__VA_ARGS__)
#define SONDE_WORDS8(a, ...) (u64)(a), SONDE_WORDS7(__VA_ARGS__)
#define SONDE_WORDS9(a, ...) (u64)(a), SONDE_WORDS8(__VA_ARGS__)
#define SONDE_WORDS10(a, ...) (u64)(a), SONDE_WORDS9(__VA_ARGS__)
#define SONDE_WORDS11(a, ...) (u64)(a), SONDE_WORDS10(__VA_ARGS__)
#define SONDE_WORDS12(a, ...) (u64)(a), SONDE_WORDS11(__VA_ARGS__)
#define SONDE_WORDS(...)                                                                                               \
    SONDE_NTH(_, ##__VA_ARGS__, SONDE_MANY, SONDE_MANY, SONDE_MANY, SONDE_MANY, SONDE_MANY, SONDE_MANY,                \
              SONDE_MANY, SONDE_MANY, SONDE_WORDS12, SONDE_WORDS11, SONDE_WORDS10, SONDE_WORDS9, SONDE_WORDS8,         \
              SONDE_WORDS7, SONDE_WORDS6, SONDE_WORDS5, SONDE_WORDS4, SONDE_WORDS3, SONDE_WORDS2, SONDE_WORDS1,        \
              SONDE_WORDS0)(__VA_ARGS__)
#define snprintf SONDE_PRINT
#define SONDE_PRINT(to, size, format, ...)                                                                             \
    ({                                                                                                                 \
        static const char format_[] = format;                                                                          \
        u64 words_[] = {SONDE_WORDS(__VA_ARGS__)};                                                                     \
        const long printed_ =                                                                                          \
            bpf_snprintf(to, size, format_, sizeof(words_) ? words_ : (u64 *)NULL, sizeof(words_));                    \
        sonde_mark_printed(printed_);                                                                                  \
        (int)printed_ - 1;                                                                                             \
    })
/* What was written, where snprintf() gives what there would have been. */
#define scnprintf(to, size, ...)                                                                                       \
    ({                                                                                                                 \
        const size_t room_ = (size);                                                                                   \
        const int whole_ = snprintf(to, room_, __VA_ARGS__);                                                           \
        whole_ < (long)room_ ? whole_ : room_ ? (int)room_ - 1 : 0;                                                    \
    })

#define STAP_RETVALUE THIS->__retvalue
#define sIzEoF(x) (__builtin_types_compatible_p(__typeof__(x), char *) ? MAXSTRINGLEN : sizeof(x))
#define STAP_NEXT                                                                                                      \
    do {                                                                                                               \
        THIS->__status = -2;                                                                                           \
        return;                                                                                                        \
    } while (0)
/* Reads are checked as they are. */
#define CATCH_DEREF_FAULT() ((void)0)
#define kderef(size, address)                                                                                          \
    ((size) == 1   ? (u64) * (const u8 *)(address)                                                                     \
     : (size) == 2 ? (u64) * (const u16 *)(address)                                                                    \
     : (size) == 4 ? (u64) * (const u32 *)(address)                                                                    \
                   : *(const u64 *)(address))
#define deref kderef
#define kderef_buffer(to, from, size)                                                                                  \
    ({                                                                                                                 \
        if ((to) != NULL)                                                                                              \
            memcpy((void *)(to), (const void *)(from), size);                                                          \
    })
#define kderef_string(to, from, size) strlcpy((char *)(to), (const char *)(from), size)
#define uread(pointer)                                                                                                 \
    ({                                                                                                                 \
        __typeof__(*(pointer)) value_ = {0};                                                                           \
        sonde_mark_read(bpf_probe_read_user(&value_, sizeof(value_), (pointer)), (pointer));                              \
        value_;                                                                                                        \
    })
#define uderef(size, address)                                                                                          \
    ((size) == 1   ? (u64)uread((const u8 *)(address))                                                                 \
     : (size) == 2 ? (u64)uread((const u16 *)(address))                                                                \
     : (size) == 4 ? (u64)uread((const u32 *)(address))                                                                \
                   : uread((const u64 *)(address)))
#define copy_from_user(to, from, size) (bpf_probe_read_user(to, size, from) ? (unsigned long)(size) : 0ul)
#define get_user(x, pointer) (bpf_probe_read_user(&(x), sizeof(x), (pointer)) ? -EFAULT : 0)
#define copy_to_user(to, from, size) (bpf_probe_write_user((void *)(to), from, size) ? (unsigned long)(size) : 0ul)
#define put_user(x, pointer)                                                                                           \
    ({                                                                                                                 \
        __typeof__(*(pointer)) value_ = (x);                                                                           \
        bpf_probe_write_user((void *)(pointer), &value_, sizeof(value_)) ? -EFAULT : 0;                                \
    })
#define _stp_error(...)                                                                                                \
    do {                                                                                                               \
        snprintf(sonde_mark_work(), MAXSTRINGLEN, __VA_ARGS__);                                                           \
        sonde_mark_throw();                                                                                               \
    } while (0)
#define STAP_ERROR(...)                                                                                                \
    do {                                                                                                               \
        SONDE_PRINT(sonde_mark_work(), MAXSTRINGLEN, __VA_ARGS__);                                                        \
        THIS->__status = sonde_mark_fail();                                                                               \
        return;                                                                                                        \
    } while (0)
