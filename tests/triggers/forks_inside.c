/* Functions that fork. Both parent and child return from each. */
#include <sys/wait.h>
#include <unistd.h>

/* The child returns first. */
__attribute__((noinline)) int splits(int n)
{
    pid_t child = fork();
    if (child)
        waitpid(child, 0, 0);
    return child == 0 ? -n : n;
}

/* The parent returns first, and is in the same function again from the same place before the child returns. */
__attribute__((noinline)) int overtakes(int n, const int* ends)
{
    char byte;
    if (n == 1 && fork() == 0) {
        close(ends[1]);
        __attribute__((unused)) ssize_t size = read(ends[0], &byte, 1);
        return -n;
    }
    return n;
}

__attribute__((noinline)) int around(int n) { return splits(n) + 1; }

int main(void)
{
    int ends[2];
    if (around(5) < 0)
        _exit(0);
    if (pipe(ends))
        return 1;
    for (int n = 1; n <= 3; n++)
        if (overtakes(n, ends) < 0)
            _exit(0);
    close(ends[0]);
    close(ends[1]);
    wait(0);
    return 0;
}
