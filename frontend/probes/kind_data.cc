// Resolves kernel.data(A).write and process("P").data("symbol").rw: watchpoints, that is accesses to memory, found by
// the processor's debug registers.
//
// The processor has four debug registers (DR0 to DR3). Each watches 1, 2, 4 or 8 bytes at an address that is a multiple
// of this length. Sources: perf_event_open(2), PERF_TYPE_BREAKPOINT; Intel SDM, volume 3, chapter "Debug, Branch
// Profile, TSC, and Intel Resource Director Technology Features".
// The processor reports a watched access after the instruction has finished, so the handler of a write sees the new
// value.
#include <elf.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/elf_file.h"
#include "base/glob.h"
#include "base/kallsyms.h"
#include "base/suggest.h"
#include "frontend/probes/kind_kernel.h"
#include "frontend/probes/kind_process.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

struct Request {
    const PointComponent* place = nullptr; // the component data(...)
    const PointComponent* length = nullptr;
    std::string name; // the variable's name; for a pattern, one of the matches
    plan::WatchSpec spec;
};

// Reads the components after `at`, the index of "data". Returns nullopt after reporting an error.
std::optional<Request> read_request(Resolving& resolving, size_t at) {
    Request out;
    out.place = resolving.at(at);
    if (out.place->arg == PointComponent::None) {
        expect_argument(resolving, *out.place, PointComponent::Number);
        return std::nullopt;
    }
    size_t next = at + 1;
    if (const PointComponent* length = resolving.at(next); length && length->name == "length") {
        if (!expect_argument(resolving, *length, PointComponent::Number))
            return std::nullopt;
        out.length = length;
        next++;
    }
    const PointComponent* access = resolving.at(next);
    if (!access || (access->name != "write" && access->name != "rw")) {
        report_component(resolving, next,
                         out.length ? std::vector<std::string>{"write", "rw"}
                                    : std::vector<std::string>{"write", "rw", "length"});
        return std::nullopt;
    }
    if (!expect_argument(resolving, *access, PointComponent::None) || !expect_end(resolving, next + 1))
        return std::nullopt;
    out.name = out.place->text;
    out.spec.reads = access->name == "rw";
    out.spec.address = static_cast<uint64_t>(out.place->number);
    return out;
}

// Returns the largest length that one debug register can watch at the beginning of an object. An `int` at 0x1004 gives
// 4. A structure of 12 bytes at 0x1004 also gives 4, because 8 bytes can be watched only at a multiple of 8.
uint32_t natural_length(uint64_t size, uint64_t address) {
    for (uint32_t length : {8u, 4u, 2u})
        if (size >= length && address % length == 0)
            return length;
    return 1;
}

// Reports why a point cannot be probed. In a listing this is only a warning, because the listing shows the point
// nevertheless.
DiagBuilder refuse(Resolving& resolving, DiagId id, Range range, const std::string& message) {
    return resolving.diags.report(resolving.env.listing ? DiagId::OnlyListed : id, range, message);
}

// Sets the length to the requested one, rounded up to a length that the processor supports: `.length(3)` watches 4
// bytes. The handler then also sees accesses of the additional bytes. Returns false after an error, except in listings.
bool set_length(Resolving& resolving, Request& request, uint64_t object_size) {
    plan::WatchSpec& spec = request.spec;
    spec.length = natural_length(object_size, spec.address);
    if (request.length) {
        int64_t wanted = request.length->number;
        if (wanted < 1 || wanted > 8) {
            refuse(resolving, DiagId::BadNumber, request.length->arg_range,
                   "`length` must be from 1 to 8, the most that a debug register can watch");
            return resolving.env.listing;
        }
        spec.length = wanted <= 2 ? static_cast<uint32_t>(wanted) : wanted <= 4 ? 4 : 8;
    }
    if (spec.address % spec.length == 0)
        return true;
    refuse(resolving, DiagId::BadNumber, request.length ? request.length->arg_range : request.place->arg_range,
           fmt::format("sonde can watch {0} bytes only at multiples of {1}, and {2:#x} is not a multiple", spec.length,
                       spec.length, spec.address))
        .help(fmt::format("watch {} byte{} there", natural_length(8, spec.address),
                          natural_length(8, spec.address) == 1 ? "" : "s"));
    return resolving.env.listing;
}

