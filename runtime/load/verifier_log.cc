// The problem: the verifier explains a refusal in terms of BPF registers and instructions, in a log of up to megabytes.
// Users need a line of their script and a reason.
//
// The idea: the log contains two kinds of useful lines.
//
// * `; source text @ file:line` precedes the instructions of a source line. It comes from the BTF line information that
//   the compiler writes. The last such line before the error names the script's line.
// * The reason is a line without any of the known formats of instructions, register states and statistics
//   (is_reason()). The last reason in the log counts.
//
// For example, this log yields the place `a.stp:3` and the reason `R6 invalid mem access 'scalar'`:
//
//   ; print(x->y) @ a.stp:3
//   12: (79) r1 = *(u64 *)(r6 +0)
//   R6 invalid mem access 'scalar'
//   processed 13 insns (limit 1000000) max_states_per_insn 0 ...
//
// Some reasons get a special message, because they describe a limit of the kernel and not a mistake in the script.
// The formats may change with each kernel version. If a version adds a format for steps that is_reason() does not
// know, the real reason is hidden.
#include "runtime/load/verifier_log.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/kernel/lockdown.h"
#include "runtime/kernel/privileges.h"

namespace sonde {

namespace {

// Returns whether a line gives a reason for the refusal. Other lines show the verifier's steps or statistics: `12: (bf)
// r1 = r6`, `from 3 to 7: R0=1`, `R1=scalar()`, `mark_precise: ...`, `processed 12 insns`.
bool is_reason(const std::string& line) {
    size_t digits = line.find_first_not_of("0123456789");
    if (digits == std::string::npos || (digits > 0 && line[digits] == ':'))
        return false;
    for (const char* start : {"processed ", "insns processed ", "verification time", "stack depth", "-- ", "libbpf",
                              "from ", "mark_precise", "last_idx", "first_idx", "regs=", "parent ", "Func#", "func#",
                              "Validating ", "max_states", "peak_states", "arg#"})
        if (line.starts_with(start))
            return line.starts_with("arg#") && line.find("expected") != std::string::npos;
    // `R1=...` and `R1_w=...` show a register's state, but `R1 type=...` is a reason.
    size_t end = line.find_first_not_of("0123456789", 1);
    return !(line[0] == 'R' && end != std::string::npos && end > 1 && (line[end] == '=' || line[end] == '_'));
}

// Recognizes features of BPF that an old kernel lacks, by the verifier's message, and says what to do. Returns an empty
// string for other reasons.
std::string missing_in_old_kernel(const std::string& log) {
    constexpr struct {
        const char* said;
        const char* what;
        bool always_needed; // otherwise only by plans that were translated for a newer kernel
    } signs[] = {
        {"BPF_STX uses reserved fields", "atomic operations that return a value (Linux 5.12)", true},
        {"in func_info doesn't match number of subprogs", "functions as arguments (Linux 5.13)", true},
        {"invalid func unknown#", "functions of Linux 5.15 and 5.17", true},
        {"programs can be sleepable", "handlers of programs that may wait for memory (Linux 6.0)", true},
        {"BPF_LDX uses reserved fields", "loads that extend the sign (Linux 6.6)", false},
        {"unknown opcode e5", "jumps that limit loops (Linux 6.9)", false},
    };
    for (const auto& sign : signs)
        if (log.find(sign.said) != std::string::npos)
            return fmt::format("this kernel is too old for the handler: its BPF has no {}\n  {}", sign.what,
                               sign.always_needed
                                   ? "handlers in the kernel need Linux 6.0 or later; handlers of begin, end, timers "
                                     "and control files run in sonde's own process on any kernel"
                                   : "the plan was translated for a newer kernel: translate the script on this "
                                     "machine, or for this kernel with -r");
    return "";
}

// Returns the number of bytes in "combined stack size of 5 calls is 576. Too large". This message has no line. Returns
// an empty string for other reasons.
std::string stack_needed(const std::string& reason) {
    constexpr std::string_view before = " calls is ";
    const size_t at = reason.starts_with("combined stack size of ") ? reason.find(before) : std::string::npos;
    if (at == std::string::npos)
        return {};
    const size_t number = at + before.size();
    return reason.substr(number, reason.find('.', number) - number);
}

// Returns the name in "The address of function f cannot be found". Returns an empty string for other reasons.
std::string function_without_address(std::string_view reason) {
    constexpr std::string_view before = "The address of function ", behind = " cannot be found";
    if (!reason.starts_with(before) || !reason.ends_with(behind))
        return {};
    reason.remove_prefix(before.size());
    reason.remove_suffix(behind.size());
    return std::string(reason);
}

// Returns advice for embedded C that calls kernel functions (kfuncs).
std::string advice_for_calls(const std::string& reason) {
    if (reason.starts_with("calling kernel function ") && reason.ends_with(" is not allowed"))
        return "\n  each kernel allows the call only in some kinds of probes; try a function of the kernel with "
               "--attach=fentry, or perf.*";
    if (reason.find("reference leak") != std::string::npos || reason.starts_with("Unreleased reference"))
        return "\n  release the object of such a function (bpf_task_from_pid) on every path (bpf_task_release)";
    if (reason.find("NULL pointer passed to trusted") != std::string::npos ||
        reason.find("trusted_ptr_") != std::string::npos)
        return "\n  pass a pointer from another such function after a check for NULL, or from "
               "`bpf_get_current_task_btf()`; an address from memory is not allowed";
    return "";
}

} // namespace

std::string explain_verifier_log(const std::string& log) {
    if (std::string missing = missing_in_old_kernel(log); !missing.empty())
        return missing;
    if (log.find("cannot use helper bpf_probe_read") != std::string::npos && lockdown() == "confidentiality")
        return "the kernel is locked down (confidentiality), so BPF programs cannot read memory, as handlers do";
    std::string place, text, error;
    size_t at = 0;
    while (at < log.size()) {
        size_t end = log.find('\n', at);
        if (end == std::string::npos)
            end = log.size();
        std::string line = log.substr(at, end - at);
        at = end + 1;
        if (line.starts_with("; ")) {
            const size_t mark = line.rfind(" @ "), after = mark == std::string::npos ? line.size() : mark;
            if (after <= 2)
                continue; // a line of sonde's own routines, whose text is not in the program
            place = mark == std::string::npos ? "" : line.substr(mark + 3);
            text = line.substr(2, after - 2);
        } else if (!line.empty() && is_reason(line)) {
            // This line follows the reason and gives details.
            if (!error.empty() && line.starts_with("Caller passes invalid args"))
                error += "; " + line;
            else
                error = line;
        }
    }
    // The second message means that more branches are pending than the kernel allows (BPF_COMPLEXITY_LIMIT_JMP_SEQ).
    if (log.find("BPF program is too large") != std::string::npos ||
        error.find("jumps is too complex") != std::string::npos)
        error = "checking it takes more steps than the kernel allows; use fewer branches in loops, fewer nested loops, "
                "or several probes";
    if (const auto needed = stack_needed(error); !needed.empty())
        return fmt::format("the handler's calls need {} bytes of stack together, and BPF has 512 (before Linux 6.9 "
                           "each loop is a call); use fewer nested loops, fewer variables or several probes",
                           needed);
    if (const auto name = function_without_address(error); !name.empty())
        return fmt::format(
            "the kernel has no address of `{0}`: its compiler has inlined this function or split it into "
            "parts\n  `sonde -l 'kernel.function(\"{0}.*\")'` lists the parts",
            name);
    std::string where = place.empty() ? "" : fmt::format(" at {}: `{}`", place, text);
    return fmt::format("the kernel's verifier refuses the handler{}: {}{}", where,
                       error.empty() ? "no reason given" : error, advice_for_calls(error));
}

// Returns whether this process runs in a user namespace. In the initial namespace, the map covers all user ids.
static bool in_user_namespace() {
    Result<std::string> map = read_file("/proc/self/uid_map");
    unsigned long inside = 0, outside = 0, count = 0;
    return map && (std::sscanf(map->c_str(), "%lu %lu %lu", &inside, &outside, &count) != 3 || inside != 0 ||
                   outside != 0 || count != 4294967295UL);
}

std::string explain_permission() {
    if (std::string missing = missing_capabilities(); !missing.empty())
        return missing;
    if (lockdown() == "confidentiality")
        return "the kernel is locked down (confidentiality), which forbids tracing";
    if (in_user_namespace())
        return "this process is root only in a user namespace (`unshare -r`, a rootless container), where the kernel "
               "does not allow tracing; run sonde as the machine's root";
    return "the kernel does not permit it";
}

} // namespace sonde
