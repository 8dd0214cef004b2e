// Finds the files that `process("P")`, `process(PID)` and `process` mean, with or without `.library("L")`, and the
// points in them.
//
// The kernel attaches uprobes to a file (its inode), not to a path. The same path can mean several files, and the same
// file can have several paths:
//
// * In a container, "/usr/bin/app" is another file than outside. With --container and similar options, a name is
//   searched in the file systems of these groups (find_in_groups()).
// * A process keeps a replaced file open. Its file is then reachable only through /proc/PID/exe (program_of()).
// * A script is not executed itself. Its interpreter is probed instead (interpreter_of()).
// * Containers with the same image share inodes on an overlay file system. Such a file must be probed once; two probes
//   would count each hit twice (identify_file()).
//
// If several programs match, some may lack the function. That is a warning as long as one has it.
#include <elf.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/shared_libraries.h"
#include "base/suggest.h"
#include "frontend/dwarf/return_sites.h"
#include "frontend/probes/kind_process.h"
#include "frontend/probes/returns_twice.h"
#include "frontend/variables/sources.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

// Reports an error about the `process(...)` component.
DiagBuilder report_target(Resolving& resolving, const std::string& message) {
    const PointComponent& target = resolving.components()[0];
    return resolving.diags.report(DiagId::BadTarget,
                                  target.arg == PointComponent::None ? target.range : target.arg_range, message);
}

// Warns about a program only once, although several points may be in it.
void warn_once(Resolving& resolving, Range range, const std::string& message, const std::string& help) {
    if (std::ranges::find(resolving.diags.all(), message, &Diagnostic::message) != resolving.diags.all().end())
        return;
    DiagBuilder report = resolving.diags.report(DiagId::SkippedFile, range, message);
    if (!help.empty())
        report.help(help);
}

// Returns the programs and libraries that match a pattern of paths, without symbolic links. A relative pattern starts
// in the working directory. Skips scripts, directories and other files that the pattern matches.
std::vector<std::string> expand_target(const std::string& pattern) {
    std::vector<std::string> found;
    for (const std::string& path : expand_path_glob(pattern)) {
        const std::string file = without_links(path);
        std::error_code error;
        if (!std::filesystem::is_regular_file(file, error)) // opening a pipe would wait for its writer
            continue;
        char head[SELFMAG] = {};
        std::ifstream(file).read(head, sizeof head);
        if (std::memcmp(head, ELFMAG, SELFMAG) == 0 && std::find(found.begin(), found.end(), file) == found.end())
            found.push_back(file);
    }
    return found;
}

// Returns the program that runs a script, from its first line: `#!/bin/sh`. After `#!/usr/bin/env`, the program is
// searched in $PATH.
std::string interpreter_of(const std::string& path) {
    char head[256] = {}; // the kernel reads so many bytes (BINPRM_BUF_SIZE)
    std::ifstream(path).read(head, sizeof head - 1);
    std::string_view text = head;
    if (!text.starts_with("#!"))
        return without_links(path);
    std::istringstream line{std::string(text.substr(2, text.find('\n') - 2))};
    std::string program, argument;
    line >> program >> argument;
    bool looks_up = std::filesystem::path(program).filename() == "env" && !argument.empty() && argument[0] != '-';
    Result<std::string> found = find_in_path(looks_up ? argument : program);
    return without_links(found ? *found : path);
}

// Returns the program that a process runs. If the file was replaced or is not visible here, returns the link in /proc,
// through which it can still be opened.
Result<std::string> program_of(int64_t pid) {
    std::string link = fmt::format("/proc/{}/exe", pid);
    std::error_code error;
    std::string path = std::filesystem::read_symlink(link, error);
    if (error && !std::filesystem::exists(fmt::format("/proc/{}", pid)))
        return Error(fmt::format("process {} does not exist", pid));
    if (error == std::errc::no_such_file_or_directory)
        return Error(fmt::format("process {} runs no program: it is a kernel thread, or has just ended", pid));
    if (error)
        return errno_error(fmt::format("cannot read the program of process {}", pid), error.value());
    for (const std::string& candidate : {path, path_in_process(pid, path)})
        if (std::filesystem::equivalent(candidate, link, error))
            return candidate;
    return link;
}

