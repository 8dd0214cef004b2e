// Our own implementations of macros and inline functions of the kernel's headers, which BTF does not contain. Scripts
// written for kernel modules use them.
//
// A text gets only those that it uses, and those that these use. kernel_macros.h has the macros of one line; this file
// has everything else.
//
// A part begins with a line `//@ NAMES : TYPES`. A text gets the part if it uses one of the names. TYPES are names of
// kernel types that the part uses. `: closed` at the end: the names that the part uses select no other parts.
// clang-format off
//@ rb_first : rb_root rb_node
static inline struct rb_node *rb_first(const struct rb_root *root) {
    struct rb_node *at = root->rb_node;
    while (at && at->rb_left)
        at = at->rb_left;
    return at;
}
//@ rb_last : rb_root rb_node
static inline struct rb_node *rb_last(const struct rb_root *root) {
    struct rb_node *at = root->rb_node;
    while (at && at->rb_right)
        at = at->rb_right;
    return at;
}
//@ rb_next : rb_node
static inline struct rb_node *rb_next(const struct rb_node *node) {
    struct rb_node *at = (struct rb_node *)node, *up = at->rb_right;
    if (up) {
        for (at = up; at->rb_left;)
            at = at->rb_left;
        return at;
    }
    for (up = rb_parent(at); up && at == up->rb_right; up = rb_parent(at))
        at = up;
    return up;
}
//@ rb_prev : rb_node
static inline struct rb_node *rb_prev(const struct rb_node *node) {
    struct rb_node *at = (struct rb_node *)node, *up = at->rb_left;
    if (up) {
        for (at = up; at->rb_right;)
            at = at->rb_right;
        return at;
    }
    for (up = rb_parent(at); up && at == up->rb_left; up = rb_parent(at))
        at = up;
    return up;
}
// Bits of a mask above nr_cpu_ids are undefined.
//@ nr_cpu_ids cpumask_weight cpumask_first cpumask_next cpumask_empty for_each_cpu for_each_online_cpu for_each_possible_cpu for_each_present_cpu num_online_cpus num_possible_cpus num_present_cpus : cpumask
extern unsigned int nr_cpu_ids;
#define cpumask_weight(mask) bitmap_weight((mask)->bits, nr_cpu_ids)
#define cpumask_first(mask) ((unsigned)find_first_bit((mask)->bits, nr_cpu_ids))
#define cpumask_next(cpu, mask) ((unsigned)find_next_bit((mask)->bits, nr_cpu_ids, (unsigned)(cpu) + 1))
#define cpumask_empty(mask) (cpumask_first(mask) >= nr_cpu_ids)
/* One loop: before Linux 6.9 each one takes stack. */
#define for_each_cpu(cpu, mask)                                                                                        \
    for (cpu = 0; (unsigned)(cpu) < nr_cpu_ids; cpu++)                                                                 \
        if (!cpumask_test_cpu(cpu, mask)) {                                                                            \
        } else
//@ cpu_online_mask for_each_online_cpu cpu_online num_online_cpus : cpumask
extern struct cpumask __cpu_online_mask;
#define cpu_online_mask ((const struct cpumask *)&__cpu_online_mask)
#define for_each_online_cpu(cpu) for_each_cpu(cpu, cpu_online_mask)
#define cpu_online(cpu) cpumask_test_cpu(cpu, cpu_online_mask)
#define num_online_cpus() cpumask_weight(cpu_online_mask)
//@ cpu_possible_mask for_each_possible_cpu num_possible_cpus : cpumask
extern struct cpumask __cpu_possible_mask;
#define cpu_possible_mask ((const struct cpumask *)&__cpu_possible_mask)
#define for_each_possible_cpu(cpu) for_each_cpu(cpu, cpu_possible_mask)
#define num_possible_cpus() cpumask_weight(cpu_possible_mask)
//@ cpu_present_mask for_each_present_cpu num_present_cpus : cpumask
extern struct cpumask __cpu_present_mask;
#define cpu_present_mask ((const struct cpumask *)&__cpu_present_mask)
#define for_each_present_cpu(cpu) for_each_cpu(cpu, cpu_present_mask)
#define num_present_cpus() cpumask_weight(cpu_present_mask)
//@ find_next_bit find_first_bit for_each_set_bit find_next_zero_bit find_first_zero_bit bitmap_weight :
static inline unsigned long sonde_next_bit(const unsigned long *words, unsigned long size, unsigned long from,
                                           unsigned long flip) {
    for (unsigned long i = from / 64; i * 64 < size; i++) {
        unsigned long word = (words[i] ^ flip) & (i == from / 64 ? ~0ul << (from & 63) : ~0ul);
        if (word) {
            unsigned long bit = i * 64 + (unsigned long)__builtin_ctzl(word);
            return bit < size ? bit : size;
        }
    }
    return size;
}
#define find_next_bit(words, size, from) sonde_next_bit(words, size, from, 0)
#define find_first_bit(words, size) sonde_next_bit(words, size, 0, 0)
#define find_next_zero_bit(words, size, from) sonde_next_bit(words, size, from, ~0ul)
#define find_first_zero_bit(words, size) sonde_next_bit(words, size, 0, ~0ul)
#define for_each_set_bit(bit, words, size)                                                                             \
    for (bit = find_first_bit(words, size); bit < (size); bit = find_next_bit(words, size, bit + 1))
