#include "arch/arm64/system_calls.h"

#include "arch/arm64/pt_regs.h"
#include "arch/arm64/registers.h"

namespace sonde::arm64 {
namespace {

constexpr SystemCallNumber numbers[] = {
#define NUMBER(number, name) {number, name},
#define CALL_AS(number, name, parameters, text) {number, name, parameters, text},
#include "arch/arm64/syscalls.def"
#undef NUMBER
#undef CALL_AS
};

constexpr NarrowCallNumber narrow_numbers[] = {
#define NUMBER(number, name) {number, name, ""},
#define NUMBER_FROM(number, name, sources) {number, name, sources},
#include "arch/arm64/syscalls_32.def"
#undef NUMBER
#undef NUMBER_FROM
};

constexpr std::string_view names =
#include "arch/arm64/call_names.def"
//
#include "arch/new_call_names.def"
    "|"
#include "arch/arm64/call_names_32.def"
//
#include "arch/new_call_names.def"
    ;

// The kernel's functions of these calls show whether this kernel has them.
constexpr std::pair<int, std::string_view> unnamed[] = {
    {18, "lookup_dcookie"}, {453, "map_shadow_stack"}, {470, "listns"}, {471, "rseq_slice_yield"}};

// What the C library calls in functions with these names.
constexpr std::pair<std::string_view, std::string_view> replaced[] = {
    {"open", "openat"},
    {"creat", "openat"},
    {"stat", "newfstatat"},
    {"lstat", "newfstatat"},
    {"access", "faccessat"},
    {"poll", "ppoll"},
    {"select", "pselect6"},
    {"pause", "ppoll"},
    {"pipe", "pipe2"},
    {"dup2", "dup3"},
    {"alarm", "setitimer"},
    {"fork", "clone"},
    {"vfork", "clone"},
    {"getdents", "getdents64"},
    {"rename", "renameat"},
    {"mkdir", "mkdirat"},
    {"rmdir", "unlinkat"},
    {"unlink", "unlinkat"},
    {"link", "linkat"},
    {"symlink", "symlinkat"},
    {"readlink", "readlinkat"},
    {"chmod", "fchmodat"},
    {"chown", "fchownat"},
    {"lchown", "fchownat"},
    {"mknod", "mknodat"},
    {"getpgrp", "getpgid"},
    {"utime", "utimensat"},
    {"utimes", "utimensat"},
    {"futimesat", "utimensat"},
    {"ustat", "statfs"},
    {"time", "clock_gettime"},
    {"epoll_create", "epoll_create1"},
    {"epoll_wait", "epoll_pwait"},
    {"inotify_init", "inotify_init1"},
    {"signalfd", "signalfd4"},
    {"eventfd", "eventfd2"},
    {"waitpid", "wait4"},
    {"nice", "setpriority"},
    {"signal", "rt_sigaction"},
    {"send", "sendto"},
    {"recv", "recvfrom"},
};

// r0 to r5 of 32-bit programs are the lower halves of the same registers.
constexpr int arguments[] = {x0, x1, x2, x3, x4, x5};

} // namespace

const SystemCalls& system_calls() {
    static constexpr SystemCalls out = {.numbers = numbers,
                                        .narrow_numbers = narrow_numbers,
                                        .unnamed = unnamed,
                                        .replaced = replaced,
                                        .names = names,
                                        .function_prefix = "__arm64_sys_",
                                        .arguments = arguments,
                                        .narrow_arguments = arguments,
                                        .result = x0,
                                        .outer_calls = {},
                                        .argument_bytes = SONDE_CALL_REGISTERS_BYTES};
    return out;
}

} // namespace sonde::arm64
