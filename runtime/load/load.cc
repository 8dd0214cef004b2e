// Loading a BPF object has steps whose order matters:
//
// 1. Check the ELF file (object_check.h) before libbpf parses it: a saved plan may be damaged.
// 2. Open it. If it reads kernel structures, open it again with a small file of only the types that it needs
//    (kernel_btf.h). Otherwise libbpf would index all types of the kernel, which takes most of the start time.
// 3. Set everything that must be known before verification: attach types, targets of trampolines, sizes of maps, and
//    initial values.
// 4. Load it, which verifies all programs. Translate a refusal to a message about the script.
// 5. Map the script's globals and the set of traced processes into memory.
#include "runtime/load/load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/btf_file.h"
#include "base/fd.h"
#include "runtime/kernel/kernel_btf.h"
#include "runtime/kernel/privileges.h"
#include "runtime/kernel/uprobe_session.h"
#include "runtime/load/object_check.h"
#include "runtime/load/shared_maps.h"
#include "runtime/load/verifier_log.h"
#include "runtime/plan/file_table.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/shared_globals.h"

namespace sonde {
namespace {

constexpr auto kprobe_multi_type = static_cast<enum bpf_attach_type>(42); // BPF_TRACE_KPROBE_MULTI, 5.18
constexpr auto uprobe_multi_type = static_cast<enum bpf_attach_type>(48); // BPF_TRACE_UPROBE_MULTI, 6.6

// libbpf reports through one callback per process. While an object is being loaded, its messages are collected here.
thread_local std::string* libbpf_log = nullptr;

int keep_log(enum libbpf_print_level level, const char* format, va_list args) {
    if (!libbpf_log || (level == LIBBPF_DEBUG && !strstr(format, "PROG LOAD LOG")))
        return 0;
    // The verifier's log is one message, and can have megabytes. So measure it first.
    va_list again;
    va_copy(again, args);
    int size = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    std::string line(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
    std::vsnprintf(line.data(), line.size(), format, args);
    line.pop_back();
    libbpf_log->append(line);
    return size;
}

bool is_data_map(const bpf_map* map) { return std::string_view(bpf_map__name(map)).ends_with(".bss"); }
bool is_target_map(const bpf_map* map) { return std::string_view(bpf_map__name(map)) == plan::maps::targets; }

// Sets the type of programs whose sections libbpf before 1.3 does not know.
void set_type(bpf_object* object, const std::string& name, const plan::KindTraits& traits) {
    bpf_program* program = bpf_object__find_program_by_name(object, name.c_str());
    bpf_program__set_type(program, static_cast<enum bpf_prog_type>(traits.program_type));
    bpf_program__set_expected_attach_type(program, static_cast<enum bpf_attach_type>(traits.attach_type));
}

// Allocates the entries of the maps for control groups on demand, because most of them stay unused (6.1, "bpf: Relax
// the requirement to use preallocated hash maps in tracing progs").
void shrink_group_maps(bpf_object* object) {
    for (const char* name : {plan::maps::groups, plan::maps::births, plan::maps::group_names})
        if (bpf_map* map = bpf_object__find_map_by_name(object, name))
            bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_NO_PREALLOC);
}

// Makes room for each counter on each processor.
void size_counters(const plan::Plan& plan, bpf_object* object) {
    for (const char* name : {plan::maps::counters, plan::maps::counted})
        if (bpf_map* map = bpf_object__find_map_by_name(object, name))
            bpf_map__set_max_entries(map, static_cast<uint32_t>(plan.counters.size()) *
                                              static_cast<uint32_t>(libbpf_num_possible_cpus()));
}

// Makes a ring of the flight recorder for each processor, and lets the session read all rings.
void size_flight_rings(bpf_object* object) {
    if (bpf_map* map = bpf_object__find_map_by_name(object, plan::maps::flight_rings))
        bpf_map__set_max_entries(map, static_cast<uint32_t>(libbpf_num_possible_cpus()));
    for (const char* name : {plan::maps::flight_rings, plan::maps::flight_chunks})
        if (bpf_map* map = bpf_object__find_map_by_name(object, name))
            bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_MMAPABLE);
}

// Sets the kernel functions to which trampolines will be attached. The verifier needs them to check the arguments.
Result<void> aim_trampolines(const plan::Plan& plan, bpf_object* object) {
    for (const plan::Probe& probe : plan.probes) {
        const plan::KindTraits& traits = plan::traits(probe.kind);
        if (traits.program_type)
            set_type(object, probe.symbol, traits);
        if (!traits.is_aimed)
            continue;
        for (const std::string& name : {probe.entry_program, probe.symbol}) {
            bpf_program* program = bpf_object__find_program_by_name(object, name.c_str());
            const plan::Point& point = probe.points[0];
            if (!program)
                continue;
            if (int failed = bpf_program__set_attach_target(program, 0, point.symbol.c_str()))
                return errno_error(fmt::format("cannot attach to {}", point.pp), -failed);
        }
    }
    return {};
}

Error too_few_files() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    return Error(
        fmt::format("the session needs more than the {} open files of its limit; raise the limit with `ulimit -n`",
                    files.rlim_cur),
        EMFILE);
}

