// From `process("P")`, `process(PID)` and `process` to programs.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/probes/kind_process.h"

namespace sonde {
namespace {

using ast::PointComponent;

void report_target(Resolving& resolving, const std::string& message) {
    const PointComponent& target = resolving.components()[0];
    resolving.diags.report(DiagId::BadTarget, target.arg == PointComponent::None ? target.range : target.arg_range,
                           message);
}

// Paths that a name with wildcards stands for; a bare one is looked for in $PATH.
std::vector<std::string> expand_target(const std::string& pattern) {
    if (pattern.find('/') != std::string::npos)
        return expand_path_glob(pattern);
    std::vector<std::string> found;
    const char* search = getenv("PATH");
    std::string_view rest = search ? search : "";
    while (!rest.empty()) {
        size_t colon = std::min(rest.find(':'), rest.size());
        if (colon != 0)
            for (std::string& path : expand_path_glob(std::string(rest.substr(0, colon)) + "/" + pattern))
                found.push_back(std::move(path));
        rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    return found;
}

// The program that runs a script is in its first line, `#!/bin/sh`; behind `#!/usr/bin/env` it is looked for.
std::string interpreter_of(const std::string& path) {
    char head[256] = {}; // what the kernel looks at (BINPRM_BUF_SIZE)
    std::ifstream(path).read(head, sizeof head - 1);
    std::string_view text = head;
    if (!text.starts_with("#!"))
        return path;
    std::istringstream line{std::string(text.substr(2, text.find('\n') - 2))};
    std::string program, argument;
    line >> program >> argument;
    bool looks_up = std::filesystem::path(program).filename() == "env" && !argument.empty() && argument[0] != '-';
    Result<std::string> found = find_in_path(looks_up ? argument : program);
    return found ? *found : path;
}

// The program that a process runs; a file that was replaced or is not visible from here is still behind the link.
Result<std::string> program_of(int64_t pid) {
    std::string link = fmt::format("/proc/{}/exe", pid);
    std::error_code error;
    std::string path = std::filesystem::read_symlink(link, error);
    if (error)
        return Error(fmt::format("no program of process {}: {}", pid, error.message()));
    return std::filesystem::equivalent(path, link, error) ? path : link;
}

} // namespace

Programs find_programs(Resolving& resolving, bool all_will_do) {
    const PointComponent& target = resolving.components()[0];
    Programs out;
    switch (target.arg) {
    case PointComponent::None:
        if (all_will_do) {
            out.all = true;
        } else if (!resolving.env.command_path.empty()) {
            out.paths = {interpreter_of(resolving.env.command_path)};
        } else if (resolving.env.target_pid != 0) {
            if (Result<std::string> path = program_of(resolving.env.target_pid))
                out.paths = {*path};
            else
                report_target(resolving, path.error().message);
        } else {
            resolving.diags.report(DiagId::BadTarget, target.range, "`process` without a program needs a target")
                .help("give the program: `process(\"PATH\")`, run one with -c, or name a process with -x");
        }
        return out;
    case PointComponent::Number:
        if (Result<std::string> path = program_of(target.number)) {
            out.paths = {*path};
            out.pid = target.number;
        } else {
            report_target(resolving, path.error().message);
        }
        return out;
    case PointComponent::String:
        break;
    }
    if (Result<std::string> found = find_in_path(target.text)) {
        out.paths = {interpreter_of(*found)};
    } else if (!has_wildcard(target.text)) {
        report_target(resolving, found.error().message);
    } else {
        for (const std::string& path : expand_target(target.text))
            if (std::string program = interpreter_of(path);
                std::filesystem::is_regular_file(program) &&
                std::find(out.paths.begin(), out.paths.end(), program) == out.paths.end())
                out.paths.push_back(program);
        if (out.paths.empty())
            report_target(resolving, fmt::format("no program matches `{}`", target.text));
    }
    return out;
}

std::vector<ProcessTarget> open_process_targets(Resolving& resolving, size_t) {
    Programs programs = find_programs(resolving, false);
    std::vector<ProcessTarget> out;
    std::string refused;
    for (const std::string& path : programs.paths) {
        Result<DwarfModule*> module = resolving.env.module(path);
        if (!module) {
            if (refused.empty())
                refused = module.error().message; // a data file among programs
            continue;
        }
        ProcessTarget target;
        target.module = *module;
        target.pid = programs.pid;
        target.text = programs.pid ? fmt::format("process({})", programs.pid)
                                   : fmt::format("process({})", quoted((*module)->path()));
        if (std::none_of(out.begin(), out.end(), [&](const auto& other) { return other.module == target.module; }))
            out.push_back(std::move(target));
    }
    if (out.empty() && !programs.paths.empty())
        report_target(resolving, refused);
    return out;
}

std::optional<ResolvedPoint> point_at(const ProcessTarget& target, Address address) {
    DwarfModule& module = *target.module;
    std::optional<uint64_t> offset = module.file_offset(address);
    if (!offset)
        return std::nullopt;
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Uprobe;
    resolved.in_kernel = true;
    resolved.point.path = module.path();
    resolved.point.build_id = module.build_id();
    resolved.point.offset = *offset;
    resolved.point.program = target.program;
    resolved.point.pid = target.pid;
    resolved.module = &module;
    resolved.address = address;
    resolved.entry_address = address;
    return resolved;
}

} // namespace sonde
