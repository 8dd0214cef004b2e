/* Makes system calls as 32-bit programs do, without any library: nearly all of them, with harmless arguments.
 * The arguments are good, bad, at a limit, or unreadable addresses. Calls of chdir("/calls/begin") and
 * chdir("/calls/end") enclose them. tests/vm/calls --narrow compares the output of tracers. */
#include <asm/unistd_32.h>

typedef unsigned int word;

int call(int number, ...);
__asm__("call:\n\t"
        "push %ebx\n\tpush %esi\n\tpush %edi\n\tpush %ebp\n\t"
        "mov 20(%esp), %eax\n\tmov 24(%esp), %ebx\n\tmov 28(%esp), %ecx\n\tmov 32(%esp), %edx\n\t"
        "mov 36(%esp), %esi\n\tmov 40(%esp), %edi\n\tmov 44(%esp), %ebp\n\t"
        "int $0x80\n\t"
        "pop %ebp\n\tpop %edi\n\tpop %esi\n\tpop %ebx\n\tret");
#define CALL(name, ...) call(__NR_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define BAD ((void*)0x10) /* not mapped */
#define HIGH 0xffffff00u  /* not mapped either */

static char buffer[4096] __attribute__((aligned(4096)));
static const char folder[] = "/tmp", none[] = "/calls/none", name[] = "/tmp/calls_32_file";
static struct {
    int seconds, fraction;
} pause_for = {0, 1000}, moment[2] = {{1, 2}, {-3, 4}}, omit[2] = {{0, 0x3fffffff}, {0, 0x3ffffffe}};
static struct {
    long long seconds, fraction;
} wide_pause = {0, 2000}, wide_moment[2] = {{5000000000, 6}, {-7, 8}};
static struct {
    int seconds, fraction;
} timer[2] = {{0, 0}, {0, 0}};
static struct {
    word base, length;
} parts[2] = {{(word) "ab", 2}, {(word) "cde", 3}};
static word limit[2] = {0xffffffff, 1024};
static unsigned long long wide_limit[2] = {0xffffffffffffffff, 4096};
static struct {
    word handler, flags, restorer, mask[2];
} action = {0x1234, 0x10000004, 0x5678, {1 << 9, 0}};
static struct {
    word handler, mask, flags, restorer;
} old_action = {0x4321, 1 << 11, 0x40000000, 0x8765}, ignored = {1, 0, 0, 0};
static struct {
    word sp, flags, size;
} stack = {0xf0000000, 2, 0x2000};
static word set[2] = {1 << 13, 0};
static struct {
    int signal, error, code, fields[29];
} info = {10, 0, -1, {1, 2, 3}};
static struct {
    short family, port;
    word address;
    char zero[8];
} address = {2, 0x5000, 0x0100007f, {0}};
static struct {
    word number, base, limit, flags;
} segment = {-1, 0x1000, 0xfffff, 0x51};
static struct {
    word modes;
    int numbers[31];
} clock_state = {0, {-1, 2, 3, 4, 5, 6, 7, 8}};
static struct {
    word modes;
    int pad;
    long long numbers[25];
} wide_clock = {0, 0, {-1, 2, 3, 4, 5, 6, 7, 8}};
static struct {
    int size, numbers[11];
} scheduling = {48, {0}};