// Returns whether enough file descriptors are left to load the object. Without this check, the failure would be
// misleading: libbpf tests the kernel's features before it loads. If a test fails because no descriptor is left, libbpf
// assumes that the feature is missing, and the verifier then refuses correct handlers.
bool has_files_to_load(const bpf_object* object) {
    size_t needed = 8; // for BTF and for libbpf's tests
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) needed++;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object) needed++;
    std::vector<Fd> taken;
    while (taken.size() < needed) {
        Fd one(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
        if (!one && errno == EMFILE)
            return false;
        taken.push_back(std::move(one));
    }
    return true;
}

} // namespace

KernelObject::~KernelObject() {
    for (auto [memory, bytes] : mapped_)
        munmap(memory, bytes);
    bpf_object__close(object_);
}

void* KernelObject::map_memory(const bpf_map* map, size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    if (memory == MAP_FAILED)
        return nullptr;
    mapped_.emplace_back(memory, bytes);
    return memory;
}

int KernelObject::map_fd(const std::string& name) const {
    bpf_map* map = bpf_object__find_map_by_name(object_, name.c_str());
    return map ? bpf_map__fd(map) : -1;
}

int KernelObject::program_fd(const std::string& name) const {
    bpf_program* program = bpf_object__find_program_by_name(object_, name.c_str());
    return program ? bpf_program__fd(program) : -1;
}

uint64_t KernelObject::missed_by(const std::string& program) const {
    bpf_prog_info info{};
    uint32_t size = sizeof info;
    int fd = program_fd(program);
    // 5.12, "bpf: Count the number of times recursion was prevented"
    return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.recursion_misses : 0;
}

Result<uint32_t> KernelObject::run(const std::string& program, std::initializer_list<uint64_t> words) const {
    uint64_t context[8] = {};
    std::copy(words.begin(), words.end(), context);
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.ctx_in = context;
    options.ctx_size_in = sizeof context;
    if (int failed = bpf_prog_test_run_opts(program_fd(program), &options))
        return errno_error(fmt::format("cannot run the program {}", program), -failed);
    return options.retval;
}