// Warns if the process of -x runs a file that has been replaced: probes by path are placed in the new file, which the
// process does not run.
void warn_of_replaced(Resolving& resolving, const std::string& path) {
    int64_t pid = resolving.env.target_pid;
    if (pid == 0)
        return;
    std::error_code error;
    std::string runs = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
    if (error || runs != path + " (deleted)")
        return;
    resolving.diags
        .report(DiagId::ReplacedFile, resolving.components()[0].arg_range,
                fmt::format("process {} runs an older file; sonde probes its replacement, `{}`", pid, path))
        .help(fmt::format("use `process({})` to probe the older file, or restart the program", pid));
}

} // namespace

void note_script(DiagBuilder& report, const Resolving& resolving, const std::string& program) {
    const PointComponent& target = resolving.components()[0];
    std::string path;
    if (target.arg == PointComponent::None)
        path = resolving.env.command_path;
    else if (target.arg == PointComponent::String && !has_wildcard(target.text))
        path = target.text;
    Result<std::string> found = find_in_path(path);
    if (!path.empty() && found && is_script(*found))
        report.note({}, fmt::format("`{}` is a script; `{}` is the program that runs the script", *found, program));
}

namespace {

// Identifies a file in the way the kernel identifies it when it probes. On an overlay file system, a file has the inode
// of the layer that contains it. Containers with the same image share this inode (Linux 5.8 and later, if the file is
// not a link between file systems).
struct FileIdentity {
    uint64_t device, inode;
    int64_t size, changed_s, changed_ns;
    auto operator<=>(const FileIdentity&) const = default;
};

// Returns nothing if the file cannot be asked. Such files are not the same as any other.
std::optional<FileIdentity> identify_file(const std::string& path) {
    constexpr decltype(std::declval<struct statfs>().f_type) overlay = 0x794c7630; // OVERLAYFS_SUPER_MAGIC
    struct stat file{};
    struct statfs system{};
    if (stat(path.c_str(), &file) != 0 || statfs(path.c_str(), &system) != 0)
        return {};
    return FileIdentity{system.f_type == overlay ? 0 : file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec,
                        file.st_mtim.tv_nsec};
}

// Returns a program's files under a root directory, searched like the processes there search it.
std::vector<std::string> find_below(const ProbeEnvironment::GroupFiles& files, const std::string& name) {
    std::vector<std::string> candidates;
    if (has_wildcard(name)) {
        for (const std::string& path : expand_target(files.root + name))
            candidates.push_back(path.substr(files.root.size()));
    } else if (name.find('/') != std::string::npos) {
        candidates = {name};
    } else {
        std::istringstream folders(files.search_path);
        for (std::string folder; std::getline(folders, folder, ':');)
            candidates.push_back(fmt::format("{}/{}", folder, name));
    }
    std::vector<std::string> out;
    for (const std::string& candidate : candidates) {
        const std::string path = path_below(files.root, candidate);
        std::error_code error;
        if (!std::filesystem::is_regular_file(path, error))
            continue;
        // Use the file's path in our file system if it is the same file. The path under /proc disappears when the
        // process ends.
        const std::string from_here = path.substr(files.root.size());
        out.push_back(std::filesystem::equivalent(from_here, path, error) ? from_here : path);
        if (!has_wildcard(name))
            break;
    }
    return out;
}

// Finds the program in the file systems of the groups that the session is limited to; each file once. Returns false if
// the session is not limited, or if the name is relative to the caller, as in `./shop`.
bool find_in_groups(Resolving& resolving, const std::string& name, Programs& out) {
    if (!resolving.env.find_group_files || name.starts_with("./") || name.starts_with("../") ||
        name.starts_with("/proc/"))
        return false;
    const bool has_folder = name.find('/') != std::string::npos;
    if (has_folder && !name.starts_with('/'))
        return false;
    Result<std::vector<ProbeEnvironment::GroupFiles>> groups = resolving.env.find_group_files();
    if (!groups) {
        report_target(resolving, groups.error().message);
        return true;
    }
    if (std::ranges::all_of(*groups, [](const auto& files) { return files.root.empty(); }))
        return false; // the groups use our file system
    std::set<FileIdentity> seen;
    // Options of groups without the program; in a pod, one container with it is enough.
    std::vector<std::string> without;
    std::set<std::string> with;
    for (const ProbeEnvironment::GroupFiles& files : *groups) {
        for (const std::string& path : find_below(files, name)) {
            with.insert(files.option);
            const std::optional<FileIdentity> identity = identify_file(path);
            if (!identity || seen.insert(*identity).second)
                out.paths.push_back(path);
        }
        if (std::ranges::find(without, files.option) == without.end())
            without.push_back(files.option);
    }
    std::erase_if(without, [&](const std::string& option) { return with.contains(option); });
    if (without.empty())
        return true;
    const std::string message =
        fmt::format("program `{}` does not exist in the file system of {}", name, fmt::join(without, " and "));
    const std::string help =
        has_folder
            ? "a path is inside of the container; `./PATH` is in sonde's working folder"
            : fmt::format("its $PATH is {}",
                          std::ranges::find(*groups, without[0], &ProbeEnvironment::GroupFiles::option)->search_path);
    if (out.paths.empty())
        report_target(resolving, message).help(help);
    else
        warn_once(resolving, resolving.components()[0].arg_range, message + ", so sonde does not probe it there", help);
    return true;
}

// Returns an existing file that the user probably meant, or "". This is a file with a similar name in the same
// directory, or a library that the loader finds by this name.
std::string nearest_file(const std::string& written, const ProbeEnvironment& env) {
    const size_t slash = written.rfind('/');
    if (slash == std::string::npos) {
        for (const std::string& path : installed_libraries(env.architecture->library_search())) {
            const std::string name = path.substr(path.rfind('/') + 1);
            if (name == written || name.starts_with(written + ".so"))
                return path;
        }
        return "";
    }
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(written.substr(0, slash + 1), error))
        if (entry.is_regular_file(error))
            names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    const std::string near = nearest_name(written.substr(slash + 1), names);
    return near.empty() ? "" : written.substr(0, slash + 1) + near;
}

} // namespace