static void files(void)
{
    int fd = CALL(open, name, 0102, 0644);
    CALL(write, fd, "one\ntwo", 7);
    CALL(write, fd, BAD, -1);
    CALL(pwrite64, fd, "four", 4, 0, 1);
    CALL(pwrite64, fd, "four", 4, -1, -1);
    CALL(pread64, fd, buffer, 4, 0x89abcdef, 1);
    CALL(lseek, fd, -1, 0);
    CALL(lseek, fd, 5, 1);
    CALL(_llseek, fd, 1, 0x80000000, buffer, 0);
    CALL(read, fd, buffer, 16);
    CALL(writev, fd, parts, 2);
    CALL(readv, fd, parts, -1);
    CALL(preadv, fd, parts, 2, 0x80000000, 2);
    CALL(pwritev, fd, BAD, 1, 5, 0);
    CALL(preadv2, fd, parts, 1, -1, -1, 8);
    CALL(truncate, name, -1);
    CALL(ftruncate, fd, 12);
    CALL(truncate64, name, 10, 1);
    CALL(ftruncate64, fd, -1, -1);
    CALL(fallocate, fd, 1, 0x10, 1, 0x20, 2);
    CALL(fadvise64, fd, 1, 2, -1, 3);
    CALL(fadvise64_64, fd, 1, 2, 3, 4, 1);
    CALL(readahead, fd, 1, 2, 3);
    CALL(sync_file_range, fd, 1, 2, 3, 4, 7);
    CALL(stat, name, buffer);
    CALL(oldstat, none, buffer);
    CALL(lstat, name, buffer);
    CALL(fstat, fd, BAD);
    CALL(stat64, name, buffer);
    CALL(lstat64, HIGH, buffer);
    CALL(fstat64, fd, buffer);
    CALL(fstatat64, -100, name, buffer, 0x100);
    CALL(statfs, folder, buffer);
    CALL(fstatfs, fd, buffer);
    CALL(statfs64, folder, 84, buffer);
    CALL(fstatfs64, fd, -1, buffer);
    CALL(statx, -100, name, 0, 0x7ff, buffer);
    CALL(access, name, 6);
    CALL(chown, none, -1, 65534);
    CALL(lchown, none, 0x12345, 1);
    CALL(fchown, -1, 7, -1);
    CALL(chown32, none, -1, 65534);
    CALL(lchown32, none, 0x12345, 1);
    CALL(fchown32, -1, 7, -1);
    CALL(fcntl, fd, 3);
    CALL(fcntl64, fd, 1, 0);
    CALL(ioctl, fd, 0x5401, buffer);
    CALL(getdents, fd, buffer, 100);
    CALL(getdents64, fd, buffer, -1);
    CALL(readdir, fd, buffer, 1);
    CALL(umask, 022);
    CALL(umount, none);
    CALL(umount2, none, 1);
    CALL(mknod, none, 0010644, 5);
    CALL(link, none, BAD);
    CALL(symlink, none, none);
    CALL(readlink, none, buffer, -1);
    CALL(utime, none, moment);
    CALL(utimes, none, moment);
    CALL(futimesat, -100, none, moment);
    CALL(utimensat, -100, none, omit, 0);
    CALL(utimensat_time64, -100, none, wide_moment, 0);
    CALL(sendfile, -1, fd, 0, 10);
    CALL(sendfile64, -1, fd, BAD, -1);
    CALL(splice, fd, BAD, -1, 0, 10, 1);
    CALL(select, 0);
    CALL(_newselect, 0, 0, 0, 0, &pause_for);
    CALL(pselect6, 0, 0, 0, 0, &pause_for, 0);
    CALL(pselect6_time64, 0, 0, 0, 0, &wide_pause, 0);
    CALL(poll, BAD, 1, -1);
    CALL(ppoll, 0, 0, &pause_for, 0, 8);
    CALL(ppoll_time64, 0, 0, &wide_pause, 0, 8);
    CALL(fanotify_mark, -1, 1, 2, 0x40000000, -100, none);
    CALL(dup3, fd, fd, 0);
    CALL(flock, fd, 6);
    CALL(openat, -100, none, 0);
    CALL(execve, none, BAD, BAD);
    CALL(close, fd);
    CALL(close, -3);
    CALL(unlink, name);
}

static void memory(void)
{
    word old[6] = {0, 4096, 1, 2, -1, 4096}, selected[5] = {0, 0, 0, 0, (word)&pause_for};
    CALL(mmap, old);
    CALL(mmap, BAD);
    CALL(select, selected);
    word at = CALL(mmap2, 0, 8192, 3, 0x22, -1, 0);
    CALL(mmap2, 0, 4096, 1, 2, -1, 0x100001);
    CALL(mprotect, at, 4096, 1);
    CALL(mremap, at, 4096, -1, 0);
    CALL(madvise, at, 4096, 4);
    CALL(munmap, at, 8192);
    CALL(mlock, at, -1);
    CALL(brk, -1);
    CALL(set_thread_area, &segment);
    CALL(get_thread_area, BAD);
    CALL(modify_ldt, 0, buffer, 16);
}

