/* Actions that a tracer could disturb: `harmless CASE` does one of them, through functions, marks and a variable that are
 * probed, and prints the result, so that a run with probes can be compared with one without. `harmless all` lists the cases. */
#define _GNU_SOURCE
#define _SDT_HAS_SEMAPHORES 1
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sdt.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))
unsigned short harmless_step_semaphore __attribute__((section(".probes")));
volatile long counter;

/* Begins with a nop of five bytes, which kernels replace by a call instead of a breakpoint. */
long wide(long n);
__asm__(".text\n.globl wide\n.type wide,@function\nwide:\n.byte 0x0f,0x1f,0x44,0,0\nlea 1(%rdi),%rax\nret\n.size wide,.-wide\n");

OWN long step(long n)
{
    DTRACE_PROBE1(harmless, step, n);
    counter = n;
    return wide(n) + counter;
}
OWN long deep(long n) { return n <= 0 ? 0 : step(n) - step(n - 1) + deep(n - 1); }

/* Prints without stdio, for processes with very few permissions. */
static void say(const char* text) { __attribute__((unused)) ssize_t n = write(1, text, strlen(text)); }

static void say_status(const char* what, int status)
{
    if (WIFEXITED(status))
        printf("%s exited %d\n", what, WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        printf("%s ended by %d%s\n", what, WTERMSIG(status), WCOREDUMP(status) ? " core" : "");
    else if (WIFSTOPPED(status))
        printf("%s stopped by %d\n", what, WSTOPSIG(status));
}
static void say_end(const char* what, pid_t child)
{
    int status = 0;
    pid_t got = waitpid(child, &status, 0);
    if (got != child)
        printf("waitpid: %s\n", strerror(errno));
    say_status(what, status);
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */
static void* in_thread(void* number)
{
    long sum = 0;
    for (long i = 0; i < 200; i++)
        sum += step(i + (long)number);
    return (void*)sum;
}
static void threads(void)
{
    pthread_t all[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&all[i], 0, in_thread, (void*)0);
    for (int i = 0; i < 8; i++)
        pthread_join(all[i], 0);
    printf("joined\n");
}
static void* waits_for_ever(void* nothing)
{
    for (;;) {
        step(1);
        usleep(100);
    }
    return nothing;
}
static void cancelled(void)
{
    pthread_t one;
    void* result = 0;
    pthread_create(&one, 0, waits_for_ever, 0);
    usleep(2000);
    pthread_cancel(one);
    pthread_join(one, &result);
    printf("cancelled %d\n", result == PTHREAD_CANCELED);
}
/* The first thread ends, and another one calls exec. */
static void* executes(void* path)
{
    usleep(1000);
    execl(path, "harmless", "hello", (char*)0);
    return 0;
}
static void thread_exec(void)
{
    static char path[4096];
    pthread_t one, two;
    __attribute__((unused)) ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    fflush(stdout);
    pthread_create(&two, 0, waits_for_ever, 0);
    pthread_create(&one, 0, executes, path);
    pthread_exit(0);
}

/* ---- signals ---------------------------------------------------------------------------------------------------- */
static volatile long handled, on_other_stack;
static char* other_stack;
static void on_signal(int signal)
{
    char here;
    on_other_stack += &here >= other_stack && &here < other_stack + 65536;
    handled += deep(3) > 0;
    (void)signal;
}
static void catch(int signal, int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigaction(signal, &action, 0);
}
static void signals(void)
{
    stack_t stack = {.ss_sp = other_stack = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, 0);
    catch(SIGUSR1, SA_ONSTACK);
    catch(SIGUSR2, SA_RESTART | SA_NODEFER);
    for (int i = 0; i < 50; i++) {
        step(i);
        raise(SIGUSR1);
        raise(SIGUSR2);
    }
    printf("handled %ld, on the other stack %ld\n", handled, on_other_stack);
}
/* At any instruction, also at those that the kernel steps elsewhere. */
static void timer(void)
{
    timer_t id;
    stack_t stack = {.ss_sp = other_stack = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, 0);
    catch(SIGALRM, SA_ONSTACK | SA_RESTART);
    timer_create(CLOCK_MONOTONIC, 0, &id);
    for (int i = 0; i < 100; i++) {
        /* Once: a handler that takes longer than the interval would leave no time for anything else. */
        struct itimerspec soon = {{0, 0}, {0, 50000 + i * 3001}};
        timer_settime(id, 0, &soon, 0);
        while (handled <= i)
            deep(4);
    }
    timer_delete(id);
    printf("handled enough\n");
}
static sigjmp_buf back;
static void on_fault(int signal, siginfo_t* info, void* context)
{
    (void)context;
    counter = (long)info->si_addr;
    siglongjmp(back, signal);
}
OWN static long faults(long* where) { return step(1) + *where; }
static void fault(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGTRAP, &action, 0);
    for (int i = 0; i < 20; i++) {
        int signal = sigsetjmp(back, 1);
        if (!signal)
            faults((long*)0x10);
        else if (i == 19)
            printf("signal %d at %#lx\n", signal, counter);
    }
    int signal = sigsetjmp(back, 1);
    if (!signal)
        __asm__ volatile("int3");
    printf("signal %d\n", signal);
}
/* Calls that a signal without a handler interrupts if a tracer interferes. */
static void uninterrupted(void)
{
    int epoll = epoll_create1(0), failed = 0;
    struct epoll_event event;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            usleep(1000);
            _exit((int)(step(3) & 1));
        }
        failed += epoll_wait(epoll, &event, 1, 20) != 0;
        waitpid(child, 0, 0);
    }
    printf("interrupted %d\n", failed);
}
static void killed(void)
{
    static const int by[] = {SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGTRAP};
    for (unsigned i = 0; i < sizeof by / sizeof *by; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_DUMPABLE, 0);
            step(i);
            raise(by[i]);
            _exit(3);
        }
        say_end("child", child);
    }
}

