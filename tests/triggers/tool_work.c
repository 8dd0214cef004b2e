/* Known work for tests/tool_tests: `tool_work WHAT [N]...` does each thing N times, one after the other. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void sleep_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    while (ms > 0 && nanosleep(&time, &time) != 0 && errno == EINTR)
        ;
}

/* Opens n files in the working folder, and one that does not exist. */
static void open_files(int n)
{
    char name[64];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "tool-file-%d", i);
        int fd = open(name, O_CREAT | O_RDWR, 0600);
        if (fd < 0)
            die(name);
        close(fd);
        unlink(name);
    }
    if (open("tool-file-none", O_RDONLY) >= 0)
        die("tool-file-none is there");
}

/* n children that exit with statuses 1 to n, and one that is ended by SIGKILL. */
static void have_children(int n)
{
    for (int i = 1; i <= n + 1; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (i > n)
                raise(SIGKILL);
            _exit(i);
        }
        waitpid(child, NULL, 0);
    }
}

static void send_signals(int n)
{
    signal(SIGUSR1, SIG_IGN);
    for (int i = 0; i < n; i++)
        kill(getpid(), SIGUSR1);
    kill(getpid(), 12345);
}

static void execute(int n)
{
    for (int i = 0; i < n; i++) {
        char number[16];
        snprintf(number, sizeof number, "run-%d", i);
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/true", "true", number, (char *)NULL);
            _exit(127);
        }
        waitpid(child, NULL, 0);
    }
    execl("/none/such", "such", (char *)NULL);
}

/* Called for the tools that trace functions. */
__attribute__((noipa)) int work_item(int number, const char *name)
{
    sleep_ms(number % 2 ? 100 : 0);
    return number * 2 + (name[0] == 'x');
}
__attribute__((noipa)) int work_other(int number) { return number + 1; }

static void call_functions(int n)
{
    for (int i = 0; i < n; i++)
        work_other(work_item(i, "item"));
}

/* Allocates n blocks of 1,000 bytes and keeps every second one. */
static void *kept[10000];
__attribute__((noipa)) void *keep_block(void)
{
    void *block = malloc(1000);
    asm volatile("" : "+r"(block));
    return block;
}
static void allocate(int n)
{
    for (int i = 0; i < n; i++) {
        void *block = keep_block();
        if (i % 2)
            free(block);
        else
            kept[i % 10000] = block;
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_there; /* otherwise the first may end before the last begins */
static void *thread_work(void *unused)
{
    pthread_barrier_wait(&all_there);
    pthread_mutex_lock(&mutex);
    sleep_ms(300);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void have_threads(int n)
{
    pthread_t threads[100];
    pthread_barrier_init(&all_there, NULL, (unsigned)(n < 100 ? n : 100));
    for (int i = 0; i < n && i < 100; i++)
        if (pthread_create(&threads[i], NULL, thread_work, NULL) != 0)
            die("pthread_create");
    for (int i = 0; i < n && i < 100; i++)
        pthread_join(threads[i], NULL);
}

/* n connections to itself on port 18765: 1,000 bytes there and 300 back. */
static void *serve(void *listener)
{
    char buffer[1000];
    for (;;) {
        int fd = accept(*(int *)listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        if (recv(fd, buffer, sizeof buffer, MSG_WAITALL) == sizeof buffer && write(fd, buffer, 300) == 300)
            while (read(fd, buffer, sizeof buffer) > 0)
                ;
        close(fd);
    }
}
static void connect_to_itself(int n)
{
    static int listener;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(18765)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 5) != 0)
        die("listen");
    pthread_t server;
    pthread_create(&server, NULL, serve, &listener);
    for (int i = 0; i < n; i++) {
        char buffer[1000] = {0};
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
            die("connect");
        if (write(fd, buffer, 1000) != 1000 || recv(fd, buffer, 300, MSG_WAITALL) != 300)
            die("transfer");
        close(fd);
    }
    sleep_ms(100);
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
}

/* Writes n times 4,096 bytes to a file, and reads them. */
static void write_and_read(int n)
{
    static char block[4096];
    int fd = open("tool-data", O_CREAT | O_RDWR | O_TRUNC, 0600);
    for (int i = 0; i < n; i++)
        if (write(fd, block, sizeof block) != sizeof block)
            die("write");
    fsync(fd);
    lseek(fd, 0, SEEK_SET);
    for (int i = 0; i < n; i++)
        if (read(fd, block, sizeof block) != sizeof block)
            die("read");
    close(fd);
    unlink("tool-data");
}

static void sleep_often(int n)
{
    for (int i = 0; i < n; i++)
        sleep_ms(20);
}

/* Uses n tenths of a second of CPU time in one function, however busy the machine is. */
static volatile unsigned long spun;
__attribute__((noipa)) void spin_here(int n)
{
    struct timespec start, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    do {
        for (int i = 0; i < 100000; i++)
            spun++;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < n * 100);
}

/* Requests a capability n times: CAP_SYS_NICE (23). */
static void ask_capability(int n)
{
    for (int i = 0; i < n; i++)
        setpriority(PRIO_PROCESS, 0, -1 - i % 10);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(int);
    } all[] = {{"open", open_files},     {"fork", have_children},      {"kill", send_signals},  {"exec", execute},
               {"call", call_functions}, {"malloc", allocate},         {"thread", have_threads}, {"connect", connect_to_itself},
               {"file", write_and_read}, {"sleep", sleep_often},       {"spin", spin_here},     {"capability", ask_capability}};
    for (int at = 1; at + 1 < argc; at += 2) {
        size_t i = 0;
        while (i < sizeof all / sizeof *all && strcmp(all[i].name, argv[at]) != 0)
            i++;
        if (i == sizeof all / sizeof *all) {
            fprintf(stderr, "tool_work: no work `%s`\n", argv[at]);
            return 2;
        }
        all[i].work(atoi(argv[at + 1]));
    }
    return 0;
}