static void sockets(void)
{
    word made[3] = {2, 1, 0}, connecting[3] = {-1, (word)&address, 16}, sending[4] = {-1, (word) "text", 4, 0x40};
    word to[6] = {-1, (word) "text", 4, 0, (word)&address, 16}, waiting[5] = {-1, 0, 0, 0, (word)&pause_for};
    word refused[2] = {-1, -1};
    int fd = CALL(socketcall, 1, made);
    CALL(socketcall, 3, connecting);
    CALL(socketcall, 2, connecting);
    CALL(socketcall, 4, refused);
    CALL(socketcall, 5, sending);
    CALL(socketcall, 9, sending);
    CALL(socketcall, 10, sending);
    CALL(socketcall, 11, to);
    CALL(socketcall, 12, to);
    CALL(socketcall, 13, refused);
    CALL(socketcall, 14, to);
    CALL(socketcall, 16, sending);
    CALL(socketcall, 19, waiting);
    CALL(socketcall, 8, sending);
    CALL(socket, 2, 2, 0);
    CALL(connect, -1, &address, 16);
    CALL(bind, -1, BAD, 16);
    CALL(sendto, -1, "text", 4, 0, &address, 16);
    CALL(recvmmsg, -1, 0, 0, 0, &pause_for);
    CALL(recvmmsg_time64, -1, 0, 0, 0, &wide_pause);
    CALL(setsockopt, -1, 1, 2, buffer, 4);
    CALL(close, fd);
}

static void messages(void)
{
    word argument = 0x55, received[2] = {(word)buffer, -5};
    CALL(ipc, 1, -1, 2, 0, buffer);
    CALL(ipc, 2, -1, 0, 0);
    CALL(ipc, 3, -1, 2, 0x100, &argument);
    CALL(ipc, 4, -1, 1, 0, buffer, &pause_for);
    CALL(ipc, 11, -1, 3, 04000, buffer);
    CALL(ipc, 12, -1, 3, 04000, received);
    CALL(ipc, 12 | 1 << 16, -1, 3, 04000, buffer, -6);
    CALL(ipc, 13, 5, 0);
    CALL(ipc, 14, -1, 0x102, 0, buffer);
    CALL(ipc, 21, -1, 010000, buffer, BAD);
    CALL(ipc, 22, 0, 0, 0, BAD);
    CALL(ipc, 23, 5, 4096, 0);
    CALL(ipc, 24, -1, 0x102, 0, buffer);
    CALL(semget, 5, 1, 0);
    CALL(msgrcv, -1, buffer, 3, -5, 04000);
    CALL(shmget, 5, -1, 0);
    CALL(semtimedop_time64, -1, buffer, 1, &wide_pause);
    CALL(mq_open, "none", 0);
    CALL(mq_timedsend, -1, "text", 4, 1, &pause_for);
}

static void signals(void)
{
    CALL(signal, 10, 0);
    CALL(signal, 12, 0x1234);
    CALL(sigaction, 10, &old_action, buffer);
    CALL(sigaction, 10, &ignored, 0);
    CALL(sigaction, 9, BAD, 0);
    CALL(rt_sigaction, 12, &action, 0, 8);
    CALL(rt_sigaction, 99, BAD, 0, 8);
    CALL(sgetmask);
    CALL(ssetmask, 0);
    CALL(sigpending, buffer);
    CALL(sigprocmask, 0, set, buffer);
    CALL(rt_sigprocmask, 2, set, 0, 8);
    CALL(rt_sigpending, buffer, 8);
    CALL(rt_sigtimedwait, set, 0, &pause_for, 8);
    CALL(rt_sigtimedwait_time64, set, 0, &wide_pause, 8);
    CALL(rt_sigqueueinfo, -1, 10, &info);
    CALL(sigaltstack, &stack, 0);
    CALL(kill, 0, 0x4000);
    CALL(tgkill, -1, -1, 10);
}

