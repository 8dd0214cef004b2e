// Calls of the C library that fail and set errno.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

__attribute__((noinline)) int attempt(const char* path)
{
    return open(path, O_RDONLY);
}

static void* other_thread(void* unused)
{
    attempt("/dev/null/x");
    return unused;
}

int main(void)
{
    errno = 0;
    attempt("/nonexistent");
    pthread_t thread;
    pthread_create(&thread, 0, other_thread, 0);
    pthread_join(thread, 0);
    errno = EDOM;
    attempt("/");
    return 0;
}