static inline unsigned bitmap_weight(const unsigned long *words, unsigned size) {
    unsigned count = 0;
    for (unsigned i = 0; i * 64 < size; i++)
        count += (unsigned)__builtin_popcountl(words[i] & (size - i * 64 < 64 ? (1ul << (size & 63)) - 1 : ~0ul));
    return count;
}
//@ int_sqrt :
static inline unsigned long int_sqrt(unsigned long x) {
    unsigned long root = 0;
    for (unsigned long bit = 1ul << 62; bit; bit >>= 2) {
        if (x >= root + bit) {
            x -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return root;
}
//@ gcd :
static inline unsigned long gcd(unsigned long a, unsigned long b) {
    while (b) {
        unsigned long rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
//@ lcm :
static inline unsigned long lcm(unsigned long a, unsigned long b) { return a && b ? a / gcd(a, b) * b : 0; }
//@ hex_to_bin :
static inline int hex_to_bin(u8 c) {
    return (u8)(c - '0') < 10 ? c - '0' : (u8)((c | 32) - 'a') < 6 ? (c | 32) - 'a' + 10 : -1;
}
//@ strspn strcspn strpbrk :
/* How many bytes at the beginning are among these, or are not. */
static inline size_t sonde_span(const char *text, const char *these, int is_among) {
    size_t at = 0;
    for (; text[at]; at++) {
        int found = 0;
        for (const char *one = these; *one; one++)
            found |= *one == text[at];
        if (found != is_among)
            break;
    }
    return at;
}
#define strspn(text, these) sonde_span(text, these, 1)
#define strcspn(text, these) sonde_span(text, these, 0)
static inline char *strpbrk(const char *text, const char *these) {
    size_t at = sonde_span(text, these, 0);
    return text[at] ? (char *)text + at : NULL;
}
//@ skip_spaces :
static inline char *skip_spaces(const char *text) {
    while (isspace(*text))
        text++;
    return (char *)text;
}
//@ cpu_rq : rq
extern struct rq runqueues;
#define cpu_rq(number) per_cpu_ptr(&runqueues, number)
//@ pid_nr : pid upid numbers
static inline int pid_nr(struct pid *pid) { return pid ? pid->numbers[0].nr : 0; }
//@ ns_of_pid : pid upid numbers pid_namespace
static inline struct pid_namespace *ns_of_pid(struct pid *pid) {
    return pid ? pid->numbers[pid->level].ns : NULL;
}
//@ pid_nr_ns : pid upid numbers pid_namespace
static inline int pid_nr_ns(struct pid *pid, struct pid_namespace *space) {
    if (!pid || space->level > pid->level || pid->numbers[space->level].ns != space)
        return 0;
    return pid->numbers[space->level].nr;
}
//@ pid_vnr : task_struct thread_pid
static inline int pid_vnr(struct pid *pid) { return pid_nr_ns(pid, ns_of_pid(current->thread_pid)); }
//@ strnlen :
static inline size_t strnlen(const char *text, size_t size) {
    size_t at = 0;
    while (at < size && text[at])
        at++;
    return at;
}
//@ strchr strchrnul :
static inline char *strchrnul(const char *text, int c) {
    while (*text && *text != (char)c)
        text++;
    return (char *)text;
}
static inline char *strchr(const char *text, int c) {
    while (*text && *text != (char)c)
        text++;
    return *text == (char)c ? (char *)text : NULL;
}
//@ strrchr :
static inline char *strrchr(const char *text, int c) {
    long found = -1;
    for (long i = 0;; i++) {
        if (text[i] == (char)c)
            found = i;
        if (!text[i])
            break;
    }
    return found < 0 ? NULL : (char *)text + found;
}
//@ kbasename :
static inline const char *kbasename(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
//@ memchr :
static inline void *memchr(const void *from, int c, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const u8 *)from)[i] == (u8)c)
            return (void *)((const u8 *)from + i);
    return NULL;
}
//@ strstr strnstr :
static inline char *strnstr(const char *text, const char *part, size_t size) {
    for (size_t i = 0, same = 0; i + same < size;) {
        if (!part[same])
            return (char *)text + i;
        if (!text[i + same])
            break;
        if (text[i + same] == part[same]) {
            same++;
        } else {
            same = 0;
            i++;
        }
    }
    return NULL;
}
#define strstr(text, part) strnstr(text, part, MAXSTRINGLEN)
//@ strcasecmp strncasecmp :
static inline int strncasecmp(const char *a, const char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        int x = (u8)a[i], y = (u8)b[i];
        x += (u8)(x - 'A') < 26 ? 32 : 0;
        y += (u8)(y - 'A') < 26 ? 32 : 0;
        if (x != y)
            return x - y;
        if (!x)
            break;
    }
    return 0;
}
#define strcasecmp(a, b) strncasecmp(a, b, MAXSTRINGLEN)
//@ strncpy :
static inline char *sonde_strncpy(char *to, const char *from, size_t size) {
    for (size_t i = 0, is_over = 0; i < size; i++) {
        is_over = is_over || !from[i];
        to[i] = is_over ? 0 : from[i];
    }
    return to;
}
/* A string of the script always ends. */
#define strncpy(to, from, size)                                                                                        \
    ({                                                                                                                 \
        char *to_ = (to);                                                                                              \
        SONDE_IS_LOCAL(to) ? (void)sonde_strncpy(to_, from, size) : (void)strlcpy(to_, from, size);                    \
        to_;                                                                                                           \
    })
//@ strncat :
static inline char *strncat(char *to, const char *from, size_t size) {
    size_t at = 0;
    while (to[at])
        at++;
    for (size_t i = 0; i < size && from[i]; i++)
        to[at++] = from[i];
    to[at] = 0;
    return to;
}
//@ sonde_kstrto :
/* `below`: how far a number can be below 0; none: a sign is no part of it. */
static inline int sonde_kstrto(const char *text, unsigned base, unsigned long *result, int *is_negative,
                               unsigned long below, unsigned long most) {
    unsigned long value = 0;
    int at = 0, digits = 0;
    *is_negative = below && text[0] == '-';
    at += *is_negative || text[0] == '+';
    if ((base == 0 || base == 16) && text[at] == '0' && (text[at + 1] | 32) == 'x') {
        at += 2;
        base = 16;
    } else if (base == 0) {
        base = text[at] == '0' ? 8 : 10;
    }
    for (;; at++) {
        unsigned c = (u8)text[at], digit = c - '0' < 10u ? c - '0' : (c | 32) - 'a' < 26u ? (c | 32) - 'a' + 10 : 99;
        if (digit >= base)
            break;
        if (digits++ > 63 || value > (~0ul - digit) / base)
            return -ERANGE;
        value = value * base + digit;
    }
    at += text[at] == '\n';
    if (!digits || text[at])
        return -EINVAL;
    if (value > (*is_negative ? below : most))
        return -ERANGE;
    *result = value;
    return 0;
}
//@ SONDE_SIMPLE :
static inline long sonde_strtol(const char *text, unsigned base, int *length, int has_sign) {
    unsigned long value = 0;
    int at = 0, is_negative = has_sign && text[0] == '-';
    at += is_negative;
    if ((base == 0 || base == 16) && text[at] == '0' && (text[at + 1] | 32) == 'x') {
        at += 2;
        base = 16;
    } else if (base == 0) {
        base = text[at] == '0' ? 8 : 10;
    }
    for (;; at++) {
        unsigned c = (u8)text[at], digit = c - '0' < 10u ? c - '0' : (c | 32) - 'a' < 26u ? (c | 32) - 'a' + 10 : 99;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    *length = at;
    return is_negative ? -(long)value : (long)value;
}
#define SONDE_SIMPLE(text, end, base, has_sign)                                                                        \
    ({                                                                                                                 \
        char *text_ = (char *)(text), **end_ = (char **)(end);                                                         \
        int length_ = 0;                                                                                               \
        long value_ = sonde_strtol(text_, base, &length_, has_sign);                                                   \
        if (end_)                                                                                                      \
            *end_ = text_ + length_;                                                                                   \
        value_;                                                                                                        \
    })
