// Drops capabilities that a session does not need.
//
// A session runs for a long time and processes data of other programs. If it has a bug, fewer capabilities limit the
// damage. So after loading, it keeps only those in kept_by_session, each with its reason.
//
// Capabilities belong to a thread, so each thread of the session drops its own. Two system calls are enough, so libcap
// is not a dependency. Inheritable capabilities are not changed.
#include "runtime/kernel/privileges.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// From linux/capability.h; headers before 5.8 lack some of them.
constexpr int cap_perfmon = 38, cap_bpf = 39, cap_checkpoint_restore = 40;

struct Wanted {
    int bit;
    const char* name;
    const char* why;
};
// CAP_SYS_ADMIN implies both.
constexpr Wanted for_tracing[] = {{cap_bpf, "CAP_BPF", "to load handlers"},
                                  {cap_perfmon, "CAP_PERFMON", "to attach handlers and to read memory"}};

bool has_control_files(const plan::Plan& plan) { return plan.has(plan::is_file); }
bool needs_admin(const plan::Plan& plan) { return has_control_files(plan) || plan.has(plan::is_event); }
bool always(const plan::Plan&) { return true; }

struct Kept {
    int bit;
    bool (*needed)(const plan::Plan&);
};
constexpr Kept kept_by_session[] = {
    {cap_bpf, always},                // tables of files that are found later
    {cap_perfmon, always},            // events in threads and processes that start later
    {CAP_SYS_PTRACE, always},         // /proc/PID/maps and /proc/PID/root of other users' processes
    {cap_checkpoint_restore, always}, // /proc/PID/map_files
    {CAP_DAC_READ_SEARCH, always},    // the files of these programs
    {CAP_DAC_OVERRIDE, always},       // the next file of -S, ftrace()
    {CAP_KILL, always},               // processes that wait during attaching, the command at the end
    {CAP_SYS_NICE, always},           // handlers of the session that hold a lock
    {CAP_SYSLOG, always},             // addresses of the kernel, printk()
    {CAP_SYS_ADMIN, needs_admin},     // unmounting control files, counting the cost of probes (overload.h)
};

struct Sets {
    __user_cap_data_struct words[2];
};

bool read_sets(Sets& sets) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    return syscall(SYS_capget, &header, sets.words) == 0;
}

// Ignores errors: then the thread keeps its capabilities.
void write_sets(const Sets& before, Sets& now) {
    for (int word : {0, 1})
        now.words[word].inheritable = before.words[word].inheritable;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    static_cast<void>(syscall(SYS_capset, &header, now.words));
}

void keep(int bit, const Sets& before, Sets& now) {
    const int word = bit / 32;
    now.words[word].effective |= before.words[word].effective & (1u << bit % 32);
    now.words[word].permitted |= before.words[word].permitted & (1u << bit % 32);
}

bool has(const Sets& sets, int bit) { return sets.words[bit / 32].effective & (1u << bit % 32); }

std::string own_path() {
    std::error_code failed;
    std::string out = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    return failed ? "sonde" : out;
}

} // namespace

bool has_capability(int capability) {
    Sets sets{};
    return read_sets(sets) && has(sets, capability);
}

std::string missing_capabilities() {
    Sets sets{};
    std::string missing, names; // setcap(8) replaces all capabilities of a file, so the message names both
    if (read_sets(sets) && !has(sets, CAP_SYS_ADMIN))
        for (const Wanted& one : for_tracing) {
            names += fmt::format("{}{}", names.empty() ? "" : ",", one.name);
            if (!has(sets, one.bit))
                missing += fmt::format("{}{} ({})", missing.empty() ? "" : " and ", one.name, one.why);
        }
    if (missing.empty())
        return "";
    for (char& letter : names)
        letter = static_cast<char>(std::tolower(letter));
    return fmt::format(
        "tracing needs {}, which this process does not have; run sonde as root, or run `setcap {}=ep {}` once", missing,
        names, own_path());
}

std::string why_no_changes(const std::string& changes) {
    if (changes.empty() || has_capability(CAP_SYS_ADMIN))
        return "";
    return fmt::format("the script changes the kernel's or a program's behavior ({}), which needs CAP_SYS_ADMIN, and "
                       "this process does not have it\n  run the script as root, or remove the change",
                       changes);
}

void keep_capabilities(std::initializer_list<int> kept) {
    Sets sets{}, out{};
    if (!read_sets(sets))
        return;
    for (int bit : kept)
        keep(bit, sets, out);
    write_sets(sets, out);
}

void drop_privileges(const plan::Plan& plan) {
    Sets sets{}, out{};
    if (!read_sets(sets))
        return;
    // Administrators can grant CAP_SYS_ADMIN alone. Then it stands in for the missing ones and must be kept.
    const bool admin_alone = has(sets, CAP_SYS_ADMIN) && !has(sets, cap_bpf);
    for (const Kept& one : kept_by_session)
        if (one.needed(plan) || (one.bit == CAP_SYS_ADMIN && admin_alone))
            keep(one.bit, sets, out);
    write_sets(sets, out);
}

} // namespace sonde