// Without an argument, `process` means the command of -c, or else the program of the process of -x. A number is a
// process id. A string is a path, a name to search in $PATH, or a pattern.
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
            resolving.diags.report(DiagId::BadTarget, target.range, "`process` without a program needs -c or -x")
                .help("write the program, `process(\"PATH\")`, run one with -c, or choose a process with -x");
        }
        return out;
    case PointComponent::Number:
        if (resolving.env.is_elsewhere) {
            report_target(resolving, "a process of this machine cannot be probed by a script for another one")
                .help("write the program, `process(\"PATH\")`");
            return out;
        }
        // Only the places of a probe need the program's path; the path may not be readable for this user.
        if (all_will_do && std::filesystem::exists(fmt::format("/proc/{}", target.number)) && target.number > 0)
            out.pid = target.number;
        else if (Result<std::string> path = program_of(target.number)) {
            out.paths = {*path};
            out.pid = target.number;
        } else {
            report_target(resolving, path.error().message);
        }
        return out;
    case PointComponent::String:
        break;
    }
    // If the session is limited to containers, the name means a program in their file systems.
    if (find_in_groups(resolving, target.text, out))
        return out;
    if (Result<std::string> found = find_file(target.text)) {
        out.paths = {interpreter_of(*found)};
        warn_of_replaced(resolving, out.paths[0]);
    } else if (!has_wildcard(target.text)) {
        DiagBuilder report = report_target(resolving, found.error().message);
        if (const std::string near = nearest_file(target.text, resolving.env); !near.empty())
            report.suggest(near);
    } else {
        out.paths = expand_target(target.text);
        if (out.paths.empty())
            report_target(resolving, fmt::format("no program matches `{}`", target.text));
    }
    return out;
}

