#include "arch/x86_64/system_calls.h"

#include "arch/x86_64/calls_32.h"
#include "arch/x86_64/operands.h"

namespace sonde::x86 {
namespace {

constexpr SystemCallRow rows[] = {
#define SYSCALL(number, name, parameters, text) {number, name, parameters, text},
#include "arch/x86_64/syscalls.def"
#undef SYSCALL
};

constexpr NarrowCallRow narrow_rows[] = {
#define SAME(number, name) {number, name, nullptr, nullptr, ""},
#define SAME_FROM(number, name, sources) {number, name, nullptr, nullptr, sources},
#define CALL(number, name, parameters, text, sources) {number, name, parameters, text, sources},
#include "arch/x86_64/syscalls_32.def"
#undef SAME
#undef SAME_FROM
#undef CALL
};

// The kernel's functions of these calls show whether this kernel has them. Without this table, a probe of `ni_syscall`
// (the calls that the kernel does not implement) would include them.
constexpr std::pair<int, std::string_view> unnamed[] = {
    {335, "uretprobe"}, {336, "uprobe"}, {453, "map_shadow_stack"}, {470, "listns"}, {471, "rseq_slice_yield"},
};

// The System V psABI for x86-64, A.2.1 ("Calling Conventions" of the Linux kernel).
constexpr int arguments[] = {rdi, rsi, rdx, r10, r8, r9};
constexpr int narrow_arguments[] = {rbx, rcx, rdx, rsi, rdi, rbp};

} // namespace

const SystemCalls& system_calls() {
    static constexpr SystemCalls out = {.rows = rows,
                                        .narrow_rows = narrow_rows,
                                        .unnamed = unnamed,
                                        .function_prefix = "__x64_sys_",
                                        .arguments = arguments,
                                        .narrow_arguments = narrow_arguments,
                                        .result = rax};
    return out;
}

} // namespace sonde::x86