// Results of looking up a variable in the kernel's symbols.
struct KernelSymbols {
    std::optional<uint64_t> address;
    std::vector<std::string> names; // all variables
    bool has_all = false;           // the list has all variables, not only the ends of sections (CONFIG_KALLSYMS_ALL)
    bool hidden = true;             // the list shows all addresses as 0
};
KernelSymbols find_variable(const ProbeEnvironment& env, const std::string& wanted) {
    KernelSymbols out;
    if (env.other_kernel) { // only the other kernel knows the address
        out.address = 0;
        out.hidden = false;
        return out;
    }
    const Result<std::string>& list = env.kernel_symbols();
    const KernelData data = find_kernel_data(lines(list));
    for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);) {
        // A small number is an offset in the per-CPU memory, not an address.
        if (!(symbol->is_variable() || data.has(*symbol)) || !symbol->module.empty() ||
            static_cast<int64_t>(symbol->address) > 0)
            continue;
        out.has_all = out.has_all || symbol->name == "jiffies_64"; // exists in every kernel
        out.hidden = out.hidden && symbol->address == 0;
        if (symbol->name == wanted && !out.address)
            out.address = symbol->address;
        out.names.emplace_back(symbol->name);
    }
    return out;
}

// A variable of a program or library, found in the ELF symbols, or else in the debug information.
struct Object {
    uint64_t address, size;
};
std::optional<Object> find_object(DwarfModule& module, const std::string& wanted, std::vector<std::string>& names) {
    std::optional<Object> out;
    if (Result<ElfFile> file = ElfFile::open_any_machine(module.path())) {
        file->for_each_symbol([&](const ElfSymbol& symbol) {
            if (symbol.type != STT_OBJECT || symbol.section == SHN_UNDEF)
                return true;
            names.emplace_back(symbol.name);
            if (symbol.name == wanted)
                out = Object{symbol.address, symbol.size};
            return !out;
        });
        if (out)
            return out;
    }
    if (!module.has_debug_info())
        return out;
    for (const Variable& variable : module.globals(wanted))
        if (std::optional<Address> address = module.global_address(variable)) {
            const Type* type = strip(complete(variable.type));
            return Object{*address, type ? type->size : 0};
        }
    for (std::string& name : module.global_names())
        names.push_back(std::move(name));
    return out;
}

// Returns the variables that match a pattern, or the one with the given name.
std::vector<std::string> matching_names(DwarfModule& module, const std::string& wanted) {
    if (!has_wildcard(wanted))
        return {wanted};
    std::vector<std::string> names;
    find_object(module, "", names);
    // Most names that begin with `_` come from the compiler or the linker. The pattern `*` does not match these.
    const bool all = wanted == "*";
    std::erase_if(names,
                  [&](const std::string& name) { return !glob_match(wanted, name) || (all && name.starts_with('_')); });
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

ResolvedPoint watched(const Request& request, std::string text, bool listing) {
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Watch;
    resolved.in_kernel = true;
    resolved.point.watch = request.spec;
    const PointComponent& place = *request.place;
    text += place.arg == PointComponent::String ? fmt::format(".data({})", quoted(request.name))
                                                : fmt::format(".data({:#x})", request.spec.address);
    if (request.length)
        text += fmt::format(".length({})", listing ? request.length->number : request.spec.length);
    resolved.point.pp = fmt::format("{}.{}", text, request.spec.reads ? "rw" : "write");
    if (place.arg == PointComponent::String)
        resolved.point.symbol = request.name;
    return resolved;
}

} // namespace