/* ---- processes -------------------------------------------------------------------------------------------------- */
static void forks(void)
{
    for (int i = 0; i < 20; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            exit((int)(deep(5) + i) & 63);
        say_end("child", child);
    }
}
/* A child that outlives its parent, and has a child that outlives the child. */
static void orphans(void)
{
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        deep(5);
        if (fork() != 0)
            return;
        usleep(50000);
    }
    deep(5);
}
OWN static long vforks(long i)
{
    volatile long kept = i;
    pid_t child = vfork();
    if (child == 0) {
        step(kept);
        _exit((int)kept);
    }
    say_end("child", child);
    return step(kept) - step(kept);
}
static void vfork_all(void)
{
    long sum = 0;
    for (int i = 0; i < 10; i++) {
        fflush(stdout);
        sum += vforks(i);
    }
    printf("%ld\n", sum);
}
static void hello(void) { printf("hello %ld\n", deep(10)); }
static void executed(void)
{
    char path[4096] = "";
    __attribute__((unused)) ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        pid_t child = i == 2 ? vfork() : fork();
        if (child == 0) {
            execl(path, "harmless", "hello", (char*)0);
            _exit(99);
        }
        say_end("program", child);
    }
    step(1);
    fflush(stdout);
    execl(path, "harmless", "hello", (char*)0);
}
/* A parent that is notified of its child's stops. */
static void stops(void)
{
    char path[4096] = "";
    __attribute__((unused)) ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl(path, "harmless", "stopping", (char*)0);
        _exit(99);
    }
    for (int status = 0, alive = 1; alive;) {
        if (waitpid(child, &status, WUNTRACED) != child)
            break;
        say_status("child", status);
        alive = !WIFEXITED(status) && !WIFSIGNALED(status);
        if (WIFSTOPPED(status))
            kill(child, SIGCONT);
    }
}
static void on_continue(int signal) { handled += step(signal) > 0; }
static void stopping(void)
{
    signal(SIGCONT, on_continue);
    static const int by[] = {SIGTSTP, SIGSTOP, SIGTTIN};
    for (int i = 0; i < 3; i++) {
        step(i);
        raise(by[i]);
        step(i);
    }
    exit(handled == 3 ? 7 : 8);
}
/* A parent that traces its child itself. */
static void traces(void)
{
    int status = 0, steps = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        step(1);
        _exit(5);
    }
    waitpid(child, &status, 0);
    say_status("child", status);
    long failed = ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXIT);
    for (ptrace(PTRACE_CONT, child, 0, 0); waitpid(child, &status, 0) == child && WIFSTOPPED(status); steps++) {
        printf("event %d\n", status >> 8);
        ptrace(PTRACE_CONT, child, 0, 0);
    }
    say_status("child", status);
    printf("%ld %d\n", failed, steps);
}

/* ---- leaving functions in other ways ------------------------------------------------------------------------------- */
static jmp_buf place;
OWN static long jumps(volatile long n)
{
    if (n <= 0)
        longjmp(place, 1);
    return jumps(n - 1) + step(n);
}
static void long_jump(void)
{
    volatile int times = 0;
    for (volatile int i = 0; i < 100; i++)
        if (setjmp(place) == 0)
            jumps(i % 20);
        else
            times++;
    printf("jumped %d, then %ld\n", times, deep(10));
}
static ucontext_t whole, part[3];
OWN static long yields(long self, long n)
{
    swapcontext(&part[self], &whole);
    return n == 0 ? step(self) : yields(self, n - 1) + step(n);
}
static void coroutine(int self) { counter += yields(self, 10); }
static void coroutines(void)
{
    for (int i = 0; i < 3; i++) {
        getcontext(&part[i]);
        part[i].uc_stack = (stack_t){.ss_sp = malloc(65536), .ss_size = 65536};
        part[i].uc_link = &whole;
        makecontext(&part[i], (void (*)(void))coroutine, 1, i);
    }
    for (int round = 0; round < 12; round++)
        for (int i = 0; i < 3; i++)
            swapcontext(&whole, &part[i]);
    printf("coroutines are through, %ld\n", deep(5));
}

