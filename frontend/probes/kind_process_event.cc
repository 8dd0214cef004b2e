// Resolves process("P").begin, .end, .thread.begin, .thread.end, .syscall and .syscall.return: events of processes.
// These events come from the kernel, so they need no place in the program's code. `process` alone means the target
// process of -c or -x, or without one any process.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/path.h"
#include "frontend/probes/kind_process.h"
#include "frontend/variables/sources.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using plan::ProbeKind;

// Reads the components after `process`. Returns nullopt after reporting an error.
std::optional<ProbeKind> read_event(Resolving& resolving) {
    const ast::PointComponent &first = *resolving.at(1), *second = resolving.at(2);
    if (!expect_argument(resolving, first, ast::PointComponent::None))
        return std::nullopt;
    size_t end = 2;
    ProbeKind kind = first.name == "begin" ? ProbeKind::ProcessBegin
                     : first.name == "end" ? ProbeKind::ProcessEnd
                                           : ProbeKind::Syscall;
    if (first.name == "thread") {
        if (!second || (second->name != "begin" && second->name != "end")) {
            report_component(resolving, 2, {"begin", "end"});
            return std::nullopt;
        }
        kind = second->name == "begin" ? ProbeKind::ThreadBegin : ProbeKind::ThreadEnd;
        end = 3;
    } else if (first.name == "syscall" && second) {
        if (second->name != "return") {
            report_component(resolving, 2, {"return"});
            return std::nullopt;
        }
        kind = ProbeKind::SyscallReturn;
        end = 3;
    }
    if ((end == 3 && !expect_argument(resolving, *second, ast::PointComponent::None)) || !expect_end(resolving, end))
        return std::nullopt;
    return kind;
}

// Returns the program's name for listings. A program that does not exist yet is also valid.
std::string listed_program(const std::string& name) {
    Result<std::string> found = find_file(name);
    return found ? without_links(*found) : name;
}

} // namespace

std::vector<ResolvedPoint> resolve_task_events(Resolving& resolving) {
    std::optional<ProbeKind> kind = read_event(resolving);
    if (!kind)
        return {};
    ast::ProbePoint event;
    event.components.assign(resolving.components().begin() + 1, resolving.components().end());
    const ast::PointComponent& process = resolving.components()[0];
    Programs programs;
    if (process.arg == ast::PointComponent::String && resolving.env.listing && !process.text.empty())
        programs.paths = {listed_program(process.text)};
    else
        programs = find_programs(resolving, true);
    std::vector<ResolvedPoint> points;
    auto add = [&](const std::string& process, const std::string& program) {
        ResolvedPoint resolved;
        resolved.kind = *kind;
        resolved.in_kernel = true;
        resolved.variables = plan::is_about(*kind, plan::Subject::SystemCall) ? &process_syscall_source : &no_source;
        resolved.point.pp = fmt::format("{}.{}", process, ast::to_source(event));
        resolved.point.program = program;
        resolved.point.pid = programs.pid;
        resolved.sharing.only = fmt::format("{} {}", programs.pid, program.empty());
        points.push_back(std::move(resolved));
    };
    if (programs.all)
        add("process", "");
    else if (programs.pid)
        add(fmt::format("process({})", programs.pid), "");
    else
        for (const std::string& path : programs.paths)
            add(fmt::format("process({})", quoted(path)), path);
    return points;
}

} // namespace sonde
