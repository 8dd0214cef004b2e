// Our own implementations of one-line macros and inline functions of the kernel's headers, by their names. Each line is
// a part: a text gets only the lines that it uses, and those that these use.
//
// The problem: BTF describes the kernel's types and functions, but neither macros nor inline functions. Scripts that
// were written for kernel modules use hundreds of them. If all were defined, compiling would be slow, and a name of the
// script could collide with one of them.
//
// The idea: choose_parts() in compile.cc cuts this text at each `#define`, and takes the next word as the name of the
// part. For a script with `list_last_entry(...)`, it selects that line, and then the lines for the names that occur in
// it:
//
//     define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
//
// A name that the script defines itself selects nothing.
//
// What would break this:
// * A macro on several lines. It must be a part in kernel_parts.h instead.
// * A member that differs between kernels. Such a macro compiles only if the kernel has the member, and clang's message
//   then names the script's line.
// clang-format off
#define list_entry_rcu(pointer, type, member) container_of(pointer, type, member)
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) (list_empty(head) ? (type *)NULL : list_first_entry(head, type, member))
#define list_prev_entry(at, member) list_entry((at)->member.prev, __typeof__(*(at)), member)
#define list_is_first(at, head) ((at)->prev == (head))
#define list_is_last(at, head) ((at)->next == (head))
#define list_is_head(at, head) ((at) == (head))
#define list_is_singular(head) (!list_empty(head) && (head)->next == (head)->prev)
#define list_entry_is_head(at, head, member) (&(at)->member == (head))
#define list_for_each_prev(at, head) for (at = (head)->prev; at != (head); at = at->prev)
#define list_for_each_entry_reverse(at, head, member) for (at = list_last_entry(head, __typeof__(*at), member); &at->member != (head); at = list_prev_entry(at, member))
#define list_for_each_entry_continue(at, head, member) for (at = list_next_entry(at, member); &at->member != (head); at = list_next_entry(at, member))
#define list_for_each_entry_from(at, head, member) for (; &at->member != (head); at = list_next_entry(at, member))
#define list_for_each_entry_continue_rcu list_for_each_entry_continue
#define list_for_each_entry_lockless list_for_each_entry
#define hlist_empty(head) (!(head)->first)
#define hlist_unhashed(node) (!(node)->pprev)
#define hlist_for_each_safe(at, after, head) for (at = (head)->first; at && (after = at->next, 1); at = after)
#define rb_entry(pointer, type, member) container_of(pointer, type, member)
#define rb_parent(node) ((struct rb_node *)((node)->__rb_parent_color & ~3ul))
#define rb_first_cached(root) ((root)->rb_leftmost)
#define RB_EMPTY_ROOT(root) (!(root)->rb_node)
#define RB_EMPTY_NODE(node) ((node)->__rb_parent_color == (unsigned long)(node))
#define sk_family __sk_common.skc_family
#define sk_state __sk_common.skc_state
#define sk_daddr __sk_common.skc_daddr
#define sk_rcv_saddr __sk_common.skc_rcv_saddr
#define sk_dport __sk_common.skc_dport
#define sk_num __sk_common.skc_num
#define sk_v6_daddr __sk_common.skc_v6_daddr
#define sk_v6_rcv_saddr __sk_common.skc_v6_rcv_saddr
#define sk_bound_dev_if __sk_common.skc_bound_dev_if
#define sk_prot __sk_common.skc_prot
#define sk_hash __sk_common.skc_hash
#define sk_refcnt __sk_common.skc_refcnt
#define sk_cookie __sk_common.skc_cookie
#define sk_reuse __sk_common.skc_reuse
#define sk_net __sk_common.skc_net
#define inet_daddr sk.__sk_common.skc_daddr
#define inet_rcv_saddr sk.__sk_common.skc_rcv_saddr
#define inet_dport sk.__sk_common.skc_dport
#define inet_num sk.__sk_common.skc_num
#define inet_sk(socket) ((struct inet_sock *)(socket))
#define inet_csk(socket) ((struct inet_connection_sock *)(socket))
#define tcp_sk(socket) ((struct tcp_sock *)(socket))
#define udp_sk(socket) ((struct udp_sock *)(socket))
#define unix_sk(socket) ((struct unix_sock *)(socket))
#define raw_sk(socket) ((struct raw_sock *)(socket))
#define netlink_sk(socket) ((struct netlink_sock *)(socket))
#define inet6_sk(socket) (inet_sk(socket)->pinet6)
#define inet_rsk(request) ((struct inet_request_sock *)(request))
#define sock_net(socket) ((socket)->__sk_common.skc_net.net)
#define dev_net(device) ((device)->nd_net.net)
#define skb_network_header(skb) ((skb)->head + (skb)->network_header)
#define skb_transport_header(skb) ((skb)->head + (skb)->transport_header)
#define skb_mac_header(skb) ((skb)->head + (skb)->mac_header)
#define skb_network_offset(skb) ((int)(skb_network_header(skb) - (skb)->data))
#define skb_transport_offset(skb) ((int)(skb_transport_header(skb) - (skb)->data))
#define skb_headlen(skb) ((skb)->len - (skb)->data_len)
#define skb_is_nonlinear(skb) ((skb)->data_len)
#define skb_end_pointer(skb) ((skb)->head + (skb)->end)
#define skb_tail_pointer(skb) ((skb)->head + (skb)->tail)
#define skb_shinfo(skb) ((struct skb_shared_info *)skb_end_pointer(skb))
#define ip_hdr(skb) ((struct iphdr *)skb_network_header(skb))
#define ipv6_hdr(skb) ((struct ipv6hdr *)skb_network_header(skb))
#define arp_hdr(skb) ((struct arphdr *)skb_network_header(skb))
#define tcp_hdr(skb) ((struct tcphdr *)skb_transport_header(skb))
#define udp_hdr(skb) ((struct udphdr *)skb_transport_header(skb))
#define icmp_hdr(skb) ((struct icmphdr *)skb_transport_header(skb))
#define icmp6_hdr(skb) ((struct icmp6hdr *)skb_transport_header(skb))
#define eth_hdr(skb) ((struct ethhdr *)skb_mac_header(skb))
#define tcp_hdrlen(skb) (tcp_hdr(skb)->doff * 4)
#define ip_hdrlen(skb) (ip_hdr(skb)->ihl * 4)
#define NIPQUAD(address) ((const u8 *)&(address))[0], ((const u8 *)&(address))[1], ((const u8 *)&(address))[2], ((const u8 *)&(address))[3]
#define NIPQUAD_FMT "%u.%u.%u.%u"
#define ETH_ALEN 6
#define ETH_HLEN 14
#define ETH_P_IP 0x0800
#define ETH_P_ARP 0x0806
#define ETH_P_8021Q 0x8100
#define ETH_P_IPV6 0x86dd
#define ETH_P_ALL 0x0003
#define IFNAMSIZ 16
#define INADDR_ANY 0u
#define INADDR_LOOPBACK 0x7f000001u
#define task_pid_nr(task) ((task)->pid)
#define task_tgid_nr(task) ((task)->tgid)
#define task_ppid_nr(task) ((task)->real_parent->tgid)
#define task_pid(task) ((task)->thread_pid)
#define task_tgid(task) ((task)->signal->pids[PIDTYPE_TGID])
#define task_pgrp(task) ((task)->signal->pids[PIDTYPE_PGID])
#define task_session(task) ((task)->signal->pids[PIDTYPE_SID])
#define task_pgrp_nr(task) pid_nr(task_pgrp(task))
#define task_session_nr(task) pid_nr(task_session(task))
#define task_pid_vnr(task) pid_vnr(task_pid(task))
#define task_tgid_vnr(task) pid_vnr(task_tgid(task))
#define task_pgrp_vnr(task) pid_vnr(task_pgrp(task))
#define task_session_vnr(task) pid_vnr(task_session(task))
#define task_pid_nr_ns(task, space) pid_nr_ns(task_pid(task), space)
#define task_tgid_nr_ns(task, space) pid_nr_ns(task_tgid(task), space)
#define task_active_pid_ns(task) ns_of_pid(task_pid(task))
#define task_thread_info(task) (&(task)->thread_info)
#define current_thread_info() task_thread_info(current)
#define task_stack_page(task) ((task)->stack)
#define task_cpu(task) ((unsigned)(task)->thread_info.cpu)
#define task_is_running(task) ((task)->__state == 0)
#define task_nice(task) ((task)->static_prio - 120)
#define task_cred_xxx(task, member) ((task)->real_cred->member)
#define task_uid(task) ((task)->real_cred->uid)
#define task_euid(task) ((task)->real_cred->euid)
#define __task_cred(task) ((task)->real_cred)
#define current_cred() (current->cred)
#define current_uid() (current->cred->uid)
#define current_gid() (current->cred->gid)
#define current_euid() (current->cred->euid)
#define current_egid() (current->cred->egid)
#define current_suid() (current->cred->suid)
#define current_fsuid() (current->cred->fsuid)
#define __kuid_val(id) ((id).val)
#define __kgid_val(id) ((id).val)
#define CONFIG_USER_NS 1
#define get_user_ns(space) (space)
#define put_user_ns(space) ((void)(space))
#define from_kuid(space, id) ((id).val)
#define from_kgid(space, id) ((id).val)
#define from_kuid_munged(space, id) ((id).val)
#define from_kgid_munged(space, id) ((id).val)
#define uid_eq(a, b) ((a).val == (b).val)
#define gid_eq(a, b) ((a).val == (b).val)
#define thread_group_leader(task) ((task)->exit_signal >= 0)
#define same_thread_group(a, b) ((a)->signal == (b)->signal)
#define has_group_leader_pid(task) ((task)->pid == (task)->tgid)
#define cpumask_bits(mask) ((mask)->bits)
#define cpumask_test_cpu(cpu, mask) ((int)test_bit(cpu, (mask)->bits))
#define get_nr_threads(task) ((task)->signal->nr_threads)
#define thread_group_empty(task) ((task)->thread_node.next->next == &(task)->thread_node)
#define pid_alive(task) ((task)->thread_pid != NULL)
#define is_idle_task(task) (!!((task)->flags & PF_IDLE))
#define rt_task(task) ((task)->prio < 100)
#define task_rlimit(task, number) ((task)->signal->rlim[number].rlim_cur)
#define task_rlimit_max(task, number) ((task)->signal->rlim[number].rlim_max)
#define rlimit_max(number) (current->signal->rlim[number].rlim_max)
#define is_global_init(task) ((task)->tgid == 1)
#define get_task_comm(to, task) strlcpy(to, (task)->comm, sizeof((task)->comm))
#define get_task_mm(task) ((task)->mm)
#define get_files_struct(task) ((task)->files)
#define get_fs_struct(task) ((task)->fs)
#define get_task_cred(task) ((task)->real_cred)
#define get_current_cred() (current->cred)
#define rlimit(number) (current->signal->rlim[number].rlim_cur)
#define sigismember(set, number) ((int)((set)->sig[0] >> ((number) - 1) & 1))
#define fget(number) fcheck_files(current->files, number)
#define fget_raw(number) fcheck_files(current->files, number)
#define fcheck(number) fcheck_files(current->files, number)
#define mmput(mm) ((void)0)
#define put_files_struct(files) ((void)0)
#define put_cred(cred) ((void)0)
#define fput(file) ((void)0)
#define dput(dentry) ((void)0)
#define dget(dentry) (dentry)
#define mntput(mount) ((void)0)
#define iput(inode) ((void)0)
#define path_put(path) ((void)0)
#define path_get(path) ((void)0)
#define file_inode(file) ((file)->f_inode)
#define file_dentry(file) ((file)->f_path.dentry)
#define d_inode(dentry) ((dentry)->d_inode)
#define f_dentry f_path.dentry
#define f_vfsmnt f_path.mnt
#define d_backing_inode(dentry) ((dentry)->d_inode)
#define IS_ROOT(dentry) ((dentry) == (dentry)->d_parent)
#define d_is_dir(dentry) S_ISDIR((dentry)->d_inode->i_mode)
#define d_unlinked(dentry) (!(dentry)->d_hash.pprev && !IS_ROOT(dentry))
#define i_size_read(inode) ((inode)->i_size)
#define i_uid_read(inode) ((inode)->i_uid.val)
#define i_gid_read(inode) ((inode)->i_gid.val)
#define imajor(inode) MAJOR((inode)->i_rdev)
#define iminor(inode) MINOR((inode)->i_rdev)
#define real_mount(vfsmount) container_of(vfsmount, struct mount, mnt)
#define dev_name(device) ({ const struct device *d_ = (device); d_->init_name ? d_->init_name : d_->kobj.name; })
#define kobject_name(object) ((object)->name)
#define netdev_name(device) ((device)->name)
#define bio_sectors(bio) ((bio)->bi_iter.bi_size >> 9)
#define bio_op(bio) ((bio)->bi_opf & 0xff)
#define bio_data_dir(bio) ((int)((bio)->bi_opf & 1))
#define req_op(request) ((request)->cmd_flags & 0xff)
#define rq_data_dir(request) ((int)((request)->cmd_flags & 1))
#define atomic_read(atomic) ((atomic)->counter)
#define atomic64_read(atomic) ((atomic)->counter)
#define atomic_long_read(atomic) ((atomic)->counter)
#define ATOMIC_INIT(value) {value}
#define refcount_read(count) ((unsigned)(count)->refs.counter)
#define kref_read(kref) ((unsigned)(kref)->refcount.refs.counter)
#define percpu_counter_read(counter) ((counter)->count)
#define percpu_counter_read_positive(counter) ((counter)->count < 0 ? 0 : (counter)->count)
#define HZ sonde_HZ()
#define USER_HZ 100
#define jiffies_to_msecs(count) ((unsigned)((u64)(count) * 1000 / (u64)sonde_HZ()))
#define jiffies_to_usecs(count) ((unsigned)((u64)(count) * 1000000 / (u64)sonde_HZ()))
#define msecs_to_jiffies(count) ((unsigned long)((u64)(count) * (u64)sonde_HZ() / 1000))
#define get_jiffies_64() ((u64)jiffies)
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) ((long)((a) - (b)) < 0)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) ((long)((b) - (a)) >= 0)
#define time_in_range(a, b, c) (time_after_eq(a, b) && time_before_eq(a, c))
#define usecs_to_jiffies(count) ((unsigned long)((u64)(count) * (u64)sonde_HZ() / 1000000))
#define jiffies_to_nsecs(count) ((u64)(count) * 1000000000 / (u64)sonde_HZ())
#define nsec_to_clock_t(ns) ((u64)(ns) / 10000000)
#define jiffies_to_clock_t(count) ((long)((u64)(count) * 100 / (u64)sonde_HZ()))
#define NSEC_PER_SEC 1000000000l
#define NSEC_PER_MSEC 1000000l
#define NSEC_PER_USEC 1000l
#define USEC_PER_SEC 1000000l
#define USEC_PER_MSEC 1000l
#define MSEC_PER_SEC 1000l
#define ktime_get() ((s64)bpf_ktime_get_ns())
#define ktime_get_ns() ((u64)bpf_ktime_get_ns())
#define ktime_get_mono_fast_ns() ((u64)bpf_ktime_get_ns())
#define ktime_get_boottime() ((s64)bpf_ktime_get_boot_ns())
#define ktime_get_boottime_ns() ((u64)ktime_get_boottime())
#define ktime_get_real() ((s64)sonde_gettimeofday_ns())
#define ktime_get_real_ns() ((u64)sonde_gettimeofday_ns())
#define ktime_get_real_seconds() ((s64)sonde_gettimeofday_ns() / 1000000000)
#define ktime_to_ns(time) ((s64)(time))
#define ktime_to_us(time) ((s64)(time) / 1000)
#define ktime_to_ms(time) ((s64)(time) / 1000000)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_add(a, b) ((a) + (b))
#define ktime_us_delta(a, b) (((s64)(a) - (s64)(b)) / 1000)
#define ktime_ms_delta(a, b) (((s64)(a) - (s64)(b)) / 1000000)
#define ktime_add_ns(a, ns) ((a) + (s64)(ns))
#define ktime_sub_ns(a, ns) ((a) - (s64)(ns))
#define ktime_after(a, b) ((s64)(a) > (s64)(b))
#define ktime_before(a, b) ((s64)(a) < (s64)(b))
#define ktime_compare(a, b) ({ s64 k_ = (a), t_ = (b); k_ < t_ ? -1 : k_ > t_; })
#define timespec64_to_ns(time) ((s64)(time)->tv_sec * 1000000000 + (time)->tv_nsec)
#define ns_to_ktime(ns) ((s64)(ns))
#define raw_smp_processor_id() smp_processor_id()
#define get_cpu() smp_processor_id()
#define put_cpu() ((void)0)
#define abs(x) ({ __auto_type v_ = (x); v_ < 0 ? -v_ : v_; })
#define min_t(type, a, b) ({ type a_ = (type)(a), b_ = (type)(b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) ({ type a_ = (type)(a), b_ = (type)(b); a_ > b_ ? a_ : b_; })
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define min_not_zero(a, b) ({ __auto_type m_ = (a); __auto_type n_ = (b); !m_ ? n_ : !n_ ? m_ : min(m_, n_); })
#define clamp(x, low, high) ({ __auto_type x_ = (x); __auto_type l_ = (low); __auto_type h_ = (high); x_ < l_ ? l_ : x_ > h_ ? h_ : x_; })
#define clamp_t(type, x, low, high) clamp((type)(x), (type)(low), (type)(high))
#define clamp_val(x, low, high) clamp_t(__typeof__(x), x, low, high)
#define swap(a, b) do { __typeof__(a) t_ = (a); (a) = (b); (b) = t_; } while (0)
#define DIV_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define DIV_ROUND_UP_ULL(a, b) (((u64)(a) + (u64)(b) - 1) / (u64)(b))
#define mult_frac(x, numerator, denominator) ({ __auto_type x_ = (x); __auto_type n_ = (numerator); __auto_type d_ = (denominator); x_ / d_ * n_ + x_ % d_ * n_ / d_; })
#define abs_diff(a, b) ({ __auto_type d_ = (a); __auto_type e_ = (b); d_ > e_ ? d_ - e_ : e_ - d_; })
#define DIV_ROUND_CLOSEST(a, b) ({ __auto_type n_ = (a); __auto_type d_ = (b); (n_ < 0) == (d_ < 0) ? (n_ + d_ / 2) / d_ : (n_ - d_ / 2) / d_; })
#define roundup(a, b) (DIV_ROUND_UP(a, b) * (b))
#define rounddown(a, b) ((a) - (a) % (b))
#define round_up(a, b) ((((a) - 1) | ((__typeof__(a))(b) - 1)) + 1)
#define round_down(a, b) ((a) & ~((__typeof__(a))(b) - 1))
#define ALIGN(a, b) round_up(a, b)
#define ALIGN_DOWN(a, b) round_down(a, b)
#define IS_ALIGNED(a, b) (((a) & ((__typeof__(a))(b) - 1)) == 0)
#define PAGE_ALIGN(address) ALIGN((unsigned long)(address), PAGE_SIZE)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define do_div(a, b) ({ u64 v_ = (a); u32 b_ = (u32)(b); (a) = v_ / b_; (u32)(v_ % b_); })
#define div_u64(a, b) ((u64)(a) / (u32)(b))
#define div_s64(a, b) ((s64)(a) / (s32)(b))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define div64_s64(a, b) ((s64)(a) / (s64)(b))
#define div64_ul(a, b) ((u64)(a) / (unsigned long)(b))
#define div64_long(a, b) ((s64)(a) / (long)(b))
#define div_u64_rem(a, b, rest) ({ u64 v_ = (a); u32 b_ = (u32)(b); *(rest) = (u32)(v_ % b_); v_ / b_; })
#define div64_u64_rem(a, b, rest) ({ u64 v_ = (a), b_ = (b); *(rest) = v_ % b_; v_ / b_; })
#define BIT(n) (1ul << (n))
#define BIT_ULL(n) (1ull << (n))
#define GENMASK(high, low) ((~0ul << (low)) & (~0ul >> (63 - (high))))
#define GENMASK_ULL(high, low) ((~0ull << (low)) & (~0ull >> (63 - (high))))
#define BITS_PER_BYTE 8
#define BITS_TO_LONGS(n) DIV_ROUND_UP(n, 64)
#define ffs(x) __builtin_ffs((int)(x))
#define __ffs(x) ((unsigned long)__builtin_ctzl(x))
#define ffz(x) __ffs(~(x))
#define fls(x) ({ u32 f_ = (u32)(x); f_ ? 32 - __builtin_clz(f_) : 0; })
#define fls64(x) ({ u64 f_ = (u64)(x); f_ ? 64 - __builtin_clzll(f_) : 0; })
#define __fls(x) ((unsigned long)(63 - __builtin_clzl(x)))
#define ilog2(x) (fls64(x) - 1)
#define is_power_of_2(x) ({ u64 p_ = (u64)(x); p_ && !(p_ & (p_ - 1)); })
#define roundup_pow_of_two(x) (1ul << fls64((u64)(x) - 1))
#define rounddown_pow_of_two(x) (1ul << (fls64(x) - 1))
#define order_base_2(x) ({ u64 o_ = (u64)(x); o_ > 1 ? fls64(o_ - 1) : 0; })
#define get_order(size) ({ u64 g_ = (u64)(size); g_ ? fls64((g_ - 1) >> PAGE_SHIFT) : 52; })
#define rol8(x, by) ({ u8 r_ = (u8)(x); unsigned b_ = (by); (u8)(r_ << (b_ & 7) | r_ >> (-b_ & 7)); })
#define ror8(x, by) rol8(x, -(unsigned)(by))
#define rol16(x, by) ({ u16 r_ = (u16)(x); unsigned b_ = (by); (u16)(r_ << (b_ & 15) | r_ >> (-b_ & 15)); })
#define ror16(x, by) rol16(x, -(unsigned)(by))
#define rol32(x, by) ({ u32 r_ = (u32)(x); unsigned b_ = (by); r_ << (b_ & 31) | r_ >> (-b_ & 31); })
#define ror32(x, by) rol32(x, -(unsigned)(by))
#define rol64(x, by) ({ u64 r_ = (u64)(x); unsigned b_ = (by); r_ << (b_ & 63) | r_ >> (-b_ & 63); })
#define ror64(x, by) rol64(x, -(unsigned)(by))
#define sign_extend32(x, bit) ((s32)((u32)(x) << (31 - (bit))) >> (31 - (bit)))
#define sign_extend64(x, bit) ((s64)((u64)(x) << (63 - (bit))) >> (63 - (bit)))
#define GOLDEN_RATIO_32 0x61c88647u
#define GOLDEN_RATIO_64 0x61c8864680b583ebull
#define hash_32(x, bits) ((u32)(x) * GOLDEN_RATIO_32 >> (32 - (bits)))
#define hash_64(x, bits) ((u32)((u64)(x) * GOLDEN_RATIO_64 >> (64 - (bits))))
#define hash_long(x, bits) hash_64(x, bits)
#define hash_ptr(pointer, bits) hash_64((unsigned long)(pointer), bits)
#define check_add_overflow(a, b, result) __builtin_add_overflow(a, b, result)
#define check_sub_overflow(a, b, result) __builtin_sub_overflow(a, b, result)
#define check_mul_overflow(a, b, result) __builtin_mul_overflow(a, b, result)
#define BIT_MASK(n) (1ul << ((n) & 63))
#define BIT_WORD(n) ((n) / 64)
#define __set_bit(bit, words) ((void)(((unsigned long *)(words))[BIT_WORD(bit)] |= BIT_MASK(bit)))
#define __clear_bit(bit, words) ((void)(((unsigned long *)(words))[BIT_WORD(bit)] &= ~BIT_MASK(bit)))
#define __change_bit(bit, words) ((void)(((unsigned long *)(words))[BIT_WORD(bit)] ^= BIT_MASK(bit)))
#define hweight8(x) ((unsigned)__builtin_popcount((u8)(x)))
#define hweight16(x) ((unsigned)__builtin_popcount((u16)(x)))
#define hweight32(x) ((unsigned)__builtin_popcount((u32)(x)))
#define hweight64(x) ((unsigned long)__builtin_popcountll((u64)(x)))
#define hweight_long(x) ((unsigned long)__builtin_popcountl((unsigned long)(x)))
#define swab16(x) __builtin_bswap16(x)
#define swab32(x) __builtin_bswap32(x)
#define swab64(x) __builtin_bswap64(x)
#define cpu_to_be16(x) __builtin_bswap16(x)
#define cpu_to_be32(x) __builtin_bswap32(x)
#define cpu_to_be64(x) __builtin_bswap64(x)
#define cpu_to_le16(x) ((u16)(x))
#define cpu_to_le32(x) ((u32)(x))
#define cpu_to_le64(x) ((u64)(x))
#define le16_to_cpu(x) ((u16)(x))
#define le32_to_cpu(x) ((u32)(x))
#define le64_to_cpu(x) ((u64)(x))
#define __cpu_to_be16 cpu_to_be16
#define __cpu_to_be32 cpu_to_be32
#define __cpu_to_be64 cpu_to_be64
#define __cpu_to_le16 cpu_to_le16
#define __cpu_to_le32 cpu_to_le32
#define __cpu_to_le64 cpu_to_le64
#define __be32_to_cpu ntohl
#define __be64_to_cpu __builtin_bswap64
#define __le16_to_cpu le16_to_cpu
#define __le32_to_cpu le32_to_cpu
#define __le64_to_cpu le64_to_cpu
#define __constant_htons htons
#define __constant_htonl htonl
#define __constant_ntohs ntohs
#define __constant_ntohl ntohl
#define __swab16 swab16
#define __swab32 swab32
#define __swab64 swab64
#define be16_to_cpup(pointer) ntohs(*(const u16 *)(pointer))
#define be32_to_cpup(pointer) ntohl(*(const u32 *)(pointer))
#define be64_to_cpup(pointer) __builtin_bswap64(*(const u64 *)(pointer))
#define le16_to_cpup(pointer) (*(const u16 *)(pointer))
#define le32_to_cpup(pointer) (*(const u32 *)(pointer))
#define le64_to_cpup(pointer) (*(const u64 *)(pointer))
#define get_unaligned(pointer) ({ __typeof__(*(pointer)) u_; __builtin_memcpy(&u_, (pointer), sizeof(u_)); u_; })
#define get_unaligned_be16(pointer) ntohs(get_unaligned((const u16 *)(pointer)))
#define get_unaligned_be32(pointer) ntohl(get_unaligned((const u32 *)(pointer)))
#define get_unaligned_be64(pointer) __builtin_bswap64(get_unaligned((const u64 *)(pointer)))
#define get_unaligned_le16(pointer) get_unaligned((const u16 *)(pointer))
#define get_unaligned_le32(pointer) get_unaligned((const u32 *)(pointer))
#define get_unaligned_le64(pointer) get_unaligned((const u64 *)(pointer))
#define ipv4_is_loopback(address) (((address) & htonl(0xff000000)) == htonl(0x7f000000))
#define ipv4_is_multicast(address) (((address) & htonl(0xf0000000)) == htonl(0xe0000000))
#define is_multicast_ether_addr(address) (*(const u8 *)(address) & 1)
#define is_zero_ether_addr(address) (!(get_unaligned((const u32 *)(address)) | get_unaligned((const u16 *)((const u8 *)(address) + 4))))
#define is_broadcast_ether_addr(address) (get_unaligned((const u32 *)(address)) == ~0u && get_unaligned((const u16 *)((const u8 *)(address) + 4)) == 0xffff)
#define ether_addr_equal(a, b) (!memcmp(a, b, 6))
#define IP_OFFSET 0x1fff
#define IP_MF 0x2000
#define IP_DF 0x4000
#define ip_is_fragment(header) (((header)->frag_off & htons(IP_MF | IP_OFFSET)) != 0)
#define TCPHDR_FIN 0x01
#define TCPHDR_SYN 0x02
#define TCPHDR_RST 0x04
#define TCPHDR_PSH 0x08
#define TCPHDR_ACK 0x10
#define TCPHDR_URG 0x20
#define TCPHDR_ECE 0x40
#define TCPHDR_CWR 0x80
#define upper_32_bits(x) ((u32)((u64)(x) >> 32))
#define lower_32_bits(x) ((u32)(x))
#define isdigit(c) ((u8)((c) - '0') < 10)
#define islower(c) ((u8)((c) - 'a') < 26)
#define isupper(c) ((u8)((c) - 'A') < 26)
#define isalpha(c) ((u8)(((c) | 32) - 'a') < 26)
#define isalnum(c) ({ int c_ = (c); isalpha(c_) || isdigit(c_); })
#define isxdigit(c) ({ int c_ = (c); isdigit(c_) || (u8)((c_ | 32) - 'a') < 6; })
#define isspace(c) ({ int s_ = (c); s_ == ' ' || (u8)(s_ - 9) < 5; })
#define isprint(c) ((u8)((c) - ' ') < 95)
#define iscntrl(c) ({ u8 c_ = (u8)(c); c_ < 32 || c_ == 127; })
#define ispunct(c) ({ int p_ = (c); isprint(p_) && p_ != ' ' && !isalnum(p_); })
#define tolower(c) ({ int t_ = (c); isupper(t_) ? t_ + 32 : t_; })
#define toupper(c) ({ int t_ = (c); islower(t_) ? t_ - 32 : t_; })
#define isascii(c) (((u8)(c)) < 128)
#define isgraph(c) ((u8)((c) - '!') < 94)
#define hex_asc_lo(x) ("0123456789abcdef"[(x) & 15])
#define hex_asc_hi(x) ("0123456789abcdef"[(x) >> 4 & 15])
#define strstarts(text, prefix) (strncmp(text, prefix, strlen(prefix)) == 0)
#define SONDE_KSTRTO(text, base, result, low, high) ({ unsigned long v_ = 0; int n_ = 0, e_ = sonde_kstrto(text, base, &v_, &n_, -(unsigned long)(low), high); if (!e_) *(result) = (__typeof__(*(result)))(n_ ? -v_ : v_); e_; })
#define kstrtol(text, base, result) SONDE_KSTRTO(text, base, result, LONG_MIN, LONG_MAX)
#define kstrtoul(text, base, result) SONDE_KSTRTO(text, base, result, 0, ULONG_MAX)
#define kstrtoint(text, base, result) SONDE_KSTRTO(text, base, result, (long)INT_MIN, INT_MAX)
#define kstrtouint(text, base, result) SONDE_KSTRTO(text, base, result, 0, UINT_MAX)
#define kstrtos16(text, base, result) SONDE_KSTRTO(text, base, result, -32768l, 32767)
#define kstrtou16(text, base, result) SONDE_KSTRTO(text, base, result, 0, 65535)
#define kstrtos8(text, base, result) SONDE_KSTRTO(text, base, result, -128l, 127)
#define kstrtou8(text, base, result) SONDE_KSTRTO(text, base, result, 0, 255)
#define kstrtoll kstrtol
#define kstrtoull kstrtoul
#define kstrtos64 kstrtol
#define kstrtou64 kstrtoul
#define kstrtos32 kstrtoint
#define kstrtou32 kstrtouint
#define simple_strtol(text, end, base) SONDE_SIMPLE(text, end, base, 1)
#define simple_strtoul(text, end, base) ((unsigned long)SONDE_SIMPLE(text, end, base, 0))
#define simple_strtoll simple_strtol
#define simple_strtoull simple_strtoul
#define probe_kernel_read(to, from, size) (bpf_probe_read_kernel(to, size, from) ? -EFAULT : 0)
#define copy_from_kernel_nofault(to, from, size) (bpf_probe_read_kernel(to, size, from) ? -EFAULT : 0)
#define get_kernel_nofault(value, pointer) copy_from_kernel_nofault(&(value), pointer, sizeof(value))
#define probe_kernel_address(pointer, value) copy_from_kernel_nofault(&(value), pointer, sizeof(value))
#define strncpy_from_kernel_nofault(to, from, size) bpf_probe_read_kernel_str(to, size, from)
#define strncpy_from_unsafe(to, from, size) bpf_probe_read_kernel_str(to, size, from)
#define strncpy_from_user_nofault(to, from, size) bpf_probe_read_user_str(to, size, from)
#define strncpy_from_user(to, from, size) ({ long l_ = bpf_probe_read_user_str(to, size, from); l_ < 0 ? (long)-EFAULT : l_ - 1; })
#define __copy_from_user copy_from_user
#define __copy_from_user_inatomic copy_from_user
#define copy_from_user_nofault(to, from, size) (copy_from_user(to, from, size) ? -EFAULT : 0)
#define probe_user_read copy_from_user_nofault
#define __get_user get_user
#define access_ok(...) 1
#define pagefault_disable() ((void)0)
#define pagefault_enable() ((void)0)
#define read_lock(lock) ((void)0)
#define read_unlock(lock) ((void)0)
#define read_lock_irqsave(lock, flags) ((void)((flags) = 0))
#define read_unlock_irqrestore(lock, flags) ((void)(flags))
#define spin_lock_irqsave(lock, flags) ((void)((flags) = 0))
#define spin_unlock_irqrestore(lock, flags) ((void)(flags))
#define spin_lock_irq(lock) ((void)0)
#define spin_unlock_irq(lock) ((void)0)
#define spin_lock_bh(lock) ((void)0)
#define spin_unlock_bh(lock) ((void)0)
#define raw_spin_lock(lock) ((void)0)
#define raw_spin_unlock(lock) ((void)0)
#define local_irq_save(flags) ((void)((flags) = 0))
#define local_irq_restore(flags) ((void)(flags))
#define local_irq_disable() ((void)0)
#define local_irq_enable() ((void)0)
#define local_bh_disable() ((void)0)
#define local_bh_enable() ((void)0)
#define task_lock(task) ((void)0)
#define task_unlock(task) ((void)0)
#define mmap_read_lock(mm) ((void)0)
#define mmap_read_unlock(mm) ((void)0)
#define mmap_read_trylock(mm) 1
#define down_read(lock) ((void)0)
#define up_read(lock) ((void)0)
#define down_read_trylock(lock) 1
#define mutex_lock(lock) ((void)0)
#define mutex_unlock(lock) ((void)0)
#define mutex_trylock(lock) 1
#define spin_trylock(lock) 1
#define rtnl_lock() ((void)0)
#define rtnl_unlock() ((void)0)
#define rcu_read_lock_bh() ((void)0)
#define rcu_read_unlock_bh() ((void)0)
#define rcu_read_lock_sched() ((void)0)
#define rcu_read_unlock_sched() ((void)0)
#define read_lock_bh(lock) ((void)0)
#define read_unlock_bh(lock) ((void)0)
#define read_lock_irq(lock) ((void)0)
#define read_unlock_irq(lock) ((void)0)
#define raw_spin_lock_irqsave(lock, flags) ((void)((flags) = 0))
#define raw_spin_unlock_irqrestore(lock, flags) ((void)(flags))
#define read_seqbegin(lock) 0u
#define read_seqretry(lock, start) 0
#define cond_resched() ((void)0)
#define lock_sock(socket) ((void)0)
#define release_sock(socket) ((void)0)
#define might_sleep() ((void)0)
#define rcu_dereference_check(pointer, condition) (pointer)
#define rcu_dereference_protected(pointer, condition) (pointer)
#define rcu_dereference_sched(pointer) (pointer)
#define rcu_access_pointer(pointer) (pointer)
#define smp_load_acquire(pointer) (*(pointer))
#define ACCESS_ONCE(x) (x)
#define barrier() ((void)0)
#define cpu_relax() ((void)0)
#define mb() ((void)0)
#define rmb() ((void)0)
#define wmb() ((void)0)
#define smp_mb() ((void)0)
#define smp_rmb() ((void)0)
#define smp_wmb() ((void)0)
#define BUG_ON(condition) do { if (condition) _stp_error("BUG_ON(%s)", #condition); } while (0)
#define BUG() _stp_error("BUG()")
#define WARN_ON(condition) ({ int w_ = !!(condition); if (w_) _stp_warn("WARN_ON(%s)", #condition); w_; })
#define WARN_ON_ONCE(condition) WARN_ON(condition)
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define static_assert(condition, ...) _Static_assert(condition, #condition)
#define ERR_PTR(error) ((void*)(long)(error))
#define PTR_ERR_OR_ZERO(pointer) (IS_ERR(pointer) ? PTR_ERR(pointer) : 0)
#define sizeof_field(type, member) sizeof(((type*)0)->member)
#define FIELD_SIZEOF(type, member) sizeof(((type*)0)->member)
#define typecheck(type, x) 1
#define MODULE_LICENSE(text) _Static_assert(1, "")
#define MODULE_AUTHOR(text) _Static_assert(1, "")
#define MODULE_DESCRIPTION(text) _Static_assert(1, "")
#define MODULE_INFO(...) _Static_assert(1, "")
#define EXPORT_SYMBOL(name) _Static_assert(1, "")
#define EXPORT_SYMBOL_GPL(name) _Static_assert(1, "")
#define noinline
#define __always_inline inline
#define __inline__ inline
#define __maybe_unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __used
#define __must_check
#define __packed __attribute__((packed))
#define __aligned(bytes) __attribute__((aligned(bytes)))
#define __pure
#define __init
#define __exit
#define __read_mostly
#define __ro_after_init
#define __cold
#define __hot
#define __sched
#define __attribute_const__
#define __printf(a, b)
#define __bitwise
#define __nocast
#define __acquires(lock)
#define __releases(lock)
#define notrace
#define nokprobe_inline inline
#define __stringify_1(...) #__VA_ARGS__
#define __stringify(...) __stringify_1(__VA_ARGS__)
#define UL(x) x##UL
#define ULL(x) x##ULL
#define asmlinkage
#define fallthrough do { } while (0)
#define TASK_COMM_LEN 16
#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define __TASK_STOPPED 4
#define __TASK_TRACED 8
#define EXIT_DEAD 16
#define EXIT_ZOMBIE 32
#define TASK_PARKED 64
#define TASK_DEAD 128
#define TASK_WAKEKILL 256
#define TASK_NOLOAD 1024
#define TASK_STOPPED (TASK_WAKEKILL | __TASK_STOPPED)
#define TASK_TRACED __TASK_TRACED
#define TASK_NORMAL (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)
#define TASK_IDLE (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)
#define TASK_KILLABLE (TASK_WAKEKILL | TASK_UNINTERRUPTIBLE)
#define PF_VCPU 0x1
#define PF_IDLE 0x2
#define PF_EXITING 0x4
#define PF_WQ_WORKER 0x20
#define PF_FORKNOEXEC 0x40
#define PF_SUPERPRIV 0x100
#define PF_DUMPCORE 0x200
#define PF_SIGNALED 0x400
#define PF_MEMALLOC 0x800
#define PF_KSWAPD 0x20000
#define PF_KTHREAD 0x200000
#define PF_RANDOMIZE 0x400000
#define O_ACCMODE 3
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 0100
#define O_EXCL 0200
#define O_NOCTTY 0400
#define O_TRUNC 01000
#define O_APPEND 02000
#define O_NONBLOCK 04000
#define O_CLOEXEC 02000000
#define O_NDELAY O_NONBLOCK
#define O_DSYNC 010000
#define O_SYNC 04010000
#define O_DIRECT ((int)sonde___o_direct_bit())
#define O_LARGEFILE ((int)sonde___o_largefile_bit())
#define O_DIRECTORY ((int)sonde___o_directory_bit())
#define O_NOFOLLOW ((int)sonde___o_nofollow_bit())
#define O_NOATIME 01000000
#define O_PATH 010000000
#define FMODE_READ 1u
#define FMODE_WRITE 2u
#define FMODE_LSEEK 4u
#define FMODE_EXEC 32u
#define S_IRUSR 0400
#define S_IWUSR 0200
#define S_IXUSR 0100
#define S_IRWXU 0700
#define S_IRGRP 040
#define S_IWGRP 020
#define S_IXGRP 010
#define S_IRWXG 070
#define S_IROTH 04
#define S_IWOTH 02
#define S_IXOTH 01
#define S_IRWXO 07
#define S_IRUGO 0444
#define S_IWUGO 0222
#define S_IXUGO 0111
#define S_ISVTX 01000
#define S_IFSOCK 0140000
#define S_IFLNK 0120000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define S_ISUID 04000
#define S_ISGID 02000
#define VM_READ 1ul
#define VM_WRITE 2ul
#define VM_EXEC 4ul
#define VM_SHARED 8ul
#define VM_GROWSDOWN 0x100ul
#define VM_MAYREAD 0x10ul
#define VM_MAYWRITE 0x20ul
#define VM_MAYEXEC 0x40ul
#define VM_MAYSHARE 0x80ul
#define VM_PFNMAP 0x400ul
#define VM_LOCKED 0x2000ul
#define VM_IO 0x4000ul
#define VM_DONTCOPY 0x20000ul
#define VM_DONTEXPAND 0x40000ul
#define VM_ACCOUNT 0x100000ul
#define VM_HUGETLB 0x400000ul
#define CLONE_VM 0x100
#define CLONE_FS 0x200
#define CLONE_FILES 0x400
#define CLONE_SIGHAND 0x800
#define CLONE_PTRACE 0x2000
#define CLONE_PARENT 0x8000
#define CLONE_SYSVSEM 0x40000
#define CLONE_SETTLS 0x80000
#define CLONE_PARENT_SETTID 0x100000
#define CLONE_CHILD_CLEARTID 0x200000
#define CLONE_UNTRACED 0x800000
#define CLONE_CHILD_SETTID 0x1000000
#define CLONE_NEWCGROUP 0x2000000
#define CLONE_NEWUTS 0x4000000
#define CLONE_NEWIPC 0x8000000
#define CLONE_NEWUSER 0x10000000
#define CLONE_VFORK 0x4000
#define CLONE_THREAD 0x10000
#define CLONE_NEWNS 0x20000
#define CLONE_NEWPID 0x20000000
#define CLONE_NEWNET 0x40000000
#define SIGHUP 1
#define SIGINT 2
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGBUS 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGUSR1 10
#define SIGSEGV 11
#define SIGUSR2 12
#define SIGPIPE 13
#define SIGALRM 14
#define SIGTERM 15
#define SIGSTKFLT 16
#define SIGTTIN 21
#define SIGTTOU 22
#define SIGURG 23
#define SIGXCPU 24
#define SIGXFSZ 25
#define SIGVTALRM 26
#define SIGPROF 27
#define SIGWINCH 28
#define SIGIO 29
#define SIGPOLL 29
#define SIGPWR 30
#define SIGSYS 31
#define _NSIG 64
#define SIG_DFL ((void *)0)
#define SIG_IGN ((void *)1)
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGTSTP 20
#define RLIMIT_CPU 0
#define RLIMIT_FSIZE 1
#define RLIMIT_DATA 2
#define RLIMIT_CORE 4
#define RLIMIT_RSS 5
#define RLIMIT_NPROC 6
#define RLIMIT_MEMLOCK 8
#define RLIMIT_AS 9
#define RLIMIT_LOCKS 10
#define RLIMIT_SIGPENDING 11
#define RLIMIT_MSGQUEUE 12
#define RLIMIT_NICE 13
#define RLIMIT_RTPRIO 14
#define RLIMIT_RTTIME 15
#define RLIM_NLIMITS 16
#define RLIM_INFINITY (~0ul)
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3
#define AF_UNSPEC 0
#define PF_INET 2
#define PF_INET6 10
#define PATH_MAX 4096
#define NAME_MAX 255
#define MAX_ERRNO 4095
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define S8_MAX 127
#define S16_MAX 32767
#define S32_MIN (-0x7fffffff - 1)
#define S64_MIN (-0x7fffffffffffffffll - 1)
#define USHRT_MAX 65535
#define U8_MAX 255
#define U16_MAX 65535
#define U32_MAX 0xffffffffu
#define U64_MAX 0xffffffffffffffffull
#define S32_MAX 0x7fffffff
#define S64_MAX 0x7fffffffffffffffll
#define SIZE_MAX 0xfffffffffffffffful
#define SECTOR_SHIFT 9
#define SECTOR_SIZE 512