namespace {

// The files that could not be opened: the first reason, and the programs for other machines.
struct Refused {
    std::string why;
    std::vector<std::string> foreign; // their paths
    std::string why_foreign;          // the reason for the first one
};

// Returns the component that is only supported in 64-bit programs, or "". Procedure linkage tables and calls are only
// analyzed in 64-bit code.
std::string wide_only(Resolving& resolving) {
    const size_t next = resolving.at(1) && resolving.at(1)->name == "library" ? 2 : 1;
    const PointComponent *what = resolving.at(next), *inside = resolving.at(next + 1);
    if (what && what->name == "plt")
        return what->name;
    return what && inside && inside->name.starts_with("callee") ? inside->name : "";
}

// Adds the modules that can be opened.
void open_all(Resolving& resolving, const std::vector<std::string>& paths, const ProcessTarget& like,
              std::vector<ProcessTarget>& targets, Refused& refused) {
    for (const std::string& path : paths) {
        Result<DwarfModule*> module = resolving.env.module(path);
        // A pattern does not mean programs for other machines, although these can be listed.
        if (module && paths.size() > 1)
            if (Result<void> there = (*module)->file().elf().runs_on(resolving.env.architecture->machine()); !there)
                module = std::move(there).error();
        if (!module) {
            if (refused.why.empty())
                refused.why = module.error().message; // for example, a data file in a directory of programs
            if (module.error().os_error == foreign_program) {
                if (refused.foreign.empty())
                    refused.why_foreign = module.error().message;
                refused.foreign.push_back(path);
            }
            continue;
        }
        if (std::string what = wide_only(resolving); (*module)->file().is_32_bit() && !what.empty()) {
            if (refused.why.empty())
                refused.why = fmt::format("`{}` is a 32-bit program; sonde can probe its functions, statements, marks "
                                          "and data, but not `.{}`",
                                          path, what);
            continue;
        }
        ProcessTarget target = like;
        target.module = *module;
        target.changes_return_addresses = resolving.env.attach == "uretprobe" || resolving.env.attach == "session";
        if (std::none_of(targets.begin(), targets.end(), [&](const auto& other) {
                return other.module == target.module && other.program == target.program;
            }))
            targets.push_back(std::move(target));
    }
}

// Warns that a pattern also matches programs for other machines.
void warn_of_foreign(Resolving& resolving, const PointComponent& component, const Refused& refused) {
    if (refused.foreign.empty())
        return;
    std::string more = refused.foreign.size() == 1 ? "" : fmt::format(", and {} more", refused.foreign.size() - 1);
    resolving.diags.report(DiagId::SkippedFile, component.arg_range,
                           fmt::format("not probed: {}{}", refused.why_foreign.substr(strlen("cannot open ")), more));
}

// Whether the pattern matches the file's name, its path, or its path without symbolic links.
bool is_library(const std::string& pattern, const std::string& path) {
    std::error_code error;
    std::filesystem::path real = std::filesystem::canonical(path, error);
    const std::string root = process_root(path);
    if (!root.empty() && glob_match(pattern, path.substr(root.size()))) // the path as the program's processes see it
        return true;
    return glob_match(pattern, path) || glob_match(pattern, std::filesystem::path(path).filename().string()) ||
           glob_match(pattern, real.string()) || glob_match(pattern, real.filename().string());
}

// Makes a name or pattern with a directory relative to the working directory: `./*x*`, `../libx.so`.
std::string from_working_folder(const std::string& pattern) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::current_path(error);
    return pattern.find('/') == std::string::npos || error ? pattern : (folder / pattern).lexically_normal().string();
}

// Resolves process("P").library("L"): a library that P is linked with, or any library if L is a complete path.
std::vector<ProcessTarget> open_libraries(Resolving& resolving, const Programs& programs) {
    const PointComponent &process = resolving.components()[0], &library = resolving.components()[1];
    int64_t running = programs.pid;
    if (process.arg == PointComponent::None && resolving.env.command_path.empty())
        running = resolving.env.target_pid;
    const LibrarySearch search = resolving.env.architecture->library_search();
    std::vector<ProcessTarget> out;
    std::vector<std::string> names;
    Refused refused;
    for (const std::string& program : programs.paths) {
        std::vector<std::string> matching;
        for (const std::string& path : running != 0 ? mapped_libraries(running) : shared_libraries(program, search)) {
            names.push_back(std::filesystem::path(path).filename());
            if (is_library(library.text, path) || is_library(from_working_folder(library.text), path))
                matching.push_back(path);
        }
        std::error_code error;
        if (matching.empty() && library.text.find('/') != std::string::npos &&
            std::filesystem::is_regular_file(library.text, error))
            matching = {library.text};
        ProcessTarget like;
        like.pid = programs.pid;
        if (process.arg == PointComponent::String)
            like.program = program;
        open_all(resolving, matching, like, out, refused);
    }
    for (ProcessTarget& target : out)
        target.text = fmt::format("process({}).library({})",
                                  target.pid ? fmt::to_string(target.pid)
                                             : quoted(target.program.empty() ? programs.paths[0] : target.program),
                                  quoted(target.module->path()));
    if (!out.empty()) {
        warn_of_foreign(resolving, library, refused);
        return out;
    }
    if (!refused.why.empty()) {
        resolving.diags.report(DiagId::BadTarget, library.arg_range, refused.why);
        return out;
    }
    DiagBuilder report =
        resolving.diags.report(DiagId::BadTarget, library.arg_range,
                               fmt::format("`{}` has no library `{}`", point_text(resolving.point, 1), library.text));
    if (std::string nearest = nearest_name(library.text, names); !nearest.empty())
        report.suggest(nearest);
    else if (names.empty() && ElfFile::open_for(programs.paths[0], search.machine).ok())
        report.help("the program is linked statically");
    else if (names.empty())
        report.help("the libraries of a 32-bit program are not known; write the library's path");
    else
        report.help(fmt::format("its libraries are {}", fmt::join(names, ", ")));
    return out;
}

} // namespace