// The address of a variable comes from the kernel's symbols. A saved plan may run after a reboot, when the address has
// changed, so the symbol's name is stored as well, and the session looks it up again.
std::vector<ResolvedPoint> resolve_kernel_data(Resolving& resolving) {
    if (!expect_kernel(resolving))
        return {};
    std::optional<Request> request = read_request(resolving, 1);
    if (!request)
        return {};
    request->spec.is_kernel = true;
    const PointComponent& place = *request->place;
    if (place.arg == PointComponent::String) {
        KernelSymbols symbols = find_variable(resolving.env, place.text);
        if (!symbols.address) {
            DiagBuilder report = refuse(resolving, DiagId::NoMatch, place.arg_range,
                                        fmt::format("the kernel's symbols have no variable `{}`", place.text));
            if (symbols.has_all)
                report.suggest(nearest_name(place.text, symbols.names));
            else
                report.help("pass the address; a kernel with CONFIG_KALLSYMS_ALL lists the names in /proc/kallsyms");
            if (!resolving.env.listing)
                return {};
            symbols.address = 0;
        }
        if (symbols.hidden && !resolving.env.listing) {
            resolving.diags
                .report(DiagId::BadTarget, place.arg_range,
                        fmt::format("the kernel does not show the address of `{}`", place.text))
                .help("run sonde as root, with /proc/sys/kernel/kptr_restrict below 2");
            return {};
        }
        request->spec.address = *symbols.address;
        request->spec.is_symbol = true;
    } else if (static_cast<int64_t>(request->spec.address) >= 0 && !resolving.env.listing) {
        resolving.diags
            .report(DiagId::BadTarget, place.arg_range,
                    fmt::format("{:#x} is not an address of the kernel", request->spec.address))
            .help("`process.data(ADDRESS)` watches a process' memory");
        return {};
    }
    if (!set_length(resolving, *request, 1))
        return {};
    return {watched(*request, "kernel", resolving.env.listing)};
}

// Each matching variable takes one debug register. The length follows from the variable's size, so a large variable is
// only watched at its beginning.
std::vector<ResolvedPoint> resolve_process_data(Resolving& resolving) {
    std::optional<Request> request = read_request(resolving, 1);
    if (!request)
        return {};
    const PointComponent& place = *request->place;
    std::vector<ResolvedPoint> points;
    for (const ProcessTarget& target : open_process_targets(resolving, 1)) {
        DwarfModule& module = *target.module;
        const bool named = place.arg == PointComponent::String;
        const std::vector<std::string> names =
            named ? matching_names(module, place.text) : std::vector<std::string>{""};
        for (const std::string& name : names) {
            Request one = *request;
            one.name = name;
            uint64_t size = 1;
            if (named) {
                std::vector<std::string> others;
                std::optional<Object> object = find_object(module, name, others);
                if (!object && names.size() > 1)
                    continue; // the variable is not in memory
                if (!object) {
                    resolving.diags
                        .report(DiagId::NoMatch, place.arg_range,
                                fmt::format("no variable `{}` in `{}`", name, module.path()))
                        .suggest(nearest_name(name, others));
                    return {};
                }
                one.spec.address = object->address;
                one.spec.is_relative = module.file().position_independent();
                size = object->size;
            } else if (static_cast<int64_t>(one.spec.address) < 0) {
                resolving.diags
                    .report(DiagId::BadTarget, place.arg_range,
                            fmt::format("{:#x} is not an address of a process", one.spec.address))
                    .help("`kernel.data(ADDRESS)` watches the kernel's memory");
                return {};
            }
            if (!set_length(resolving, one, size))
                return {};
            ResolvedPoint resolved = watched(one, target.text, resolving.env.listing);
            resolved.point.path = module.path();
            resolved.point.pid = target.pid;
            if (!target.pid)
                resolved.point.program = module.path();
            points.push_back(std::move(resolved));
        }
        if (names.empty())
            resolving.diags.report(DiagId::NoMatch, place.arg_range,
                                   fmt::format("no variable matches `{}` in `{}`", place.text, module.path()));
    }
    return points;
}

} // namespace sonde
