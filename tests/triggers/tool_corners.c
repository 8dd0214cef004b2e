/* Difficult work for tests/tool_tests: `tool_corners WHAT [N]...` does each thing N times, one after the other. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* n children whose two threads end at once, one after the other; the first one has the status 2. */
static volatile int go;
static void *end_alone(void *unused)
{
    while (!go)
        ;
    syscall(SYS_exit, 1);
    return unused;
}
static void end_together(int n)
{
    for (int i = 0; i < n; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            pthread_create(&thread, NULL, end_alone, NULL);
            usleep(200);
            go = 1;
            syscall(SYS_exit, 2);
        }
        waitpid(child, NULL, 0);
    }
}

/* n children that do nothing, and n threads. */
static void have_brief_children(int n)
{
    for (int i = 0; i < n; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
}
static void *do_nothing(void *unused) { return unused; }
static void have_brief_threads(int n)
{
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
            die("pthread_create");
        pthread_join(thread, NULL);
    }
}

/* Sends n signals by each call other than kill(). */
static void send_otherwise(int n)
{
    signal(SIGUSR1, SIG_IGN);
    const union sigval value = {0};
    const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0)
        die("pidfd_open");
    for (int i = 0; i < n; i++) {
        sigqueue(getpid(), SIGUSR1, value);
        syscall(SYS_pidfd_send_signal, self, SIGUSR1, NULL, 0);
    }
    close(self);
}

/* Allocates n blocks of 50,000 bytes by each of several calls, and keeps all of them. */
static void *volatile kept[7][1000];
__attribute__((noipa)) void keep_odd_blocks(int i)
{
    const volatile size_t too_much = (size_t)1 << 62;
    kept[0][i] = realloc(NULL, 50000);
    kept[1][i] = malloc(50000);
    if (realloc(kept[1][i], too_much) != NULL)
        die("realloc");
    kept[2][i] = valloc(50000);
    kept[3][i] = memalign(64, 50000);
    kept[4][i] = calloc(50, 1000);
    kept[5][i] = realloc(malloc(40000), 50000);
    free(realloc(realloc(NULL, 50000), 60000));
}
static void allocate(int n)
{
    for (int i = 0; i < n && i < 1000; i++)
        keep_odd_blocks(i);
}
/* The same, and then again as another program. */
static void allocate_and_execute(int n)
{
    char number[16];
    allocate(n);
    snprintf(number, sizeof number, "%d", n);
    execl("/proc/self/exe", "tool_corners", "heap", number, NULL);
    die("execl");
}

/* n connections to port 18767 of each kind: one whose server closes it with unread data, and one that is closed when two children exit. */
static int connected(const struct sockaddr_in *address)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        die("connect");
    if (write(fd, "question", 8) != 8)
        die("write");
    return fd;
}
static void hang_up(int n)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(18767)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 5) != 0)
        die("listen");
    for (int i = 0; i < n; i++) {
        const int asked = connected(&address), answers = accept(listener, NULL, NULL);
        usleep(10000);
        close(answers);
        usleep(10000);
        close(asked);
        pid_t child = fork();
        if (child == 0) {
            char byte;
            const int fd = connected(&address);
            if (read(fd, &byte, 1) != 1)
                die("read");
            _exit(0);
        }
        const int served = accept(listener, NULL, NULL);
        pid_t server = fork();
        if (server == 0) {
            char question[8];
            if (recv(served, question, sizeof question, MSG_WAITALL) != sizeof question || write(served, "a", 1) != 1)
                die("serve");
            kill(getpid(), SIGKILL);
        }
        close(served);
        waitpid(child, NULL, 0);
        waitpid(server, NULL, 0);
    }
    usleep(100000);
}

/* Calls fsync() and fdatasync() n times for a file in memory. */
static void sync_often(int n)
{
    const int fd = open("/dev/shm/tool-sync", O_CREAT | O_RDWR, 0600);
    if (fd < 0)
        die("/dev/shm/tool-sync");
    for (int i = 0; i < n; i++)
        if (fsync(fd) != 0 || fdatasync(fd) != 0)
            die("fsync");
    close(fd);
    unlink("/dev/shm/tool-sync");
}

/* n files that another user may not remove; then they are removed. */
static void remove_twice(int n)
{
    for (int i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "/dev/shm/tool-folder-%d", i);
        mkdir(name, 0755);
        strcat(name, "/kept");
        close(open(name, O_CREAT | O_RDWR, 0600));
        pid_t child = fork();
        if (child == 0)
            _exit(setuid(65534) != 0 || unlink(name) == 0);
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0 || unlink(name) != 0)
            die("unlink");
        *strrchr(name, '/') = 0;
        rmdir(name);
    }
}

/* A stack of n functions that spends time in the innermost one. */
static volatile unsigned long spun;
__attribute__((noipa)) static void go_down(int n)
{
    if (n > 0)
        go_down(n - 1);
    else
        for (int i = 0; i < 500 * 1000 * 1000; i++)
            spun++;
    asm volatile("");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(int);
    } all[] = {{"ends", end_together},   {"children", have_brief_children}, {"threads", have_brief_threads}, {"signals", send_otherwise},
               {"heap", allocate},       {"heaps", allocate_and_execute},   {"hangup", hang_up},             {"sync", sync_often},
               {"remove", remove_twice}, {"deep", go_down}};
    for (int at = 1; at + 1 < argc; at += 2) {
        size_t i = 0;
        while (i < sizeof all / sizeof *all && strcmp(all[i].name, argv[at]) != 0)
            i++;
        if (i == sizeof all / sizeof *all) {
            fprintf(stderr, "tool_corners: no work `%s`\n", argv[at]);
            return 2;
        }
        all[i].work(atoi(argv[at + 1]));
    }
    return 0;
}
