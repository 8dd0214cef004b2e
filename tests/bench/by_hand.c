/* Runs a program with the BPF program of an object file attached at a place in it, as floor.c does with an empty one.
 *
 *   by_hand OBJECT PROGRAM OFFSET ARGUMENT */
#include <bpf/libbpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc != 5)
        return 2;
    struct bpf_object* object = bpf_object__open_file(argv[1], NULL);
    if (!object || bpf_object__load(object) != 0) {
        perror(argv[1]);
        return 1;
    }
    struct bpf_program* program = bpf_object__next_program(object, NULL);
    struct bpf_link* link = bpf_program__attach_uprobe(program, 0, -1, argv[2], strtoull(argv[3], NULL, 0));
    if (!link) {
        perror("attach");
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        execl(argv[2], argv[2], argv[4], (char*)NULL);
        _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    bpf_link__destroy(link);
    bpf_object__close(object);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