Result<std::unique_ptr<KernelObject>> KernelObject::load(const plan::Plan& plan, const plan::LinkKinds& links,
                                                         const ProcessNumbers& numbers, const SharedMaps* shared) {
    std::string log;
    libbpf_log = &log;
    struct Restore {
        ~Restore() { libbpf_log = nullptr; }
    } restore;
    libbpf_set_print(keep_log);

    if (Result<void> checked = check_object_file(plan.bpf_object); !checked)
        return std::move(checked).error();
    std::unique_ptr<KernelObject> out(new KernelObject());
    out->numbers_ = &numbers;
    bpf_object_open_opts open_options{};
    open_options.sz = sizeof open_options;
    open_options.object_name = "sonde";
    auto open = [&] { return bpf_object__open_mem(plan.bpf_object.data(), plan.bpf_object.size(), &open_options); };
    out->object_ = open();
    std::string types_path;
    std::optional<Fd> types = out->object_ ? needed_kernel_types(bpf_object__btf(out->object_)) : std::nullopt;
    if (types) {
        types_path = fmt::format("/proc/self/fd/{}", types->get());
        open_options.btf_custom_path = types_path.c_str();
        bpf_object__close(out->object_);
        out->object_ = open();
    }
    if (!out->object_)
        return Error(fmt::format("internal: libbpf cannot read the object: {}", log));
    if (Result<void> checked = check_object(plan, out->object_); !checked)
        return std::move(checked).error();
    const char* log_file = std::getenv("SONDE_VERIFIER_LOG");
    for (const plan::Probe& probe : plan.probes)
        if (plan::mechanism_of(probe, links) == plan::Mechanism::KprobeMulti)
            if (bpf_program* many = bpf_object__find_program_by_name(out->object_, probe.symbol.c_str()))
                bpf_program__set_expected_attach_type(many, kprobe_multi_type);
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, out->object_) {
        if (links.uprobe_multi && std::string_view(bpf_program__section_name(program)).starts_with("uprobe"))
            bpf_program__set_expected_attach_type(program, uprobe_multi_type);
        if (log_file)
            bpf_program__set_log_level(program, 2 | 4 /* what it saw, and how many steps the check took */);
    }
    for (const plan::Probe& probe : plan.probes) {
        if (!probe.is_session)
            continue;
        bpf_program* both = bpf_object__find_program_by_name(out->object_, probe.symbol.c_str());
        if (!both)
            return Error(fmt::format("internal: the object has no program {}", probe.symbol));
        bpf_program__set_expected_attach_type(both, static_cast<enum bpf_attach_type>(trace_uprobe_session));
        if (Result<void> aimed = aim_session_calls(both); !aimed)
            return std::move(aimed).error();
    }
    if (Result<void> aimed = aim_trampolines(plan, out->object_); !aimed)
        return std::move(aimed).error();
    size_counters(plan, out->object_);
    size_flight_rings(out->object_);
    shrink_group_maps(out->object_);
    if (bpf_map* map = bpf_object__find_map_by_name(out->object_, SONDE_NUMBERING_SECTION))
        if (int failed = bpf_map__set_initial_value(map, &numbers.numbering(), sizeof numbers.numbering()))
            return errno_error("internal: the object's numbering cannot be set", -failed);
    if (Result<void> reused = shared ? shared->reuse(plan, out->object_) : Result<void>(); !reused)
        return std::move(reused).error();
    bpf_map* map = nullptr;
    // libbpf makes .bss mappable only if BTF describes its variables, so set the flag here.
    bpf_object__for_each_map(map, out->object_) {
        if (is_data_map(map) || is_target_map(map))
            bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_MMAPABLE);
    }
    // A map of maps needs an example of its inner maps. runtime/symbols/symbols.cc creates the real ones.
    Fd table;
    if (bpf_map* files = bpf_object__find_map_by_name(out->object_, plan::maps::files)) {
        bpf_map_create_opts options{};
        options.sz = sizeof options;
        options.map_flags = SONDE_TABLE_FLAGS;
        table.reset(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_table", 4, 8, 1, &options));
        if (!table || bpf_map__set_inner_map_fd(files, table.get()) != 0)
            return errno == EPERM ? Error(explain_permission(), EPERM)
                                  : errno_error("cannot create tables for stacks and symbols", errno);
    }
    if (!has_files_to_load(out->object_))
        return too_few_files();
    if (int failed = bpf_object__load(out->object_)) {
        int err = -failed;
        if (err == EMFILE)
            return too_few_files();
        if (err == EPERM || err == EACCES) {
            // EACCES may also come from the verifier, and then the log has the reason.
            if (!missing_capabilities().empty() || log.find("BEGIN PROG LOAD LOG") == std::string::npos)
                return Error(explain_permission(), err);
        }
        size_t begin = log.find("BEGIN PROG LOAD LOG"), end = log.find("END PROG LOAD LOG");
        if (begin != std::string::npos) {
            if (log_file)
                static_cast<void>(write_file(log_file, log));
            begin = log.find('\n', begin);
            if (err == kernel_cannot_compile)
                return Error("the kernel's JIT compiler fails on a handler that the verifier has accepted", err);
            return Error(explain_verifier_log(
                             log.substr(begin + 1, end == std::string::npos ? std::string::npos : end - begin - 1)),
                         err);
        }
        // libbpf returns ESRCH itself if it needs the kernel's types and cannot find them.
        if (err == ESRCH && access("/sys/kernel/btf/vmlinux", R_OK) != 0)
            return Error(fmt::format("the kernel's types are not available, and the handlers read its structures: {}",
                                     why_no_kernel_types()),
                         err);
        return Error(fmt::format("the kernel does not load the handlers: {} ({})", std::strerror(err),
                                 log.substr(0, log.find('\n'))),
                     err);
    }
    if (log_file)
        static_cast<void>(write_file(log_file, log));
    bpf_object__for_each_map(map, out->object_) {
        // Map the memory here: libbpf's own mapping is shared with the kernel only if the program uses a skeleton.
        if (is_target_map(map)) {
            out->targets_ = static_cast<uint64_t*>(out->map_memory(map, plan::most_processes / 8));
            if (!out->targets_)
                return errno_error("cannot map the target's processes", errno);
        }
        // `sonde_data` is the only variable in .bss.
        if (is_data_map(map) && plan.data_size <= bpf_map__value_size(map)) {
            out->data_ = static_cast<char*>(shared ? shared->map_data(bpf_map__fd(map), bpf_map__value_size(map))
                                                   : out->map_memory(map, bpf_map__value_size(map)));
            if (!out->data_)
                return errno_error("cannot map the script's globals", errno);
            if (shared)
                out->mapped_.emplace_back(out->data_, plan::shared_end);
        }
    }
    if (!out->data_)
        return Error("internal: the object has no data area");
    if (bpf_map* pythons = bpf_object__find_map_by_name(out->object_, plan::maps::python))
        for (uint32_t i = 0; i < plan.pythons.size(); i++)
            if (bpf_map_update_elem(bpf_map__fd(pythons), &i, &plan.pythons[i], BPF_ANY) != 0)
                return errno_error("cannot tell the handlers about the interpreters of Python", errno);
    return out;
}

} // namespace sonde
