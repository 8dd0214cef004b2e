// Detects whether handlers in the kernel can be preempted.
//
// The kernel does not say this in one place. Its version string has PREEMPT or PREEMPT_DYNAMIC. In the second case, the
// model can be chosen when the machine starts (`preempt=` on the kernel's command line) or later (debugfs). So several
// sources are read, the most reliable one first.
//
// This is one of the few decisions by the kernel's version. A test is not possible, since preemption shows only under
// load.
#include "runtime/kernel/preemption.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/tracefs.h"

namespace sonde {
namespace {

// The version of the kernel and its build options.
utsname kernel_name() {
    utsname name{};
    uname(&name);
    return name;
}

bool is_at_least(int major, int minor) {
    const utsname name = kernel_name();
    char* end = nullptr;
    const long running = std::strtol(name.release, &end, 10);
    return std::pair(running, *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0) >=
           std::pair<long, long>(major, minor);
}

bool is_full(std::string_view model) { return model == "full" || model == "lazy"; }

} // namespace

bool handlers_are_preempted() {
    const utsname name = kernel_name();
    const std::string_view built = name.version;
    if (built.find("PREEMPT_DYNAMIC") == std::string_view::npos)
        return built.find("PREEMPT") != std::string_view::npos;
    // The file contains "none (voluntary) full", for example. The active model is in parentheses. Kernels that are
    // locked down do not show it.
    if (Result<std::string> models = read_debugfs("sched/preempt"); models.ok()) {
        const std::string_view text = *models;
        const size_t begin = text.find('('), end = text.find(')');
        if (begin < end && end != std::string_view::npos)
            return is_full(text.substr(begin + 1, end - begin - 1));
    }
    if (Result<std::string> line = read_file("/proc/cmdline"); line.ok()) {
        constexpr std::string_view word = "preempt=";
        const std::string_view text = *line;
        if (const size_t at = text.find(word); at != std::string_view::npos && (at == 0 || text[at - 1] == ' ')) {
            const std::string_view model = text.substr(at + word.size());
            return is_full(model.substr(0, model.find_first_of(" \n")));
        }
    }
    // Neither source shows the model. Since 7.0 the other models do not exist on processors with lazy preemption
    // ("sched: Further restrict the preemption modes"), so it must be "full" or "lazy".
    return is_at_least(7, 0);
}

bool prefers_syscall_events() {
    return is_at_least(7, 0) && handlers_are_preempted() && read_tracefs("events/raw_syscalls/sys_enter/id").ok();
}

} // namespace sonde
