#include "driver/pass_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/processes.h"
#include "codegen/session_legs.h"
#include "driver/sinks.h"
#include "frontend/types/kernel_types.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/preemption.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Timelines and spans are made of single hits.
bool wants_hits(const Options& options) {
    return options.wants(PictureRequest::Timeline) || options.otlp.wants(OtlpTraces);
}

} // namespace

CKernel kernel_for_c(Translation& t) {
    CKernel out;
    out.release = t.parse_options.kernel_release;
    out.compatible = t.parse_options.compatible;
    auto bytes = [&t](const std::string& module) -> Result<std::string> {
        Result<KernelTypes*> kernel = t.env.kernel();
        if (!kernel)
            return kernel.error();
        return (*kernel)->btf_bytes(module);
    };
    out.btf = [&t, bytes] {
        t.env.relies_on_kernel = true;
        return bytes("");
    };
    out.modules.names = [&t] {
        Result<KernelTypes*> kernel = t.env.kernel();
        return kernel ? (*kernel)->modules() : std::vector<std::string>();
    };
    out.modules.btf = bytes;
    if (t.other_kernel)
        out.modules.state = "installed";
    return out;
}

SemaOptions sema_options(const Options& options) {
    SemaOptions sema;
    sema.guru = options.guru;
    sema.unoptimized = options.unoptimized;
    ParseOptions language;
    language.compatible = options.compatible;
    sema.var_at_entry = language.older_than("4.1");
    sema.skip_bad_variables = options.skip_bad_variables;
    sema.kernel_host_probes = options.host_probes == "kernel";
    sema.max_map_entries = options.limits.max_map_entries;
    sema.max_string = options.limits.max_string;
    sema.hist_elision = static_cast<int64_t>(options.limits.hist_elision);
    sema.hist_width = options.limits.hist_width;
    sema.max_buckets = options.limits.max_buckets;
    sema.tells_hits = wants_hits(options);
    sema.hist_unicode = options.unicode_histograms;
    for (const PictureRequest& picture : options.pictures)
        if (picture.kind == PictureRequest::Heatmap)
            sema.keeps_quantiles.push_back(picture.global);
    sema.keeps_distributions = options.metrics.wanted() || options.otlp.wants(OtlpMetrics);
    sema.global_overrides = options.globals;
    sema.settable_globals = options.last_pass == 4;
    return sema;
}

CodegenOptions codegen_options(const Options& options, const Translation& t, const hir::Program& program) {
    bool any_in_kernel = std::any_of(program.handlers.begin(), program.handlers.end(),
                                     [](const hir::Handler* handler) { return handler->in_kernel; });
    CodegenOptions codegen;
    codegen.max_string = static_cast<uint32_t>(options.limits.max_string);
    const Limits& limits = options.limits;
    codegen.max_action = limits.max_action;
    codegen.max_action_interruptible =
        limits.max_action_interruptible ? limits.max_action_interruptible : 10 * limits.max_action;
    codegen.max_nesting = options.limits.max_nesting;
    constexpr uint64_t most_addresses = 128; // what a handler has room for
    codegen.max_backtrace = std::min(options.limits.max_backtrace, most_addresses);
    if (options.limits.max_backtrace > most_addresses)
        warn(fmt::format("-D MAXBACKTRACE={}: stacks have at most {} addresses", options.limits.max_backtrace,
                         most_addresses));
    codegen.max_errors = options.limits.max_errors;
    codegen.max_skipped = options.limits.max_skipped;
    codegen.ring_bytes = options.ring_bytes;
    codegen.filter_target = options.filters_target && (!options.command.empty() || options.target_pid != 0);
    codegen.groups = t.groups;
    codegen.timing =
        options.timing || !options.report.empty() || options.metrics.wanted() || options.otlp.wants(OtlpMetrics);
    codegen.one_by_one = options.unoptimized;
    codegen.tells_hits = wants_hits(options);
    codegen.tells_context = options.format == OutputFormat::Json || codegen.tells_hits;
    codegen.suppress_errors = options.suppress_handler_errors;
    codegen.arrangement = options.arrangement;
    codegen.may_goto =
        any_in_kernel && options.loops.empty() &&
        (t.other_kernel ? read_features(t.other_kernel->types).may_goto : probe_kernel_features().may_goto);
    // A perf event has room for 64 programs, of all sessions.
    constexpr int most_at_event = 24;
    const auto at_syscalls = std::count_if(program.handlers.begin(), program.handlers.end(),
                                           [](const hir::Handler* handler) { return is_at_syscalls(*handler); });
    codegen.syscall_events =
        at_syscalls > 0 && (options.attach == "perf_event" ||
                            (at_syscalls <= most_at_event && !t.other_kernel && prefers_syscall_events()));
    codegen.kernel_types = t.other_kernel || access("/sys/kernel/btf/vmlinux", R_OK) == 0;
    bool any_session = std::any_of(program.handlers.begin(), program.handlers.end(),
                                   [](const hir::Handler* handler) { return fits_session(*handler); });
    codegen.uprobe_session =
        any_session && options.attach == "session" &&
        (t.other_kernel ? read_features(t.other_kernel->types).uprobe_session : has_uprobe_session());
    codegen.target_program = t.env.command_path;
    if (options.target_pid != 0 && options.command.empty())
        codegen.target_program = process_program(options.target_pid);
    codegen.script = t.files.empty() ? "<input>" : std::string(t.sources.name(t.files[0]->id));
    codegen.module = !options.module.empty()  ? options.module.substr(options.module.rfind('/') + 1)
                     : options.last_pass == 4 ? "sonde"
                                              : fmt::format("sonde_{}", getpid());
    return codegen;
}

SessionOptions session_options(const Options& options) {
    SessionOptions session;
    session.command = options.command;
    session.target_pid = options.target_pid;
    session.files = options.files;
    session.output = {options.output, options.output_bytes, options.output_files, options.format,
                      options.output_buffer};
    session.make_sinks = sink_maker(options);
    session.output_wait_s = options.output_wait_s;
    session.raw = options.raw;
    session.time_limit_s = options.time_limit_s;
    session.verbose = options.verbose[4];
    session.timing = options.timing;
    session.one_by_one = options.unoptimized;
    session.tolerated = options.tolerated;
    session.overload = overload_limit(options);
    session.attach = options.attach;
    return session;
}

} // namespace sonde
