/* Runs a program with an empty BPF program at one place or two. This is the least overhead that any tracer has there.
 *
 *   floor multi|perf_event|return|session|refused PROGRAM OFFSET[,OFFSET] ARGUMENT
 *
 * multi is a uprobe_multi link (Linux 6.6), and perf_event the older mechanism. return is a multi link at the function's
 * return. session is one at both (6.13), and refused is a session link whose program rejects the return. Only a multi
 * link can have two places. */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int must(long result, const char* what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return (int)result;
}

int main(int argc, char** argv) {
    if (argc != 5)
        return 2;
    const char* how = argv[1];
    int session = strcmp(how, "session") == 0 || strcmp(how, "refused") == 0;
    int multi = strcmp(how, "perf_event") != 0;
    uint32_t attach = session ? 57 /* BPF_TRACE_UPROBE_SESSION */ : 48 /* BPF_TRACE_UPROBE_MULTI */;
    const char* program = argv[2];
    char* second = strchr(argv[3], ',');
    uint64_t offsets[2] = {strtoull(argv[3], NULL, 0), second ? strtoull(second + 1, NULL, 0) : 0};

    struct bpf_insn empty[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = strcmp(how, "refused") == 0},
                               {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_KPROBE;
    attr.insns = (uintptr_t)empty;
    attr.insn_cnt = 2;
    attr.license = (uintptr_t)"GPL";
    attr.expected_attach_type = multi ? attach : 0;
    int loaded = must(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr), "BPF_PROG_LOAD");

    if (multi) {
        /* union bpf_attr's link_create.uprobe_multi, which older headers lack. */
        struct {
            uint32_t program, target, type, flags;
            uint64_t path, offsets, counters, cookies;
            uint32_t count, multi_flags, pid, padding;
        } link = {.program = (uint32_t)loaded,
                  .type = attach,
                  .path = (uintptr_t)program,
                  .offsets = (uintptr_t)offsets,
                  .count = second ? 2 : 1,
                  .multi_flags = strcmp(how, "return") == 0};
        must(syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof link), "BPF_LINK_CREATE");
    } else {
        int type = 0;
        FILE* file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
        if (!file || fscanf(file, "%d", &type) != 1)
            must(-1, "the type of uprobe events");
        struct perf_event_attr event;
        memset(&event, 0, sizeof event);
        event.size = sizeof event;
        event.type = (uint32_t)type;
        event.config1 = (uintptr_t)program;
        event.config2 = offsets[0];
        int fd = must(syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC), "perf_event_open");
        must(ioctl(fd, PERF_EVENT_IOC_SET_BPF, loaded), "PERF_EVENT_IOC_SET_BPF");
        must(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), "PERF_EVENT_IOC_ENABLE");
    }

    pid_t child = must(fork(), "fork");
    if (child == 0) {
        execl(program, program, argv[4], (char*)NULL);
        _exit(127);
    }
    int status = 0;
    must(waitpid(child, &status, 0), "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
