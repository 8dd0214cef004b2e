// A question to the kernel can load a BPF program or read BTF, so it is asked only if the script needs the answer. For
// example, the test for may_goto runs only if a handler runs in the kernel.
#include "driver/codegen_facts.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/processes.h"
#include "codegen/emit/session_split.h"
#include "frontend/types/kernel_types.h"
#include "runtime/kernel/preemption.h"
#include "runtime/plan/flight_rings.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// The chunks of the flight recorder's rings. 0 if handlers have to send their records to the session:
//
// * Another output than the recording needs the records, too.
// * Handlers visit existing threads. The session reads such a thread's stack when the record arrives, so the record
// must
//   arrive soon.
uint32_t flight_chunks(const Options& options, const hir::Program& program) {
    const SinkOptions& sinks = options.sinks;
    const bool has_only_recorder = options.session.output.format == OutputFormat::None && sinks.pictures.empty() &&
                                   !sinks.live_s && !sinks.metrics.wanted() && !sinks.otlp.wanted();
    const bool visits = std::ranges::any_of(program.handlers, [](const hir::Handler* handler) {
        return plan::is_about(handler->kind, plan::Subject::ExistingTask);
    });
    if (!sinks.flight.is_wanted || !options.runs() || !has_only_recorder || visits)
        return 0;
    constexpr uint64_t most_bytes = 2ull << 30;
    const auto processors = static_cast<uint64_t>(std::max(1l, sysconf(_SC_NPROCESSORS_CONF)));
    return static_cast<uint32_t>(std::max(processors, std::min(sinks.flight.bytes, most_bytes) / SONDE_FLIGHT_CHUNK));
}

bool any_handler(const hir::Program& program, bool (*wanted)(const hir::Handler&)) {
    return std::ranges::any_of(program.handlers, [&](const hir::Handler* handler) { return wanted(*handler); });
}

// The name of the session. Without -m it contains the process number, so that two sessions have different names.
std::string module_of(const Options& options) {
    const std::string& name = options.translate.module;
    return !name.empty()                   ? name.substr(name.rfind('/') + 1)
           : options.driver.last_pass == 4 ? "sonde"
                                           : fmt::format("sonde_{}", getpid());
}

// The kernel whose types are compiled into the handlers; empty if the handlers use no types of the kernel.
Result<plan::KernelBuild> find_kernel_build(Translation& t, const hir::Program& program, const CCode* c_code) {
    plan::KernelBuild out;
    const auto needs_same_types = [](const auto* code) { return code->needs_same_types; };
    if (!c_code && std::ranges::none_of(program.handlers, needs_same_types) &&
        std::ranges::none_of(program.functions, needs_same_types))
        return out;
    const InsideSysroot inside(t.sysroot); // for the types of modules
    Result<KernelTypes*> kernel = t.env.kernel();
    if (!kernel)
        return std::move(kernel).error();
    const KernelTypes* types = *kernel;
    const std::string& release = t.parse_options.kernel_release;
    out.release = t.other_kernel && release.empty() ? t.other_kernel->path : release;
    out.types = types->fingerprint();
    std::set<std::string> modules = c_code ? c_code->modules : std::set<std::string>();
    modules.insert(types->modules_used().begin(), types->modules_used().end());
    for (const std::string& module : modules) {
        Result<uint64_t> found = types->module_fingerprint(module);
        if (!found)
            return std::move(found).error();
        out.modules.push_back({module, *found});
    }
    return out;
}

} // namespace

CKernel kernel_for_c(Translation& t) {
    CKernel out;
    out.release = t.parse_options.kernel_release;
    out.compatible = t.parse_options.compatible;
    out.modules.btf = [&t](const std::string& module) -> Result<std::string> {
        Result<KernelTypes*> kernel = t.env.kernel();
        if (!kernel)
            return kernel.error();
        const InsideSysroot inside(t.sysroot);
        return (*kernel)->btf_bytes(module);
    };
    out.modules.names = [&t] {
        Result<KernelTypes*> kernel = t.env.kernel();
        return kernel ? (*kernel)->modules() : std::vector<std::string>();
    };
    if (t.other_kernel)
        out.modules.state = "installed";
    return out;
}

CodegenFacts find_codegen_facts(const Options& options, const Translation& t, const hir::Program& program) {
    const Translate& translate = options.translate;
    const bool any_in_kernel = any_handler(program, [](const hir::Handler& handler) { return handler.in_kernel; });
    CodegenFacts facts;
    facts.architecture = t.env.architecture;
    facts.groups = t.groups;
    facts.may_goto = any_in_kernel && translate.loops.empty() && t.env.kernel_facts->may_goto();
    // A perf event runs at most 64 programs, and all sessions on the machine share this limit.
    constexpr int most_at_event = 24;
    const auto at_syscalls =
        std::ranges::count_if(program.handlers, [](const hir::Handler* handler) { return is_at_syscalls(*handler); });
    facts.syscall_events =
        at_syscalls > 0 && (translate.attach == "perf_event" ||
                            (at_syscalls <= most_at_event && !t.other_kernel && prefers_syscall_events()));
    facts.kernel_types = t.other_kernel ? !t.other_kernel->is_unknown() : access("/sys/kernel/btf/vmlinux", R_OK) == 0;
    facts.uprobe_session =
        any_handler(program, fits_session) && translate.attach == "session" && t.env.kernel_facts->uprobe_session();
    facts.target_program = t.env.command_path;
    if (options.session.target_pid != 0 && options.session.command.empty())
        facts.target_program = process_program(options.session.target_pid);
    facts.flight_chunks = any_in_kernel ? flight_chunks(options, program) : 0;
    facts.script = t.files.empty() ? "<input>" : std::string(t.sources.name(t.files[0]->id));
    facts.module = module_of(options);
    return facts;
}

Result<void> add_plan_facts(CodegenFacts& facts, Translation& t, const Options& options, const hir::Program& program,
                            const CCode* c_code) {
    facts.c_code = c_code;
    if (options.driver.last_pass != 4)
        return {};
    Result<plan::KernelBuild> kernel = find_kernel_build(t, program, c_code);
    if (!kernel)
        return std::move(kernel).error();
    facts.kernel = *std::move(kernel);
    if (options.driver.origin) {
        facts.origin = *options.driver.origin;
    } else {
        std::error_code ignored;
        facts.origin = t.texts;
        facts.origin.folder = std::filesystem::current_path(ignored).string();
    }
    return {};
}

} // namespace sonde