/* A program that unwinds its own stack, as crash reporters do. */
OWN static long walked(long n)
{
    void* all[64];
    return backtrace(all, 64) + n;
}
OWN static long calls_walked(long n) { return walked(n) * 2; }
static void walks(void) { printf("walked %ld\n", calls_walked(deep(3))); }

/* A thread whose signal stack is above its own stack. */
static char* upper_stack;
OWN static long raises(long n)
{
    raise(SIGUSR1);
    return step(n) + n;
}
static void* below(void* nothing)
{
    stack_t above = {.ss_sp = upper_stack, .ss_size = 65536};
    long sum = 0;
    sigaltstack(&above, 0);
    for (int i = 0; i < 10; i++)
        sum += raises(i);
    printf("below %ld, handled %ld\n", sum, handled);
    return nothing;
}
static void above(void)
{
    pthread_t one;
    upper_stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    catch(SIGUSR1, SA_ONSTACK);
    pthread_create(&one, 0, below, 0);
    pthread_join(one, 0);
}

/* ---- seccomp ----------------------------------------------------------------------------------------------------- */
static void strict(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        say(deep(10) == 20 ? "strict and alive\n" : "wrong\n");
        syscall(SYS_exit, 4);
    }
    say_end("child", child);
}
/* Allows only the necessary calls; any other ends the process, or causes an error or a signal. */
static void filter(unsigned otherwise)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, otherwise),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        say(deep(10) == 20 ? "filtered and alive\n" : "wrong\n");
        _exit(4);
    }
    say_end("child", child);
}
static void filters(void)
{
    filter(SECCOMP_RET_KILL_PROCESS);
    filter(SECCOMP_RET_TRAP);
    filter(SECCOMP_RET_ERRNO | EPERM);
    filter(SECCOMP_RET_TRACE);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */
/* A program that reads its own code and counts the permissions of its mappings must find them unchanged. */
static void protects(void)
{
    long size = sysconf(_SC_PAGESIZE);
    char* page = (char*)((unsigned long)step & ~(unsigned long)(size - 1));
    int failed = mprotect(page, 2 * (size_t)size, PROT_READ | PROT_EXEC | PROT_WRITE) |
                 mprotect(page, 2 * (size_t)size, PROT_READ | PROT_EXEC);
    printf("mprotect %d, %ld\n", failed, deep(5) - deep(5));
}
static void full(void)
{
    static char buffer[1 << 16];
    int fd = open("/proc/self/maps", O_RDONLY), count = 0;
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;)
        for (ssize_t i = 0; i + 4 < n; i++)
            count += memcmp(buffer + i, " rwx", 4) == 0;
    printf("writable code %d, %ld\n", count, deep(3) - deep(3));
}

/* An instruction with a prefix that kernels refuse to probe. */
long locked(long* n);
__asm__(".text\n.globl locked\n.type locked,@function\nlocked:\nlock incq (%rdi)\nmov (%rdi),%rax\nret\n.size locked,.-locked\n");
/* Runs until its input ends. */
static void idle(void)
{
    char byte;
    long n = 0;
    while (read(0, &byte, 1) > 0)
        ;
    printf("%ld %ld\n", step(1), locked(&n));
}

static const struct {
    const char* name;
    void (*run)(void);
} cases[] = {
    {"hello", hello},         {"threads", threads},     {"cancelled", cancelled}, {"thread_exec", thread_exec},
    {"signals", signals},     {"timer", timer},         {"fault", fault},         {"uninterrupted", uninterrupted},
    {"killed", killed},       {"forks", forks},         {"vfork", vfork_all},     {"executed", executed},
    {"stops", stops},         {"stopping", stopping},   {"traces", traces},       {"long_jump", long_jump},
    {"coroutines", coroutines}, {"strict", strict},     {"filters", filters},     {"protects", protects},
    {"full", full},           {"orphans", orphans},     {"walks", walks},         {"above", above},
    {"idle", idle},
};

int main(int argc, char** argv)
{
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], "all") == 0)
            printf("%s\n", cases[i].name);
        else if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    return 0;
}
