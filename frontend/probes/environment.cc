// The modules that a translation has opened, and the kernel's types and debug information.
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/debug_file.h"
#include "base/fd.h"
#include "frontend/probes/probe.h"

namespace sonde {

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
        kernel_.emplace(other_kernel ? KernelTypes::open(*other_kernel) : KernelTypes::open());
    if (!*kernel_)
        return Error(kernel_->error());
    return (**kernel_).get();
}

Result<DwarfModule*> ProbeEnvironment::kernel_debug_info() {
    Result<std::string> build_id =
        other_kernel ? Result<std::string>(other_kernel->build_id) : running_kernel_build_id();
    if (!build_id)
        return std::move(build_id).error();
    utsname system{};
    uname(&system);
    const std::string release = other_kernel ? other_kernel->release : system.release;
    std::string other; // of another build
    for (const std::string& path :
         other_kernel ? other_kernel->debug_paths() : kernel_debug_paths(release, *build_id)) {
        if (build_id->empty() || access(path.c_str(), R_OK) != 0)
            continue;
        Result<DwarfModule*> opened = module(path);
        // Of another kernel, what is looked at first is its image, which may be packed.
        if (!opened && other_kernel)
            continue;
        if (!opened)
            return std::move(opened).error();
        if ((*opened)->build_id() != *build_id)
            other = path;
        else if ((*opened)->has_debug_info())
            return *opened;
    }
    if (!other.empty())
        return Error(fmt::format("`{}` is of another build of the kernel", other));
    return Error(fmt::format("that of {} is not installed", release.empty() ? other_kernel->path : release));
}

Result<std::string> ProbeEnvironment::kernel_symbols() const {
    if (other_kernel)
        return Error(fmt::format("the symbols of the kernel in `{}` are not known here", other_kernel->path));
    return read_file("/proc/kallsyms");
}

} // namespace sonde