std::vector<ProcessTarget> open_process_targets(Resolving& resolving, size_t next) {
    Programs programs = find_programs(resolving, false);
    if (programs.paths.empty())
        return {};
    if (next > 1)
        return open_libraries(resolving, programs);
    std::vector<ProcessTarget> out;
    Refused refused;
    ProcessTarget like;
    like.pid = programs.pid;
    open_all(resolving, programs.paths, like, out, refused);
    for (ProcessTarget& target : out)
        target.text = fmt::format("process({})", quoted(target.module->path()));
    if (out.empty())
        report_target(resolving, refused.why);
    else if (has_wildcard(resolving.components()[0].text))
        warn_of_foreign(resolving, resolving.components()[0], refused);
    else if (!refused.why.empty()) // in one of several containers
        warn_once(resolving, resolving.components()[0].arg_range, "not probed: " + refused.why, "");
    return out;
}

void warn_of_targets_without(Resolving& resolving, const PointComponent& component,
                             const std::vector<ProcessTarget>& without) {
    const bool has_pattern = std::ranges::any_of(
        resolving.components().begin(), resolving.components().begin() + (&component - &resolving.components()[0]),
        [](const PointComponent& one) { return has_wildcard(one.text); });
    if (has_pattern || !resolving.env.find_group_files)
        return;
    const Result<std::vector<ProbeEnvironment::GroupFiles>> groups = resolving.env.find_group_files();
    for (const ProcessTarget& target : without) {
        std::string whose;
        for (const ProbeEnvironment::GroupFiles& files : groups ? *groups : std::vector<ProbeEnvironment::GroupFiles>())
            if (!files.root.empty() && target.module->path().starts_with(files.root + "/"))
                whose = fmt::format(" of {}", files.option);
        warn_once(resolving, component.arg_range,
                  fmt::format("nothing matches `{}` in `{}`{}, so sonde does not probe it there",
                              point_text(resolving.point), target.module->path(), whose),
                  "this file is another build than the probed files");
    }
}

std::optional<ResolvedPoint> point_at(const ProcessTarget& target, Address address) {
    DwarfModule& module = *target.module;
    std::optional<uint64_t> offset = module.file().file_offset(address);
    if (!offset)
        return std::nullopt;
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Uprobe;
    resolved.in_kernel = true;
    resolved.point.path = module.path();
    resolved.point.build_id = module.file().build_id();
    resolved.point.offset = *offset;
    resolved.point.program = target.program;
    resolved.point.pid = target.pid;
    resolved.variables = &program_source;
    resolved.module = &module;
    resolved.address = address;
    resolved.entry_address = address;
    return resolved;
}

std::optional<ResolvedPoint> point_in(const ProcessTarget& target, const FunctionInstance& function, Address address) {
    std::optional<ResolvedPoint> resolved = point_at(target, address);
    if (resolved) {
        resolved->point.function = function.name;
        resolved->function = function;
    }
    return resolved;
}

