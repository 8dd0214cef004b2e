// The modules that a translation has opened, and the kernel's types and debug information.
#include <sys/utsname.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "base/debug_file.h"
#include "base/fd.h"
#include "frontend/probes/probe.h"

namespace sonde {
namespace {

// The address that /proc/kallsyms has for a symbol of the kernel itself; nullopt if it is not there, or hidden (0).
std::optional<uint64_t> symbol_address(std::string_view name) {
    Result<std::string> text = read_file("/proc/kallsyms");
    if (!text)
        return std::nullopt;
    std::string line_end = fmt::format(" {}\n", name);
    size_t at = text->find(line_end);
    if (at == std::string::npos || at < 18)
        return std::nullopt;
    size_t begin = text->rfind('\n', at) + 1; // npos + 1 is 0
    uint64_t address = 0;
    std::from_chars(text->data() + begin, text->data() + at, address, 16);
    return address ? std::optional(address) : std::nullopt;
}

} // namespace

Result<DwarfModule*> ProbeEnvironment::module(const std::string& path) {
    auto found = modules_.find(path);
    if (found != modules_.end())
        return found->second.get();
    Result<std::unique_ptr<DwarfModule>> opened = DwarfModule::open(path);
    if (!opened)
        return std::move(opened).error();
    return modules_.emplace(path, *std::move(opened)).first->second.get();
}

Result<KernelTypes*> ProbeEnvironment::kernel() {
    if (!kernel_)
        kernel_.emplace(KernelTypes::open());
    if (!*kernel_)
        return Error(kernel_->error());
    return (**kernel_).get();
}

Result<DwarfModule*> ProbeEnvironment::kernel_debug_info() {
    Result<std::string> build_id = running_kernel_build_id();
    if (!build_id)
        return std::move(build_id).error();
    utsname system{};
    uname(&system);
    std::string other; // of another build
    for (const std::string& path : kernel_debug_paths(system.release, *build_id)) {
        if (access(path.c_str(), R_OK) != 0)
            continue;
        Result<DwarfModule*> opened = module(path);
        if (!opened)
            return std::move(opened).error();
        if ((*opened)->build_id() != *build_id)
            other = path;
        else if ((*opened)->has_debug_info())
            return *opened;
    }
    if (!other.empty())
        return Error(fmt::format("`{}` is of another build of the kernel", other));
    return Error(fmt::format("that of {} is not installed", system.release));
}

Result<uint64_t> ProbeEnvironment::kernel_bias() {
    if (kernel_bias_)
        return *kernel_bias_;
    Result<DwarfModule*> debug = kernel_debug_info();
    if (!debug)
        return std::move(debug).error();
    constexpr const char* mark = "_stext";
    std::optional<Address> linked = (*debug)->symbol_address(mark);
    std::optional<uint64_t> loaded = symbol_address(mark);
    if (!linked || !loaded)
        return Error("/proc/kallsyms does not say where the kernel was loaded (see kernel.kptr_restrict)");
    kernel_bias_ = *loaded - *linked;
    return *kernel_bias_;
}

} // namespace sonde
