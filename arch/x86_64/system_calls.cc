#include "arch/x86_64/system_calls.h"

#include "arch/x86_64/calls_32.h"
#include "arch/x86_64/operands.h"
#include "arch/x86_64/pt_regs.h"

namespace sonde::x86 {
namespace {

constexpr SystemCallNumber numbers[] = {
#define NUMBER(number, name) {number, name},
#include "arch/x86_64/syscalls.def"
#undef NUMBER
};

constexpr NarrowCallNumber narrow_numbers[] = {
#define NUMBER(number, name) {number, name, ""},
#define NUMBER_FROM(number, name, sources) {number, name, sources},
#include "arch/x86_64/syscalls_32.def"
#undef NUMBER
#undef NUMBER_FROM
};

constexpr std::string_view names =
#include "arch/x86_64/call_names.def"
//
#include "arch/new_call_names.def"
    "|"
#include "arch/x86_64/call_names_32.def"
//
#include "arch/new_call_names.def"
    ;

// The kernel's functions of these calls show whether this kernel has them. Without this table, a probe of `ni_syscall`
// (the calls that the kernel does not implement) would include them.
constexpr std::pair<int, std::string_view> unnamed[] = {
    {335, "uretprobe"}, {336, "uprobe"}, {453, "map_shadow_stack"}, {470, "listns"}, {471, "rseq_slice_yield"},
};

// The System V psABI for x86-64, A.2.1 ("Calling Conventions" of the Linux kernel).
constexpr int arguments[] = {rdi, rsi, rdx, r10, r8, r9};
constexpr int narrow_arguments[] = {rbx, rcx, rdx, rsi, rdi, rbp};
constexpr int outer_calls[] = {SONDE_CALL_OLD_SELECT, SONDE_CALL_OLD_MMAP, SONDE_CALL_SOCKETCALL, SONDE_CALL_IPC};

} // namespace

const SystemCalls& system_calls() {
    static constexpr SystemCalls out = {.numbers = numbers,
                                        .narrow_numbers = narrow_numbers,
                                        .unnamed = unnamed,
                                        .replaced = {},
                                        .names = names,
                                        .function_prefix = "__x64_sys_",
                                        .arguments = arguments,
                                        .narrow_arguments = narrow_arguments,
                                        .result = rax,
                                        .outer_calls = outer_calls,
                                        .argument_bytes = SONDE_CALL_REGISTERS_BYTES};
    return out;
}

} // namespace sonde::x86