static void times(void)
{
    CALL(time, 0);
    CALL(stime, BAD);
    CALL(gettimeofday, buffer, 0);
    CALL(settimeofday, &moment[1], BAD);
    CALL(nanosleep, &pause_for, buffer);
    CALL(nanosleep, BAD, 0);
    CALL(clock_gettime, 1, buffer);
    CALL(clock_gettime64, 1, buffer);
    CALL(clock_settime, 1, &moment[1]);
    CALL(clock_settime64, 1, wide_moment);
    CALL(clock_nanosleep, 1, 0, &pause_for, 0);
    CALL(clock_nanosleep_time64, 1, 0, &wide_pause, 0);
    CALL(clock_adjtime, 1, &clock_state);
    CALL(clock_adjtime64, 1, &wide_clock);
    CALL(adjtimex, BAD);
    CALL(setitimer, 0, timer, 0);
    CALL(timer_settime, -1, 0, moment, 0);
    CALL(timer_settime64, -1, 0, wide_moment, 0);
    CALL(timerfd_settime, -1, 0, moment, 0);
    CALL(timerfd_settime64, -1, 0, wide_moment, 0);
    CALL(futex, buffer, 128, 1, &pause_for);
    CALL(futex_time64, buffer, 128, 1, &wide_pause);
    CALL(futex, buffer, 1, 1);
    CALL(times, 0);
    CALL(sched_rr_get_interval_time64, -1, buffer);
}

static void processes(void)
{
    CALL(waitpid, -1, buffer, 1);
    CALL(wait4, -1, 0, 1, 0);
    CALL(waitid, 1, -1, 0, 5, 0);
    CALL(nice, 0);
    CALL(setpgid, -1, 0);
    CALL(getpriority, 0, -1);
    CALL(setreuid, -1, -1);
    CALL(setregid, -1, -1);
    CALL(setresuid, -1, -1, -1);
    CALL(setresgid, -1, -1, -1);
    CALL(setreuid32, -1, -1);
    CALL(setresgid32, -1, -1, -1);
    CALL(setfsuid, -1);
    CALL(setfsuid32, -1);
    CALL(getresuid, BAD, BAD, BAD);
    CALL(getgroups, -1, buffer);
    CALL(getgroups32, -1, buffer);
    CALL(setrlimit, 16, limit);
    CALL(ugetrlimit, 7, buffer);
    CALL(prlimit64, -1, 7, wide_limit, 0);
    CALL(sysinfo, 0);
    CALL(prctl, 0x59616d61, -1);
    CALL(prctl, 22, 5);
    CALL(ptrace, 12, -1, 0, buffer);
    CALL(sched_setattr, -1, &scheduling, 0);
    CALL(unshare, 0);
    CALL(uselib, none);
    CALL(clone, 0x80000000 | 0x10000, 1, 2, 3, 4);
    CALL(olduname, BAD);
    CALL(uname, BAD);
    CALL(personality, -1);
    CALL(gettid);
    CALL(break);
    CALL(vm86old, BAD);
    CALL(delete_module, "none", 0);
    CALL(pidfd_open, -1, 0);
    CALL(openat2, -100, none, BAD, 24);
    call(500);
}

void _start(void)
{
    /* Handlers cannot wait for a page, so the texts in this file must be in memory at the first call. */
    static const char begin[] = "/calls/begin";
    (void)*(volatile const char*)begin;
    /* The file of a run that was killed is too large to be opened. */
    CALL(unlink, name);
    CALL(chdir, begin);
    files();
    memory();
    sockets();
    messages();
    signals();
    times();
    processes();
    CALL(chdir, "/calls/end");
    CALL(exit_group, 0);
}
