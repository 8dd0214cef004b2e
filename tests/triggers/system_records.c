// Passes structures of the C library's and the kernel's headers to functions; built without debug information.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

#define PROBED __attribute__((noinline, noclone))

PROBED void take_stat(const struct stat* s) { __asm__ volatile("" ::"r"(s) : "memory"); }
PROBED void take_address(const struct sockaddr_in* a) { __asm__ volatile("" ::"r"(a) : "memory"); }
PROBED void take_tcp(const struct tcp_info* i) { __asm__ volatile("" ::"r"(i) : "memory"); }
PROBED void take_event(const struct epoll_event* e) { __asm__ volatile("" ::"r"(e) : "memory"); }
PROBED void take_time(const struct tm* t) { __asm__ volatile("" ::"r"(t) : "memory"); }

int main(void) {
    struct stat s;
    memset(&s, 0, sizeof s);
    s.st_mode = S_IFREG | 0640;
    s.st_size = 1234567890123;
    s.st_mtim.tv_nsec = 42;
    take_stat(&s);

    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(8080)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    take_address(&a);

    struct tcp_info i;
    memset(&i, 0, sizeof i);
    i.tcpi_snd_wscale = 7;
    i.tcpi_rcv_wscale = 9;
    i.tcpi_rtt = 1500;
    take_tcp(&i);

    struct epoll_event e[2] = {{.events = EPOLLIN, .data.fd = 5}, {.events = EPOLLOUT, .data.u64 = 1ULL << 40}};
    take_event(e);

    struct tm t = {.tm_year = 126, .tm_mon = 10, .tm_zone = "UTC"};
    take_time(&t);
    return 0;
}
