// A small HTTP service, as it runs on the machines of a fleet: `shop_server ADDRESS PORT`.
//
// GET /coffee takes 1 ms, /tea 4 ms and /cake 20 ms. Every other path returns 404. examples/fleet/demo traces this program.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct item {
    const char* path;
    long cost_us;
};
static const struct item items[] = {{"/coffee", 1000}, {"/tea", 4000}, {"/cake", 20000}};

// Does the work of a request, and returns the status of the answer.
__attribute__((noinline)) int serve(const char* path) {
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        if (!strcmp(items[i].path, path)) {
            struct timespec time = {0, items[i].cost_us * 1000};
            nanosleep(&time, 0);
            return 200;
        }
    return 404;
}

// Each connection has one request.
static void* answer(void* argument) {
    const int client = (int)(intptr_t)argument;
    char request[1024] = "", path[256] = "", reply[128];
    size_t size = 0;
    for (ssize_t more; size < sizeof request - 1 && !strstr(request, "\r\n\r\n"); size += (size_t)more) {
        more = read(client, request + size, sizeof request - 1 - size);
        if (more <= 0)
            break;
        request[size + (size_t)more] = 0;
    }
    const int status = sscanf(request, "GET %255s", path) == 1 ? serve(path) : 400;
    const int length = snprintf(reply, sizeof reply, "HTTP/1.1 %d shop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
    if (write(client, reply, (size_t)length) != length)
        perror("shop_server: write");
    close(client);
    return 0;
}

int main(int count, char** words) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    if (count != 3 || inet_pton(AF_INET, words[1], &at.sin_addr) != 1) {
        fprintf(stderr, "usage: shop_server ADDRESS PORT\n");
        return 2;
    }
    at.sin_port = htons((uint16_t)atoi(words[2]));
    const int on = 1, server = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(server, (struct sockaddr*)&at, sizeof at) != 0 || listen(server, 64) != 0) {
        perror("shop_server");
        return 1;
    }
    for (;;) {
        const int client = accept(server, 0, 0);
        pthread_t thread;
        if (client < 0)
            continue;
        if (pthread_create(&thread, 0, answer, (void*)(intptr_t)client) != 0)
            close(client);
        else
            pthread_detach(thread);
    }
}
