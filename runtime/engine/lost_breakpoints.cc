// A process can lose breakpoints while the session runs. MovedText notices some of the causes at once
// (runtime/attach/moved_text.h), but follows only programs that use the C library. So the session compares the memory
// of all processes that still run, before it detaches.
//
// A debugger's breakpoint at a probed instruction cannot be seen: the byte in memory is the same. The kernel takes its
// hits for those of the probe, so the debugger does not stop there. And when the probe is removed, the kernel restores
// the file's byte, and the debugger's breakpoint is gone. Only the debugger itself can be seen, as the tracer of the
// process (TracerPid in /proc/PID/status). Not every tracer sets breakpoints, so this is advice.
#include "runtime/engine/lost_breakpoints.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/processes.h"
#include "runtime/engine/attach_all.h"
#include "runtime/processes/breakpoint_check.h"
#include "runtime/processes/kernel_breakpoint.h"

namespace sonde {
namespace {

constexpr int64_t most_ns = 500'000'000;

std::string name_of(const plan::Plan& plan, const std::string& path, uint64_t offset) {
    for (const plan::Point& point : plan.rows)
        if (point.path == path && (point.offset == offset || point.entry_offset == offset))
            return point.pp;
    return fmt::format("{}+{:#x}", path, offset);
}

void warn_of_lost(Session& session, int64_t process, const ArmedPlaces& lost) {
    size_t count = 0;
    for (const auto& [path, offsets] : lost)
        count += offsets.size();
    const auto& [path, offsets] = *lost.begin();
    session.warned(fmt::format("process {} ({}) has dropped or replaced pages of its code with the breakpoints of "
                               "{}{}; sonde has not seen its "
                               "hits there since then",
                               process, process_program(process), name_of(session.plan, path, *offsets.begin()),
                               count == 1 ? "" : fmt::format(" and {} more places", count - 1)));
}

void warn_of_tracer(Session& session, int64_t process) {
    if (const int64_t tracer = tracer_of(process))
        session.warned(fmt::format("process {} is traced by process {} ({}): a debugger's breakpoints at probed "
                                   "instructions did not stop it, and they are gone now; set them again",
                                   process, tracer, process_program(tracer)),
                       Weight::Advice);
}

} // namespace

void warn_of_lost_breakpoints(Session& session, const ProbedFiles& files, const Attachments& attachments) {
    const auto has_places = [](const std::unique_ptr<Attachment>& one) { return !one->offsets.empty(); };
    if (std::ranges::none_of(attachments, has_places))
        return;
    const int64_t began = now_ns();
    const BreakpointChecker checker(session.plan, files);
    const auto processes = session.plan.filter_target ? running_processes(session, 0) : all_processes();
    for (const int64_t process : processes) {
        if (now_ns() - began > most_ns)
            return;
        if (process == getpid())
            continue;
        const ArmedPlaces armed = armed_places(attachments, process);
        BreakpointCheck found = checker.check(process, armed);
        if (!found.maps_files)
            continue;
        if (!found.lost.empty()) {
            // The process may be mapping the file at this moment: the kernel sets the breakpoints afterwards.
            constexpr timespec pause{0, 5'000'000};
            nanosleep(&pause, nullptr);
            found = checker.check(process, armed);
        }
        if (found.unprobed)
            session.warned(found.unprobed->text(process));
        if (!found.lost.empty())
            warn_of_lost(session, process, found.lost);
        warn_of_tracer(session, process);
    }
}

} // namespace sonde