namespace {

// The addresses of the breakpoints that detect the calls or the returns of a function.
struct NoticedAt {
    std::vector<std::pair<FunctionExit, FunctionPlaces::Place>> places;
    bool at_instruction = false; // the addresses are those of return instructions and tail calls
    std::string doubt;           // why these may miss calls (FunctionPlaces)
};

// Breakpoints at entries. The exit in each pair is only filled in because the two lists have the same type.
NoticedAt at_entries(const std::vector<FunctionPlaces::Place>& entries) {
    NoticedAt out;
    for (const FunctionPlaces::Place& entry : entries)
        out.places.emplace_back(FunctionExit{entry.address, false, std::nullopt}, entry);
    return out;
}

// A return is detected at the instructions that leave the function. If these cannot be used, `places` has only the
// entry, where a uretprobe changes the return address.
Result<NoticedAt> places_of_return(const ProcessTarget& target, const FunctionInstance& function) {
    if (target.is_kernel)
        return at_entries({{function.entry, {}}});
    FunctionPlaces entries{{{function.body, {}}}, ""};
    if (!target.only_lists)
        entries = target.module->places(function);
    if (entries.places.empty())
        return Error(std::move(entries.why_none), unclear_entry);
    Result<std::vector<FunctionExit>> exits = target.module->returns().find(function, target.changes_return_addresses);
    if (!exits)
        return std::move(exits).error();
    NoticedAt out;
    for (FunctionExit& exit : *exits)
        out.places.emplace_back(exit, FunctionPlaces::Place{exit.address, entries.places[0].repeats});
    out.at_instruction = !exits->empty();
    if (out.at_instruction)
        return out;
    if (!function.inlined && returns_twice(function.name))
        return Error(why_no_return_twice(function.name));
    // A uretprobe changes the return address at the entry, and would change it again in each round of the loop.
    if (!entries.places[0].repeats.empty() && entries.places[0].address == function.entry)
        return Error(fmt::format("`{}` begins with a loop, and each iteration would count as a call that returns",
                                 function.name),
                     unclear_entry);
    return at_entries({{function.entry, {}}});
}

// The exact places need an analysis of the code, so listings use the entry.
Result<NoticedAt> places_of_call(const ProcessTarget& target, const FunctionInstance& function) {
    if (target.only_lists)
        return at_entries({{function.body, {}}});
    FunctionPlaces entries = target.module->places(function);
    if (entries.places.empty())
        return Error(std::move(entries.why_none), unclear_entry);
    NoticedAt out = at_entries(entries.places);
    out.doubt = std::move(entries.doubt);
    return out;
}

} // namespace

Result<std::vector<ResolvedPoint>> function_points(const ProcessTarget& target, const FunctionInstance& function,
                                                   const std::string& text, const std::string& suffix) {
    const bool is_return = suffix == "return";
    Result<NoticedAt> noticed = is_return ? places_of_return(target, function) : places_of_call(target, function);
    if (!noticed)
        return std::move(noticed).error();
    std::vector<ResolvedPoint> points;
    for (auto& [exit, place] : noticed->places) {
        std::optional<ResolvedPoint> resolved = point_in(target, function, place.address);
        std::optional<uint64_t> entry = target.module->file().file_offset(function.body);
        if (!resolved || !entry)
            continue;
        resolved->is_function = true;
        resolved->is_go = function.is_go && !function.inlined;
        resolved->repeats = std::move(place.repeats);
        resolved->doubt = noticed->doubt;
        if (is_return) {
            resolved->kind = plan::ProbeKind::Uretprobe;
            resolved->is_return = true;
            resolved->at_return_instruction = noticed->at_instruction;
            resolved->leaves_by_jump = exit.is_jump;
            resolved->jump_condition = exit.condition;
            resolved->entry_address = function.body;
            resolved->point.entry_offset = *entry;
        }
        resolved->point.pp = fmt::format("{}{}{}", text, suffix.empty() ? "" : ".", suffix);
        points.push_back(*std::move(resolved));
    }
    return points;
}

std::string place_text(const std::string& name, const std::string& file, int line) {
    return file.empty() ? name : fmt::format("{}@{}:{}", name, file, line);
}

std::string function_text(const ProcessTarget& target, const FunctionInstance& function) {
    return fmt::format("{}.function({})", target.text, quoted(place_text(function.name, function.file, function.line)));
}

} // namespace sonde
