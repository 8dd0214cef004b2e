/* Executes its arguments in a thread that is not the first one, after a failed exec. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *execute(void *words)
{
    char **command = words, missing[] = "/no/such/program"; /* in memory that is present */
    execv(missing, command);
    execv(command[0], command);
    _exit(1);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 2 || pthread_create(&thread, NULL, execute, argv + 1) != 0)
        return 2;
    pthread_join(thread, NULL);
    return 3;
}
