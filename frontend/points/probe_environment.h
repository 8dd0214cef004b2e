// Everything from outside that is needed to resolve probe points and to find their variables: options, opened modules,
// and the kernel's types.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arch/architecture.h"
#include "base/kept_texts.h"
#include "base/kernel_files.h"
#include "base/result.h"
#include "base/source.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/points/resolved_point.h"
#include "frontend/types/header_types.h"
#include "frontend/types/kernel_types.h"
#include "runtime/plan/kernel_facts.h"
#include "runtime/plan/points.h"
#include "runtime/plan/recorded_points.h"

namespace sonde {

// The environment of one translation. It lives as long as the translation and owns the opened modules.
struct ProbeEnvironment {
    explicit ProbeEnvironment(const Architecture& machine) : architecture(&machine) {}

    const Architecture* architecture; // of the machine that will run the plan
    bool guru = false;
    // Returns the cache of facts from earlier sessions. Without a cache, it is null or returns null.
    std::function<KeptTexts*()> kept_texts;
    // The kernel that the script is for; null: the running kernel. It is unknown if the script is for another machine
    // and nothing names its kernel (KernelFiles::is_unknown).
    const KernelFiles* other_kernel = nullptr;
    // The script is for another machine (--arch, --sysroot), so the processes of this one have nothing to do with it.
    bool is_elsewhere = false;
    HeaderTarget header_target;
    std::string command_path; // -c: the command's program, used by `process` without an argument; empty without -c
    std::vector<std::string> command_words; // of -c; empty if the command needs a shell
    int64_t target_pid = 0;                 // -x
    // The recording that the script is for (`sonde replay FILE -e SCRIPT`); null: the script is for a session.
    const plan::RecordedPoints* recording = nullptr;
    std::string attach; // --attach: the kind of link that the user wants; empty: the best one
    // The container-like groups that the session is limited to (--container and similar options). `option` is the
    // option and the name. `root` is the directory under which the group's file system is visible, such as
    // "/proc/42/root", or "" if it is ours. `search_path` is the group's $PATH. The function is null without such
    // an option.
    struct GroupFiles {
        std::string option, root, search_path;
    };
    std::function<Result<std::vector<GroupFiles>>()> find_group_files;
    bool listing = false;           // -l, -L: also list points that cannot be probed on this machine
    bool listing_variables = false; // -L
    bool listing_addresses = false; // -v together with -l or -L
    // Called for each resolved point (-vv); may be null.
    std::function<void(const ResolvedPoint&)> on_point;
    const KernelFacts* kernel_facts = nullptr; // about the kernel that the script is for; null: nothing is known
    // Tries to count these events on this machine. Returns 0 or the error number.
    std::function<int(const plan::PerfSpec&)> try_counter;

    // Opens a module, or returns the one already opened. Fails like DwarfModule::open. A module for another machine can
    // only be listed.
    Result<DwarfModule*> module(const std::string& path);
    // Returns the module already opened for that file (symbolic links are resolved), or null.
    DwarfModule* opened_module(const std::string& path) const;
    // Describes the debug information that was refused so far, with reasons (DwarfModule::refused_debug_information).
    std::vector<std::string> refused_debug_information() const;
    // Returns the types of a header, given its name without `<>`. Each header is read once. Fails like
    // HeaderTypes::open.
    Result<HeaderTypes*> header(const std::string& name, bool is_32_bit);
    // Returns the types of the system's headers. Fails like HeaderTypes::open_system.
    Result<HeaderTypes*> system_headers();
    // Returns the kernel's types. Fails like KernelTypes::open.
    Result<KernelTypes*> kernel();
    std::vector<sonde_python> python_layouts; // of the probed interpreters, at most SONDE_PYTHON_MOST
    std::vector<Syscall> unimplemented_calls; // those of this kernel; filled when first needed
    // By the text of a point (plan::Point::pp): returns a similar name that its program has, as a question; "" if there
    // is none. For points that accept any name, in case they are never hit.
    std::map<std::string, std::function<std::string()>> similar_names;
    std::set<std::string> told_no_variables; // files about whose missing variables the user was warned
    // Returns the debug information of exactly this build of the kernel, or an error.
    Result<DwarfModule*> kernel_debug_info();
    // The same for a kernel module. Addresses in it are relative to a section (base/linked_object.h).
    Result<DwarfModule*> module_debug_info(const std::string& name);
    // Returns the list of the kernel's symbols (base/kallsyms.h), which is read once. Fails if it cannot be read, or if
    // it is needed for another kernel and not known.
    const Result<std::string>& kernel_symbols() const;

  private:
    Result<DwarfModule*> object(const std::string& path);
    std::string kernel_release() const;

    std::map<std::string, std::unique_ptr<DwarfModule>> modules_;
    std::map<std::pair<std::string, bool>, std::unique_ptr<HeaderTypes>> headers_;
    std::optional<Result<std::unique_ptr<HeaderTypes>>> system_headers_;
    std::optional<Result<std::unique_ptr<KernelTypes>>> kernel_;
    mutable std::optional<Result<std::string>> symbols_;
};

// Whether the string names a header, such as `<sys/stat.h>`, and not a program.
inline bool is_header(std::string_view module) { return module.starts_with('<') && module.ends_with('>'); }

} // namespace sonde
