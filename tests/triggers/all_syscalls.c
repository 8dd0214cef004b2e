/* Makes nearly every system call at least once, with harmless arguments: dangerous
 * calls get a bad descriptor, address or flag. Calls of chdir("/calls/begin") and
 * chdir("/calls/end") enclose them. tests/vm/calls compares the output of tracers. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALL(name, ...) syscall(SYS_##name, ##__VA_ARGS__)
static char buffer[4096] __attribute__((aligned(4096)));
static struct timespec pause_for = {0, 1000}, left;
static struct timeval moment = {0, 1000};
static const char* folder;
static const int none = -1;
static char name_a[256], name_b[256], name_c[256];

static char* in_folder(char* out, const char* name) {
    strcpy(out, folder);
    strcat(out, "/");
    return strcat(out, name);
}

static void files(void) {
    struct stat status;
    struct statfs fs;
    in_folder(name_a, "a");
    in_folder(name_b, "b");
    in_folder(name_c, "c");
    int fd = CALL(open, name_a, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CALL(write, fd, "one\ntwo\t\"three\"", 15);
    CALL(pwrite64, fd, "four", 4, 100L);
    CALL(lseek, fd, 0L, SEEK_SET);
    CALL(read, fd, buffer, 15L);
    CALL(pread64, fd, buffer, 4L, 100L);
    struct iovec parts[2] = {{"ab", 2}, {"cde", 3}};
    CALL(writev, fd, parts, 2);
    CALL(pwritev, fd, parts, 2, 200, 0);
    CALL(pwritev2, fd, parts, 2, 200, 0, 0);
    struct iovec into[1] = {{buffer, 16}};
    CALL(readv, fd, into, 1);
    CALL(preadv, fd, into, 1, 0, 0);
    CALL(preadv2, fd, into, 1, 0, 0, 8 /* RWF_NOWAIT */);
    CALL(fstat, fd, &status);
    CALL(stat, name_a, &status);
    CALL(lstat, name_a, &status);
    CALL(newfstatat, AT_FDCWD, name_a, &status, AT_SYMLINK_NOFOLLOW);
    CALL(statx, AT_FDCWD, name_a, 0, 0x7ff, buffer);
    CALL(statx, fd, "", AT_EMPTY_PATH, 0x7ff, buffer);
    CALL(statfs, "/", &fs);
    CALL(fstatfs, fd, &fs);
    CALL(access, name_a, R_OK | W_OK);
    CALL(access, "/calls/none", F_OK);
    CALL(faccessat, AT_FDCWD, name_a, X_OK);
    CALL(faccessat2, AT_FDCWD, name_a, R_OK, AT_EACCESS);
    CALL(openat, AT_FDCWD, "/calls/none", O_RDONLY | O_CLOEXEC);
    CALL(openat, AT_FDCWD, "/tmp", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOFOLLOW);
    CALL(close, fd + 1);
    uint64_t how[3] = {O_RDONLY | O_CLOEXEC, 0, 4 /* RESOLVE_NO_SYMLINKS */};
    CALL(openat2, AT_FDCWD, "/calls/none", how, sizeof how);
    CALL(creat, name_b, 0600);
    CALL(close, fd + 1);
    CALL(truncate, name_b, 10L);
    CALL(ftruncate, fd, 300L);
    CALL(fallocate, fd, FALLOC_FL_KEEP_SIZE, 0L, 4096L);
    CALL(fadvise64, fd, 0L, 0L, POSIX_FADV_RANDOM);
    CALL(readahead, fd, 0L, 10L);
    CALL(fsync, fd);
    CALL(fdatasync, fd);
    CALL(sync_file_range, fd, 0L, 0L, 2);
    CALL(syncfs, none);
    CALL(flock, fd, LOCK_EX | LOCK_NB);
    CALL(flock, fd, LOCK_UN);
    CALL(chmod, name_b, 0640);
    CALL(fchmod, fd, 0600);
    CALL(fchmodat, AT_FDCWD, name_b, 0600);
    CALL(chown, name_b, -1, -1);
    CALL(fchown, fd, -1, -1);
    CALL(lchown, name_b, -1, -1);
    CALL(fchownat, AT_FDCWD, name_b, -1, -1, AT_SYMLINK_NOFOLLOW);
    CALL(rename, name_b, name_c);
    CALL(renameat, AT_FDCWD, name_c, AT_FDCWD, name_b);
    CALL(renameat2, AT_FDCWD, name_b, AT_FDCWD, name_a, 1 /* RENAME_NOREPLACE */);
    CALL(link, name_a, name_c);
    CALL(unlink, name_c);
    CALL(linkat, AT_FDCWD, name_a, AT_FDCWD, name_c, AT_SYMLINK_FOLLOW);
    CALL(unlinkat, AT_FDCWD, name_c, 0);
    CALL(symlink, "to\nnowhere", name_c);
    CALL(readlink, name_c, buffer, 100L);
    CALL(readlinkat, AT_FDCWD, name_c, buffer, 100L);
    CALL(unlink, name_c);
    CALL(symlinkat, "nowhere", AT_FDCWD, name_c);
    CALL(unlink, name_c);
    CALL(mkdir, name_c, 0755);
    CALL(rmdir, name_c);
    CALL(mkdirat, AT_FDCWD, name_c, 0700);
    CALL(unlinkat, AT_FDCWD, name_c, AT_REMOVEDIR);
    CALL(mknod, name_c, S_IFIFO | 0600, 0);
    CALL(unlink, name_c);
    CALL(mknodat, AT_FDCWD, name_c, S_IFREG | 0644, 0);
    CALL(unlink, name_c);
    struct timespec times[2] = {{100, 5}, {200, 6}};
    struct timeval values[2] = {{100, 5}, {200, 6}};
    long old_times[2] = {100, 200};
    CALL(utimensat, AT_FDCWD, name_a, times, AT_SYMLINK_NOFOLLOW);
    CALL(utimes, name_a, values);
    CALL(futimesat, AT_FDCWD, name_a, values);
    CALL(utime, name_a, old_times);
    CALL(setxattr, name_a, "user.one", "value", 5L, 1 /* XATTR_CREATE */);
    CALL(getxattr, name_a, "user.one", buffer, 100L);
    CALL(listxattr, name_a, buffer, 100L);
    CALL(removexattr, name_a, "user.one");
    CALL(fsetxattr, fd, "user.two", "v", 1L, 0);
    CALL(fgetxattr, fd, "user.two", buffer, 100L);
    CALL(flistxattr, fd, buffer, 100L);
    CALL(fremovexattr, fd, "user.two");
    CALL(lsetxattr, name_a, "user.three", "v", 1L, 2 /* XATTR_REPLACE */);
    CALL(lgetxattr, name_a, "user.three", buffer, 100L);
    CALL(llistxattr, name_a, buffer, 100L);
    CALL(lremovexattr, name_a, "user.three");
    CALL(getdents, none, buffer, 100);
    CALL(getdents64, none, buffer, 100);
    CALL(getcwd, buffer, 4096L);
    CALL(chroot, "/calls/none");
    CALL(fchdir, none);
    CALL(umask, 022);
    CALL(ustat, 0, buffer);
    CALL(quotactl, 0x80000200 | 0, "/calls/none", 0, 0);
    CALL(name_to_handle_at, AT_FDCWD, "/calls/none", buffer, buffer, 0);
    CALL(open_by_handle_at, none, 0, O_RDONLY);
    CALL(sendfile, none, fd, 0, 10L);
    CALL(splice, none, 0, none, 0, 10L, 2 /* SPLICE_F_NONBLOCK */);
    CALL(tee, none, none, 10L, 0);
    CALL(vmsplice, none, 0, 0L, 1 /* SPLICE_F_MOVE */);
    CALL(copy_file_range, none, 0, none, 0, 10L, 0);
    CALL(ioctl, none, 0x5401 /* TCGETS */, buffer);
    CALL(fcntl, fd, F_GETFL);
    CALL(fcntl, fd, F_SETFL, O_RDWR | O_APPEND);
    CALL(fcntl, fd, F_SETFD, FD_CLOEXEC);
    CALL(fcntl, fd, F_DUPFD_CLOEXEC, 100);
    CALL(dup, none);
    CALL(dup2, fd, 101);
    CALL(dup3, fd, 102, O_CLOEXEC);
    CALL(close_range, 100, 110, 0);
    CALL(close, fd);
    CALL(unlink, name_a);
    CALL(unlink, name_b);
}

