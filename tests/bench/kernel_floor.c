/* Runs a program with BPF programs in the kernel that do little or nothing. This is the least overhead that any tracer
 * has there.
 *
 *   kernel_floor raw|fentry|kprobe|multi NAME PROGRAM ARGUMENT...
 *   kernel_floor count sys_enter PROGRAM ARGUMENT...
 *
 * NAME is a tracepoint (raw) or a function. multi is a kprobe_multi link (Linux 5.18, CONFIG_FPROBE). count is a
 * handwritten program for a raw tracepoint. It counts system calls by number and process in a hash map. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
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

static void attach_perf(int program, const char* name) {
    int type = 0;
    FILE* file = fopen("/sys/bus/event_source/devices/kprobe/type", "r");
    if (!file || fscanf(file, "%d", &type) != 1)
        must(-1, "the type of kprobe events");
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = (uint32_t)type;
    event.config1 = (uintptr_t)name;
    int fd = must(syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC), "perf_event_open");
    must(ioctl(fd, PERF_EVENT_IOC_SET_BPF, program), "PERF_EVENT_IOC_SET_BPF");
    must(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), "PERF_EVENT_IOC_ENABLE");
}

static void attach_multi(int program, const char* name) {
    /* union bpf_attr's link_create.kprobe_multi, which older headers lack. */
    struct {
        uint32_t program, target, type, flags, multi_flags, count;
        uint64_t symbols, addresses, cookies;
    } link = {.program = (uint32_t)program, .type = 42, .count = 1, .symbols = (uintptr_t)&name};
    must(syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof link), "BPF_LINK_CREATE");
}

/* n[id, pid]++ without any checks. The measured processes create their elements immediately. */
static int load_count(void) {
    enum { key_bytes = 8, value_bytes = 8, lookup = 1, update = 2, get_current_pid_tgid = 14 };
    int map = must(bpf_map_create(BPF_MAP_TYPE_HASH, "counts", key_bytes, value_bytes, 10000, NULL), "BPF_MAP_CREATE");
    struct bpf_insn count[] = {
        {.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 6, .src_reg = 1, .off = 8}, /* the call's number */
        {.code = BPF_JMP | BPF_CALL, .imm = get_current_pid_tgid},
        {.code = BPF_ALU64 | BPF_RSH | BPF_K, .imm = 32},
        {.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 10, .src_reg = 6, .off = -8},
        {.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 10, .src_reg = 0, .off = -4},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -8},
        {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map},
        {0},
        {.code = BPF_JMP | BPF_CALL, .imm = lookup},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 4},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1},
        {.code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 0, .src_reg = 1, .imm = BPF_ADD},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K},
        {.code = BPF_JMP | BPF_EXIT},
        {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 10, .off = -16, .imm = 1},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -8},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 10},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 3, .imm = -16},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = BPF_NOEXIST},
        {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map},
        {0},
        {.code = BPF_JMP | BPF_CALL, .imm = update},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K},
        {.code = BPF_JMP | BPF_EXIT},
    };
    const size_t length = sizeof count / sizeof *count;
    return must(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "count", "GPL", count, length, NULL), "BPF_PROG_LOAD");
}

int main(int argc, char** argv) {
    if (argc < 4)
        return 2;
    const char *how = argv[1], *name = argv[2];
    struct bpf_insn empty[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
    LIBBPF_OPTS(bpf_prog_load_opts, options);
    enum bpf_prog_type type = BPF_PROG_TYPE_KPROBE;
    if (strcmp(how, "raw") == 0)
        type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    if (strcmp(how, "multi") == 0)
        options.expected_attach_type = 42; /* BPF_TRACE_KPROBE_MULTI */
    if (strcmp(how, "fentry") == 0) {
        type = BPF_PROG_TYPE_TRACING;
        options.expected_attach_type = BPF_TRACE_FENTRY;
        options.attach_btf_id = (uint32_t)must(libbpf_find_vmlinux_btf_id(name, BPF_TRACE_FENTRY), name);
    }
    int by_hand = strcmp(how, "count") == 0;
    if (by_hand)
        type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    int program =
        by_hand ? load_count() : must(bpf_prog_load(type, "empty", "GPL", empty, 2, &options), "BPF_PROG_LOAD");
    if (type == BPF_PROG_TYPE_RAW_TRACEPOINT)
        must(bpf_raw_tracepoint_open(name, program), name);
    else if (type == BPF_PROG_TYPE_TRACING)
        must(bpf_raw_tracepoint_open(NULL, program), name);
    else if (options.expected_attach_type == 42)
        attach_multi(program, name);
    else
        attach_perf(program, name);

    pid_t child = must(fork(), "fork");
    if (child == 0) {
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    int status = 0;
    must(waitpid(child, &status, 0), "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
