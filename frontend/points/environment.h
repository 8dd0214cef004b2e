// What resolving a probe point and finding its variables need from outside: options, opened modules, the kernel's
// types.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/kept_texts.h"
#include "base/kernel_files.h"
#include "base/result.h"
#include "base/source.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/points/resolved_point.h"
#include "frontend/types/header_types.h"
#include "frontend/types/kernel_types.h"
#include "runtime/plan.h"

namespace sonde {

// How the kernel's functions and tracepoints can be probed.
struct KernelProbing {
    bool fentry = false;            // trampolines at a function's entry and return
    bool kprobe = false;            // breakpoints
    bool only_breakpoints = false;  // the user wants no others
    bool preempts_handlers = false; // at trampolines, which then miss hits (runtime/preemption.h)
    bool may_goto = false; // loops are loops; without, each round is a call, and calls share 512 bytes of stack
    bool tracepoint_cookie = false; // one program can serve several tracepoints and knows which one it is at
    // Why the kernel has no handlers of a kind that decides (plan::decides), in words; empty: it has them. `function`:
    // of the kernel, for those about one.
    std::function<std::string(plan::ProbeKind, const std::string& function)> why_no_decision;
    bool register_writes = false; // handlers at programs' code can change the registers
};

// What probe kinds need from outside; lives as long as the translation and owns the opened modules.
struct ProbeEnvironment {
    bool guru = false;
    // What earlier sessions have found out; null, or gives null: nothing is kept.
    std::function<KeptTexts*()> kept_texts;
    const KernelFiles* other_kernel = nullptr; // -r: the script is for that one; null: for the running one
    std::string command_path; // -c: the command's program, for `process` without an argument; empty without
    int64_t target_pid = 0;   // -x
    bool changes_return_addresses = false; // --attach=uretprobe
    // The groups that the session is limited to (--container and the like): each by its option and name, with the
    // folder below which its file system lies ("/proc/42/root"; "": it is that of here) and its $PATH. Null: there is
    // none.
    struct GroupFiles {
        std::string option, root, search_path;
    };
    std::function<Result<std::vector<GroupFiles>>()> find_group_files;
    bool listing = false;           // -l, -L: what cannot be probed on this machine is listed too
    bool listing_variables = false; // -L
    bool listing_addresses = false; // -v with these
    // Told of each point that is found (-vv); null: nobody asks.
    std::function<void(const ResolvedPoint&)> on_point;
    std::vector<plan::Counter> counters; // of perf probes with .counter("name"), which run no handler
    // Control files, by their path and whether they are read: where the first handler of each was written.
    std::map<std::pair<std::string, bool>, Range> files;
    std::vector<std::pair<std::string, Range>>
        watchpoints; // whose memory it is (empty: the kernel's), and where written
    // What this machine's kernel can do, found out when it matters.
    std::function<const KernelProbing&()> kernel_probing;
    // The error number of counting these events on this machine; 0: they can be counted.
    std::function<int(const plan::PerfSpec&)> try_counter;

    // Opens each file once. Errors as DwarfModule::open.
    Result<DwarfModule*> module(const std::string& path);
    // The one that was opened as that file, by its name without links; null: none was.
    DwarfModule* opened_module(const std::string& path) const;
    // Whose debug information was refused so far, and why (DwarfModule::refused_debug_information).
    std::vector<std::string> refused_debug_information() const;
    // A header's types, by its name without `<>`; read once. Errors as HeaderTypes::open.
    Result<HeaderTypes*> header(const std::string& name, bool is_32_bit);
    // The system's headers. Errors as HeaderTypes::open_system.
    Result<HeaderTypes*> system_headers();
    // The kernel's types. Errors as KernelTypes::open.
    Result<KernelTypes*> kernel();
    // Its types, if what was translated is right for kernels with these types only.
    const KernelTypes* needed_kernel() const {
        return relies_on_kernel && kernel_ && *kernel_ ? (**kernel_).get() : nullptr;
    }
    std::vector<Syscall> no_code_calls;      // that this kernel does not have, once somebody asks
    std::set<std::string> told_no_variables; // files of which a warning says so
    bool relies_on_kernel = false;           // a place in the kernel's memory has come from its types
    std::set<std::string> modules_for_c;     // of the kernel, whose types the script's C names
    // The kernel's debug information. Errors: there is none for this very build.
    Result<DwarfModule*> kernel_debug_info();
    // The same for one of its modules, whose addresses say where in a section something is (base/linked_object.h).
    Result<DwarfModule*> module_debug_info(const std::string& name);
    // The list of its symbols (base/kallsyms.h), read once. Errors: it cannot be read, or that of another kernel is not
    // known.
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

// True for what names a header and no program: `<sys/stat.h>`.
inline bool is_header(std::string_view module) { return module.starts_with('<') && module.ends_with('>'); }

} // namespace sonde