static void memory(void) {
    char* at = (char*)CALL(mmap, 0L, 8192L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    CALL(mprotect, at, 4096L, PROT_READ | PROT_EXEC);
    CALL(madvise, at, 4096L, MADV_DONTNEED);
    CALL(msync, at, 4096L, MS_SYNC);
    CALL(mincore, at, 4096L, buffer);
    CALL(mlock, at, 4096L);
    CALL(munlock, at, 4096L);
    CALL(mlock2, at, 4096L, 1 /* MLOCK_ONFAULT */);
    CALL(munlockall);
    CALL(mlockall, 0);
    CALL(pkey_mprotect, at, 4096L, PROT_READ, -1);
    CALL(pkey_alloc, 0L, 1L << 4);
    CALL(pkey_free, 15);
    CALL(mremap, at, 4096L, 4096L, MREMAP_MAYMOVE, 0L);
    CALL(remap_file_pages, 0L, 0L, 0, 0L, 0);
    CALL(munmap, at, 8192L);
    CALL(brk, 0L);
    CALL(memfd_create, "calls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CALL(close, 3);
    CALL(mbind, 0L, 0L, 0, 0L, 0L, 8);
    CALL(get_mempolicy, 0L, 0L, 0L, 0L, 64L);
    CALL(set_mempolicy, 100, 0L, 0L);
    CALL(migrate_pages, 0, 0L, 0L, 0L);
    CALL(move_pages, 0, 0L, 0L, 0L, 0L, 64);
    CALL(userfaultfd, 4);
    CALL(membarrier, 0, 0, 0);
    CALL(process_madvise, none, 0L, 0L, MADV_COLD, 0);
    CALL(modify_ldt, 100, 0L, 0L);
    int shared = CALL(shmget, IPC_PRIVATE, 4096L, IPC_CREAT | 0600);
    void* mapped = (void*)CALL(shmat, shared, 0L, SHM_RDONLY);
    CALL(shmdt, mapped);
    CALL(shmctl, shared, IPC_RMID, 0L);
}

static void sockets(void) {
    struct sockaddr_in to = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, {0}};
    struct sockaddr_un path = {AF_UNIX, "/calls/socket"};
    struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(80), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    unsigned length = sizeof to;
    int on = 1;
    int pair[2];
    int s = CALL(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    CALL(bind, none, &to, sizeof to);
    CALL(connect, s, &to, sizeof to);
    CALL(connect, none, &path, sizeof path);
    CALL(connect, none, &to6, sizeof to6);
    CALL(setsockopt, s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CALL(getsockopt, s, SOL_SOCKET, SO_ERROR, &on, &length);
    CALL(getsockname, s, buffer, &length);
    CALL(getpeername, s, buffer, &length);
    CALL(listen, none, 5);
    CALL(accept, none, 0, 0);
    CALL(accept4, none, 0, 0, SOCK_CLOEXEC);
    CALL(shutdown, s, SHUT_RDWR);
    CALL(close, s);
    CALL(socketpair, AF_UNIX, SOCK_DGRAM, 0, pair);
    CALL(sendto, pair[0], "hello", 5L, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    CALL(recvfrom, pair[1], buffer, 100L, MSG_PEEK, 0, 0);
    struct iovec part = {"bye", 3};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    CALL(sendmsg, pair[0], &message, MSG_NOSIGNAL);
    CALL(recvmsg, none, &message, 0);
    CALL(sendmmsg, none, 0L, 1, MSG_DONTWAIT);
    CALL(recvmmsg, none, 0L, 1, MSG_WAITFORONE, &pause_for);
    CALL(sendto, none, "x", 1L, 0, &to, sizeof to);
    CALL(close, pair[0]);
    CALL(close, pair[1]);
    int ends[2];
    CALL(pipe, ends);
    CALL(pipe2, ends, O_CLOEXEC | O_NONBLOCK);
    struct pollfd polled = {ends[0], POLLIN, 0};
    CALL(poll, &polled, 1, 0);
    CALL(ppoll, &polled, 1, &pause_for, 0L, 8L);
    fd_set set;
    FD_ZERO(&set);
    CALL(select, 0, 0L, 0L, 0L, &moment);
    CALL(pselect6, 0, 0L, 0L, 0L, &pause_for, 0L);
    int e = CALL(epoll_create1, EPOLL_CLOEXEC);
    struct epoll_event event = {EPOLLIN | EPOLLET, {.fd = 7}};
    CALL(epoll_ctl, e, EPOLL_CTL_ADD, ends[0], &event);
    CALL(epoll_ctl, e, EPOLL_CTL_DEL, ends[0], 0L);
    CALL(epoll_wait, e, buffer, 1, 0);
    CALL(epoll_pwait, e, buffer, 1, 0, 0L, 8L);
    CALL(epoll_create, 1);
    CALL(eventfd, 1);
    CALL(eventfd2, 1, 0x80000 /* EFD_CLOEXEC */);
    CALL(inotify_init1, 0x80000);
    CALL(inotify_add_watch, none, "/calls/none", 2);
    CALL(inotify_rm_watch, none, 1);
    CALL(timerfd_create, CLOCK_MONOTONIC, 0x80000);
    CALL(timerfd_settime, none, 1 /* TFD_TIMER_ABSTIME */, 0L, 0L);
    CALL(timerfd_gettime, none, 0L);
    CALL(signalfd4, none, 0L, 8L, 0x80000);
    CALL(signalfd, none, 0L, 8L);
    CALL(fanotify_init, 0x800003, 0);
    CALL(fanotify_mark, none, 1, 2L, AT_FDCWD, "/calls/none");
    CALL(io_uring_setup, 0, 0L);
    CALL(io_uring_enter, none, 1, 1, 1, 0L, 0L);
    CALL(io_uring_register, none, 0, 0L, 0);
    CALL(io_setup, 0, 0L);
    CALL(io_destroy, 0L);
    CALL(io_submit, 0L, 1L, 0L);
    CALL(io_getevents, 0L, 1L, 1L, 0L, &pause_for);
    CALL(io_cancel, 0L, 0L, 0L);
    CALL(close_range, 3, 200, 0);
}

static void signals(void) {
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {SIG_IGN, SA_RESTART, 0, 1L << (SIGUSR1 - 1)};
    unsigned long mask = 1L << (SIGUSR2 - 1) | 1L << (SIGCHLD - 1);
    CALL(rt_sigaction, SIGUSR1, &action, 0L, 8L);
    CALL(rt_sigaction, SIGUSR1, 0L, buffer, 8L);
    CALL(rt_sigprocmask, SIG_BLOCK, &mask, 0L, 8L);
    CALL(rt_sigprocmask, SIG_SETMASK, 0L, buffer, 8L);
    CALL(rt_sigpending, buffer, 8L);
    CALL(rt_sigtimedwait, &mask, 0L, &pause_for, 8L);
    CALL(rt_sigsuspend, 0L, 1L);
    CALL(rt_sigqueueinfo, 0x7ffffff, SIGUSR1, 0L);
    CALL(rt_tgsigqueueinfo, 0x7ffffff, 0x7ffffff, SIGUSR1, 0L);
    CALL(sigaltstack, 0L, buffer);
    CALL(kill, 0x7ffffff, SIGTERM);
    CALL(kill, getpid(), SIGUSR1);
    CALL(tkill, 0x7ffffff, SIGINT);
    CALL(tgkill, 0x7ffffff, 0x7ffffff, SIGHUP);
    CALL(alarm, 0);
    struct itimerval timer = {{0, 0}, {100, 0}};
    CALL(setitimer, ITIMER_VIRTUAL, &timer, 0L);
    CALL(getitimer, ITIMER_REAL, buffer);
    CALL(pidfd_open, 0x7ffffff, 0);
    CALL(pidfd_send_signal, none, SIGTERM, 0L, 0);
    CALL(pidfd_getfd, none, 1, 0);
}

static void times(void) {
    struct timezone zone;
    struct timex clock = {0};
    int timer = 0;
    CALL(nanosleep, &pause_for, &left);
    CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, &pause_for, 0L);
    CALL(clock_gettime, CLOCK_REALTIME, buffer);
    CALL(clock_getres, CLOCK_MONOTONIC_COARSE, buffer);
    CALL(clock_settime, 100, &pause_for);
    CALL(clock_adjtime, 100, &clock);
    CALL(gettimeofday, buffer, &zone);
    CALL(settimeofday, 1L, 0L);
    CALL(time, 0L);
    CALL(times, buffer);
    CALL(adjtimex, 1L);
    CALL(timer_create, CLOCK_MONOTONIC, 0L, &timer);
    CALL(timer_settime, timer, 1, 0L, 0L);
    CALL(timer_gettime, timer, buffer);
    CALL(timer_getoverrun, timer);
    CALL(timer_delete, timer);
}

static void tasks(void) {
    struct rlimit limit = {100, 200};
    CALL(getpid);
    CALL(getppid);
    CALL(gettid);
    CALL(getpgrp);
    CALL(getpgid, 0);
    CALL(getsid, 0);
    CALL(setpgid, 0x7ffffff, 0);
    CALL(getuid);
    CALL(geteuid);
    CALL(getgid);
    CALL(getegid);
    CALL(getresuid, buffer, buffer + 8, buffer + 16);
    CALL(getresgid, buffer, buffer + 8, buffer + 16);
    CALL(getgroups, 0, 0L);
    CALL(setgroups, 0x7ffffff, 0L);
    CALL(setreuid, -1, -1);
    CALL(setregid, -1, -1);
    CALL(setresuid, -1, -1, -1);
    CALL(setresgid, -1, -1, -1);
    CALL(setfsuid, -1);
    CALL(setfsgid, -1);
    CALL(capget, 0L, 0L);
    CALL(capset, 0L, 0L);
    CALL(getrlimit, RLIMIT_NOFILE, buffer);
    CALL(setrlimit, RLIMIT_CORE, 1L);
    CALL(prlimit64, 0, RLIMIT_STACK, 0L, buffer);
    CALL(prlimit64, 0x7ffffff, RLIMIT_STACK, &limit, 0L);
    CALL(getrusage, RUSAGE_SELF, buffer);
    CALL(getpriority, PRIO_PROCESS, 0);
    CALL(setpriority, PRIO_PROCESS, 0x7ffffff, 5);
    CALL(sched_yield);
    CALL(sched_getscheduler, 0);
    CALL(sched_setscheduler, 0x7ffffff, SCHED_FIFO, 0L);
    CALL(sched_getparam, 0, buffer);
    CALL(sched_setparam, 0, 0L);
    CALL(sched_get_priority_max, SCHED_FIFO);
    CALL(sched_get_priority_min, SCHED_RR);
    CALL(sched_rr_get_interval, 0, buffer);
    CALL(sched_getaffinity, 0, 128, buffer);
    CALL(sched_setaffinity, 0x7ffffff, 0, 0L);
    CALL(sched_getattr, 0, 0L, 0, 0);
    CALL(sched_setattr, 0, 0L, 0);
    CALL(ioprio_get, 1, 0);
    CALL(ioprio_set, 9, 0, 0);
    CALL(personality, 0xffffffffL);
    CALL(prctl, PR_SET_NAME, "calls", 0, 0, 0);
    CALL(prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
    CALL(arch_prctl, 0x1003 /* ARCH_GET_FS */, buffer);
    CALL(getcpu, buffer, buffer + 8, 0L);
    CALL(uname, buffer);
    CALL(sysinfo, buffer);
    CALL(syslog, 10, 0L, 0);
    CALL(set_tid_address, buffer);
    CALL(get_robust_list, 0, buffer, buffer + 8);
    CALL(set_robust_list, 0L, 1L);
    CALL(futex, buffer, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
    CALL(futex, 0L, FUTEX_WAIT, 5, &pause_for);
    CALL(getrandom, buffer, 8L, 1 /* GRND_NONBLOCK */);
    CALL(ptrace, 16 /* PTRACE_ATTACH */, 0x7ffffff, 0L, 0L);
    CALL(kcmp, 0x7ffffff, 0x7ffffff, 0, 0L, 0L);
    CALL(process_vm_readv, 0x7ffffff, 0L, 0L, 0L, 0L, 0L);
    CALL(process_vm_writev, 0x7ffffff, 0L, 0L, 0L, 0L, 0L);
    CALL(seccomp, 2 /* SECCOMP_GET_ACTION_AVAIL */, 0, 0L);
    CALL(bpf, 0, 0L, 0);
    CALL(perf_event_open, 0L, 0, -1, -1, 8L);
    CALL(unshare, 0x1L);
    CALL(setns, none, CLONE_NEWNET);
    CALL(add_key, "calls", "none", 0L, 0L, -3);
    CALL(request_key, "calls", "none", 0L, -3);
    CALL(keyctl, 1000, 0L, 0L, 0L, 0L);
    CALL(execve, "/calls/none", (char*[]){"none", "a b", 0}, (char*[]){0});
    CALL(execveat, AT_FDCWD, "/calls/none", (char*[]){"none", 0}, (char*[]){0}, AT_SYMLINK_NOFOLLOW);
    int status;
    pid_t child = CALL(fork);
    if (child == 0)
        CALL(exit_group, 3);
    CALL(wait4, child, &status, 0, 0L);
    CALL(wait4, -1, 0L, WNOHANG | WUNTRACED, 0L);
    CALL(waitid, P_ALL, 0, buffer, WEXITED | WNOHANG, 0L);
}

static void machine(void) {
    CALL(mount, "none", "/calls/none", "tmpfs", MS_RDONLY | MS_NOSUID, "size=1");
    CALL(umount2, "/calls/none", MNT_DETACH);
    CALL(pivot_root, "/calls/none", "/calls/put");
    CALL(swapon, "/calls/none", 0);
    CALL(swapoff, "/calls/none");
    CALL(acct, "/calls/none");
    CALL(sethostname, "x", 100);
    CALL(setdomainname, "x", 100);
    CALL(init_module, 0L, 0L, "");
    CALL(finit_module, none, "", 0);
    CALL(delete_module, "calls_none", O_NONBLOCK);
    CALL(kexec_load, 0L, 100L, 0L, 0xffffL);
    CALL(ioperm, 0x10000L, 1L, 1);
    CALL(iopl, 9);
    CALL(mq_open, "calls", O_RDWR, 0, 0L);
    CALL(mq_unlink, "calls");
    CALL(mq_timedsend, none, "m", 1L, 0, 0L);
    CALL(mq_timedreceive, none, buffer, 1L, 0L, 0L);
    CALL(mq_notify, none, 0L);
    CALL(mq_getsetattr, none, 0L, 0L);
    int queue = CALL(msgget, IPC_PRIVATE, IPC_CREAT | 0600);
    struct {
        long kind;
        char text[8];
    } message = {1, "text"};
    CALL(msgsnd, queue, &message, 8L, IPC_NOWAIT);
    CALL(msgrcv, queue, buffer, 8L, 0L, IPC_NOWAIT);
    CALL(msgctl, queue, IPC_RMID, 0L);
    int semaphores = CALL(semget, IPC_PRIVATE, 1, IPC_CREAT | 0600);
    struct sembuf change = {0, 1, IPC_NOWAIT};
    CALL(semop, semaphores, &change, 1);
    CALL(semtimedop, semaphores, &change, 1, &pause_for);
    CALL(semctl, semaphores, 0, IPC_RMID, 0);
    CALL(fsopen, "calls", 1);
    CALL(fsconfig, none, 0, "a", "b", 0);
    CALL(fsmount, none, 0, 0);
    CALL(fspick, AT_FDCWD, "/calls/none", 0);
    CALL(open_tree, AT_FDCWD, "/calls/none", 0x80000);
    CALL(move_mount, none, "", none, "", 0);
    CALL(mount_setattr, none, "", 0, 0L, 0L);
    CALL(landlock_create_ruleset, 0L, 0L, 1);
    CALL(sysfs, 3, 0L, 0L);
}

int main(int argc, char** argv) {
    folder = argc > 1 ? argv[1] : "/tmp";
    CALL(mlockall, MCL_CURRENT); // a probe cannot read pages that are not in memory
    CALL(munlockall);
    CALL(chdir, "/calls/begin");
    files();
    memory();
    sockets();
    signals();
    times();
    tasks();
    machine();
    CALL(chdir, "/calls/end");
    return 0;
}
