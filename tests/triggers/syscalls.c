/* System calls with six arguments; then `syscalls PROGRAM` executes the program. */
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    char name[] = "no such folder";
    syscall(SYS_splice, -1L, 2, 3, 4, 5, 6);
    syscall(SYS_chdir, name);
    if (argc > 1)
        execl(argv[1], argv[1], (char*)0);
    return 0;
}
