/* Makes system calls by number with arguments that are good, bad, extreme or unreadable, and
 * harmless: each call fails or only returns information. All memory has fixed addresses, so each
 * call's text is always the same. The test examines calls between two calls of getpgid(-77). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 0x20000000ul
#define BAD 0xffffffffffffffffl
#define M1 (-1l)
#define CALL(name, ...) syscall(SYS_##name, ##__VA_ARGS__)

/* At a fixed offset in the page, 64 bytes each. */
static void* at(int slot) { return (char*)PAGE + 64l * slot; }
static void* text(int slot, const char* s) { return memcpy(at(slot), s, strlen(s) + 1); }
static void* longs(int slot, int count, const long* values) { return memcpy(at(slot), values, sizeof(long) * (size_t)count); }
#define LONGS(slot, ...) longs(slot, sizeof((long[]){__VA_ARGS__}) / sizeof(long), (long[]){__VA_ARGS__})
#define BYTES(slot, s) memcpy(at(slot), s, sizeof(s) - 1)

static void files(void)
{
    char* no = text(0, "/no/such");
    char* letters = text(1, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcd");
    CALL(read, M1, at(2), 5l);
    CALL(read, 77l, BAD, M1);
    CALL(write, M1, letters, 46l);
    CALL(write, M1, letters, 56l);
    CALL(write, M1, 0l, 0l);
    CALL(write, M1, BAD, 4l);
    CALL(pread64, M1, at(2), 5l, 3l);
    CALL(pwrite64, M1, letters, 3l, M1);
    CALL(write, M1, M1, M1);
    CALL(write, M1, M1, 0l);
    CALL(write, M1, letters, M1);
    CALL(readv, M1, at(2), 2l);
    CALL(preadv, M1, at(2), 2l, 0x12l, 0l);
    CALL(pwritev2, M1, at(2), 2l, 16l, 0l, 1l);
    CALL(open, no, (long)(O_WRONLY | O_CREAT | O_EXCL), 0600l);
    CALL(open, no, (long)(O_RDONLY | O_NONBLOCK | O_CLOEXEC), 0600l);
    CALL(open, 0l, 3l);
    CALL(openat, (long)AT_FDCWD, no, (long)(O_RDWR | O_SYNC | O_DIRECTORY | 0x400000), 0l);
    CALL(openat, M1, BAD, -1l, -1l);
    CALL(creat, no, 0644l);
    CALL(close, M1);
    CALL(lseek, M1, M1, 2l);
    CALL(lseek, M1, 0l, 99l);
    CALL(access, no, 7l);
    CALL(access, no, 0l);
    CALL(faccessat2, M1, no, 4l, 0x200l);
    CALL(chmod, no, 04755l);
    CALL(mkdirat, (long)AT_FDCWD, text(0, "/no/such/folder"), 0l);
    CALL(mknod, text(0, "/no/such/node"), (long)(0020000 | 0600), 5l);
    CALL(mknod, at(0), 0600l, M1);
    CALL(chown, at(0), M1, 5l);
    CALL(fchownat, M1, at(0), 1l, M1, 0x1100l);
    CALL(umask, 022l);
    CALL(umask, 022l);
    CALL(newfstatat, M1, at(0), at(2), 0x1000l);
    CALL(statx, M1, at(0), 0l, 0x7ffl, at(2));
    CALL(getdents64, M1, at(2), 80l);
    CALL(readlink, at(0), at(2), 9l);
    CALL(getcwd, 0l, 0l);
    CALL(setxattr, at(0), text(1, "user.a"), text(2, "ok"), 3l, 1l);
    CALL(setxattr, at(0), at(1), BYTES(2, "a\"b\001\377"), 5l, 0l);
    CALL(fsetxattr, M1, at(1), 0l, 4l, -1l);
    CALL(getxattr, at(0), at(1), at(3), 20l);
    CALL(fadvise64, M1, 1l, 2l, 3l);
    CALL(fallocate, M1, 1l, 16l, 17l);
    CALL(sync_file_range, M1, 1l, 2l, 7l);
    CALL(splice, M1, 0l, M1, 0l, 100l, 3l);
    CALL(tee, M1, M1, 100l, 2l);
    CALL(sendfile, M1, M1, 0l, 100l);
    CALL(copy_file_range, M1, 0l, M1, 0l, 10l, 0l);
    CALL(truncate, at(0), M1);
    CALL(ftruncate, M1, 5l);
    CALL(ioctl, M1, 0x5401l, at(2));
    CALL(fcntl, M1, 3l, 0l);
    CALL(fcntl, M1, 9999l, 0l);
    CALL(flock, M1, 6l);
    CALL(dup3, M1, M1, (long)O_CLOEXEC);
    CALL(dup, M1);
    CALL(dup2, M1, -2l);
    CALL(pipe2, 0l, (long)(O_CLOEXEC | O_NONBLOCK));
    CALL(pipe2, LONGS(4, 0x700000005), -1l);
    CALL(linkat, M1, at(0), M1, text(1, "/else"), 0x400l);
    CALL(utimensat, M1, at(0), LONGS(5, 1, 0x3fffffff, 2, 0x3ffffffe), 0x100l);
    CALL(utimensat, M1, at(0), LONGS(5, 1, 2, 3, 4), 0l);
    CALL(utimes, at(0), at(5));
    CALL(utime, at(0), 0l);
    CALL(mount, at(0), at(1), text(2, "none"), 1l, text(3, "size=5"));
    CALL(mount, 0l, at(1), BAD, 0l, 0l);
    CALL(umount2, at(0), 2l);
    CALL(swapon, at(0), 0x8005l);
    CALL(swapon, at(0), 5l);
    CALL(inotify_add_watch, M1, at(0), 0x300l);
    CALL(fanotify_init, -1l, 0l);
    CALL(quotactl, 0x80000700l, at(0), 5l, LONGS(6, 1, 2, 3, 4, 5));
    CALL(quotactl, 0x80000401l, at(0), 5l, at(6));
    CALL(sysfs, 9l, 1l, 2l);
}

static void memory(void)
{
    CALL(mmap, 0l, 0l, 3l, 0x22l, M1, 0l);
    CALL(mmap, 0l, 0l, 0l, 0x54040042l, M1, 0l);
    CALL(mprotect, 1l, 4096l, 5l);
    CALL(munmap, 1l, 4096l);
    CALL(mremap, 1l, M1, 4096l, 3l, 0l);
    CALL(mremap, 1l, M1, 4096l, M1, 0l);
    CALL(madvise, 1l, 4096l, 4l);
    CALL(madvise, 1l, 4096l, M1);
    CALL(msync, 1l, 4096l, 4l);
    CALL(mlock2, 1l, 4096l, 8l);
    CALL(mlockall, -1l);
    CALL(mbind, 1l, 4096l, 0x8002l, 0l, 0l, 8l);
    CALL(set_mempolicy, -1l, 0l, 0l);
    CALL(membarrier, 0l, 0l);
    CALL(membarrier, M1, M1);
    CALL(pkey_alloc, M1, 3l);
    CALL(memfd_create, BAD, 1l);
    CALL(remap_file_pages, 1l, 2l, 3l, 4l, 5l);
    CALL(brk, 0x1000l);
    CALL(process_vm_readv, M1, 0l, 1l, 0l, 1l, 1l);
}

static void sockets(void)
{
    CALL(socket, 99l, 0x4bl, 5l);
    CALL(socket, 1l, 0x80802l, 77l);
    CALL(socketpair, 10l, 1l, 6l, 0l);
    CALL(connect, M1, BYTES(0, "\2\0\0\x50\x7f\0\0\1"), 16l);
    CALL(connect, M1, at(0), 15l);
    CALL(connect, M1, 0l, 16l);
    CALL(connect, M1, BAD, 16l);
    CALL(bind, M1, at(0), M1);
    CALL(bind, M1, at(0), 1l);
    CALL(bind, M1, BYTES(0, "\12\0\0\x50\0\0\0\0\x20\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0"), 28l);
    CALL(bind, M1, BYTES(0, "\1\0/run/x\0"), 20l);
    CALL(bind, M1, BYTES(0, "\1\0\0name"), 7l);
    CALL(bind, M1, BYTES(0, "\20\0\0\0\7\0\0\0\3\0\0\0"), 12l);
    CALL(sendto, M1, text(1, "hello"), 5l, 0x4040l, BYTES(0, "\2\0\0\x50\x7f\0\0\1"), 16l);
    CALL(recvfrom, M1, at(1), 5l, 2l, 0l, 0l);
    CALL(sendmsg, M1, at(1), 0l);
    CALL(recvmmsg, M1, at(1), 2l, 0l, LONGS(5, 1, 5));
    CALL(shutdown, M1, 2l);
    CALL(shutdown, M1, 9l);
    CALL(getsockopt, M1, 1l, 2l, at(1), at(2));
    CALL(setsockopt, M1, 6l, 1l, at(1), 4l);
    CALL(setsockopt, M1, M1, M1, 0l, M1);
    CALL(accept4, M1, 0l, 0l, 0x80800l);
    CALL(listen, M1, 5l);
    CALL(poll, 1l, 5l, 0l);
    CALL(select, M1, 0l, 0l, 0l, LONGS(5, 1, 5));
    CALL(ppoll, 1l, 5l, LONGS(5, 1, 4), 0l, 8l); /* select() has stored the remaining time there */
    CALL(epoll_create1, 0x80000l);
    CALL(epoll_create, M1);
    CALL(epoll_ctl, M1, 1l, M1, 0l);
    CALL(epoll_ctl, M1, 9l, M1, 0l);
    CALL(epoll_wait, M1, 0l, 5l, M1);
    CALL(signalfd4, 77l, 0l, 8l, 0l);
    CALL(signalfd4, 77l, 0l, 8l, 0x80800l);
    CALL(eventfd2, 5l, -1l);
    CALL(inotify_init1, -1l);
}

static void signals(void)
{
    long action[4] = {0x1234, SA_RESTART | 0x04000000, 0x5678, 0};
    CALL(kill, -1234567l, M1);
    CALL(kill, -1234567l, 0l);
    CALL(kill, -1234567l, 29l);
    CALL(tgkill, -1l, -1l, 16l);
    CALL(tkill, -1l, 33l);
    CALL(rt_sigaction, 99l, 0l, 0l, 8l);
    CALL(rt_sigaction, 99l, longs(0, 4, action), 0l, 8l);
    CALL(rt_sigaction, 99l, LONGS(1, 1, -1, -1, -1), 0l, 8l);
    CALL(rt_sigprocmask, 9l, LONGS(2, 0), 0l, 8l);
    CALL(rt_sigprocmask, 2l, LONGS(2, 0x10200), 0l, 9l);
    CALL(rt_sigprocmask, 1l, BAD, 0l, 8l);
    CALL(rt_sigsuspend, BAD, 8l);
    CALL(rt_sigqueueinfo, -5l, 10l, LONGS(3, 10, 0xffffffff, 0x700000005));
    CALL(rt_sigqueueinfo, -5l, 17l, LONGS(3, 17, 1, 0x700000005, 3));
    CALL(rt_sigqueueinfo, -5l, 11l, LONGS(3, 11, 1, 0x5000));
    CALL(rt_sigqueueinfo, -5l, 12l, 0l);
    CALL(sigaltstack, LONGS(4, 0x1000, 2, 5), BAD);
    CALL(sigaltstack, 0l, 0l);
}

static void tasks(void)
{
    char* args[] = {text(1, "true"), text(2, "a b"), 0};
    char* environment[] = {text(3, "A=1"), 0};
    memcpy(at(4), args, sizeof args);
    memcpy(at(5), environment, sizeof environment);
    CALL(execve, text(0, "/no/such"), at(4), at(5));
    CALL(execve, at(0), 0l, BAD);
    int status;
    long child = CALL(clone, (long)SIGCHLD, 0l, 0l, 0l, 0l);
    if (child == 0)
        _exit(0);
    waitpid((pid_t)child, &status, 0);
    CALL(unshare, 0x80l | -1l << 40);
    CALL(setns, M1, 0x20000000l);
    CALL(wait4, -1l, 0l, 0l, 0l);
    CALL(waitid, 9l, M1, 0l, 5l, 0l);
    CALL(setuid, M1);
    CALL(setreuid, M1, M1);
    CALL(setpgid, -1l, 0l);
    CALL(personality, M1);
    CALL(sethostname, 0l, M1);
    CALL(setdomainname, text(0, "name"), M1);
    CALL(sched_setscheduler, -1l, 0x40000001l, 0l);
    CALL(sched_setscheduler, -1l, M1, 0l);
    CALL(sched_setattr, -1l, LONGS(1, 0x600000030, 1, 0x200000003, 4, 5, 6), 0l);
    CALL(setrlimit, 99l, LONGS(1, 1, -1));
    CALL(prlimit64, -1l, M1, 0l, at(1));
    CALL(getrlimit, 16l, 0l);
    CALL(getrusage, M1, 0l);
    CALL(getrusage, -5l, 0l);
    CALL(getpriority, 9l, M1);
    CALL(ioprio_set, 9l, 0l, 0x4004l);
    CALL(setitimer, 7l, LONGS(1, 1, 2, 3, 4), 0l);
    CALL(timer_settime, M1, 1l, at(1), 0l);
    CALL(timerfd_create, M1, 0l);
    CALL(timerfd_settime, M1, 1l, 0l, 0l);
    CALL(clock_nanosleep, M1, 0l, LONGS(1, 1, 5), 0l);
    CALL(nanosleep, BAD, 0l);
    CALL(nanosleep, 0l, 0l);
    CALL(clock_gettime, 1l, 0l);
    CALL(adjtimex, BAD);
    CALL(sysinfo, BAD);
    CALL(times, BAD);
    CALL(settimeofday, LONGS(1, 1, -5), LONGS(2, 0x500000004));
    CALL(futex, at(0), 1l, 1l, 0l, 0l, 0l);
    CALL(futex, at(0), 129l, 1l, 0l, 0l, 0l);
    CALL(futex, at(0), 0l, 1l, LONGS(1, 1, 5), 0l, 0l);
    CALL(futex, BAD, 5l, 1l, 2l, at(0), 0x12003004l);
    CALL(futex, at(0), 99l, 1l, 0l, 0l, 0l);
    CALL(prctl, 3l, 0l, 0l, 0l, 0l);
    CALL(prctl, 15l, BAD, 0l, 0l, 0l);
    CALL(prctl, 23l, 21l, 0l, 0l, 0l);
    CALL(prctl, 9999l, 1l, 2l, 3l, 4l);
    CALL(arch_prctl, 0x1003l, BAD);
    CALL(keyctl, 0l, -3l, 0l, 0l, 0l);
    CALL(keyctl, 5l, -77l, 0x3f000000l, 0l, 0l);
    CALL(keyctl, 999l, 1l, 2l, 3l, 4l);
    CALL(add_key, text(1, "none"), text(2, "what"), text(3, "load"), 4l, M1);
    CALL(ptrace, 1l, -1l, 16l, 32l);
    CALL(ptrace, 7l, -1l, 0l, 0l);
    CALL(ptrace, 0x4200l, -1l, 0l, 0x100001l);
    CALL(kcmp, -1l, -1l, 0l, 1l, 2l);
    CALL(seccomp, M1, 0l, 0l);
    CALL(bpf, 0l, 0l, 0l);
    CALL(perf_event_open, 0l, M1, M1, M1, 8l);
    CALL(perf_event_open, 0l, M1, M1, M1, 1l << 40 | 16);
    CALL(getrandom, 0l, M1, 1l);
    CALL(reboot, 1l, 672274793l, 0xcdef0123l, 0l);
    CALL(delete_module, text(1, "none"), 0x800l);
    CALL(finit_module, M1, at(1), 3l);
    CALL(syslog, -1l, 0l, M1);
    CALL(iopl, 9l);
    CALL(ioperm, M1, 2l, 1l);
}

static void messages(void)
{
    CALL(msgget, 77l, 0l);
    CALL(semget, 77l, 1l, 0600l);
    CALL(semget, 0l, M1, 01600l);
    CALL(shmget, 0l, 0l, 0600l);
    CALL(shmget, 77l, 5l, 0l);
    CALL(semctl, M1, 0l, 0x110l, 0l);
    CALL(shmctl, M1, 2l, 0l);
    CALL(msgsnd, M1, 0l, 5l, 04000l);
    CALL(msgrcv, M1, 0l, 5l, -1l, 010000l);
    CALL(semtimedop, M1, 0l, 1l, 0l);
    CALL(shmat, M1, 0l, 010000l);
    CALL(mq_open, text(0, "none"), (long)O_CREAT, 0600l, BAD);
    CALL(io_setup, M1, 0l);
    CALL(io_submit, M1, M1, 0l);
    CALL(io_getevents, 5l, 1l, 2l, 0l, 0l);
}

static void caught(int number) { (void)number; }

int main(void)
{
    signal(SIGUSR1, caught);
    raise(SIGUSR1);
    /* Leaves room before and after the memory that a call points to; unused parts are 0. */
    if (mmap((void*)PAGE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != (void*)PAGE)
        return 1;
    memset((void*)PAGE, 0, 4096);
    void (*const parts[])(void) = {files, memory, sockets, signals, tasks, messages};
    CALL(getpgid, -77l);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        memset((void*)PAGE, 0, 4096);
        parts[i]();
    }
    CALL(getpgid, -77l);
    return 0;
}
