// Opens and caches modules, header types, and the kernel's types and debug information.
//
// Opening is expensive (a large program takes seconds), and pointers to the results are kept in many places, so nothing
// is closed before the translation ends. A failure is cached only for the kernel and the system's headers; a module
// that could not be opened is tried again.
#include "frontend/points/probe_environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/debug_file.h"
#include "base/debuginfod.h"
#include "base/kallsyms.h"

namespace sonde {

Result<DwarfModule*> ProbeEnvironment::module(const std::string& path) {
    auto found = modules_.find(path);
    if (found != modules_.end())
        return found->second.get();
    Result<std::unique_ptr<DwarfModule>> opened = DwarfModule::open(path);
    if (!opened)
        return std::move(opened).error();
    if (Result<void> here = (*opened)->file().elf().runs_on(architecture->machine()); !here && !listing)
        return std::move(here).error();
    return modules_.emplace(path, *std::move(opened)).first->second.get();
}

namespace {

Error unknown_kernel(const KernelFiles& kernel) {
    return Error(fmt::format("the kernel for which to translate is not known{}{}: pass its vmlinux or vmlinuz, or a "
                             "copy of its /sys/kernel/btf/vmlinux, to -r",
                             kernel.why_no_types.empty() ? "" : ": ", kernel.why_no_types));
}

} // namespace

// The same header has other sizes in 32-bit programs, so the width is part of the key.
Result<HeaderTypes*> ProbeEnvironment::header(const std::string& name, bool is_32_bit) {
    auto found = headers_.find({name, is_32_bit});
    if (found != headers_.end())
        return found->second.get();
    Result<std::unique_ptr<HeaderTypes>> opened = HeaderTypes::open(name, is_32_bit, header_target);
    if (!opened)
        return std::move(opened).error();
    return headers_.emplace(std::pair(name, is_32_bit), *std::move(opened)).first->second.get();
}

Result<HeaderTypes*> ProbeEnvironment::system_headers() {
    if (!system_headers_)
        system_headers_.emplace(HeaderTypes::open_system(header_target));
    if (!*system_headers_)
        return Error(system_headers_->error());
    return (**system_headers_).get();
}

Result<KernelTypes*> ProbeEnvironment::kernel() {
    if (other_kernel && other_kernel->is_unknown())
        return unknown_kernel(*other_kernel);
    if (!kernel_)
        kernel_.emplace(other_kernel ? KernelTypes::open(*other_kernel) : KernelTypes::open());
    if (!*kernel_)
        return Error(kernel_->error());
    return (**kernel_).get();
}

std::vector<std::string> ProbeEnvironment::refused_debug_information() const {
    std::vector<std::string> out;
    for (const auto& [path, module] : modules_)
        if (module && !module->refused_debug_information().empty())
            out.push_back(module->refused_debug_information());
    return out;
}

DwarfModule* ProbeEnvironment::opened_module(const std::string& path) const {
    for (const auto& [name, module] : modules_)
        if (module->path() == path)
            return module.get();
    return nullptr;
}

// Opens an object file of the kernel: a module, or separate debug information.
Result<DwarfModule*> ProbeEnvironment::object(const std::string& path) {
    auto found = modules_.find(path);
    if (found != modules_.end())
        return found->second.get();
    Result<std::unique_ptr<DwarfModule>> opened = DwarfModule::open(path, true);
    if (!opened)
        return std::move(opened).error();
    return modules_.emplace(path, *std::move(opened)).first->second.get();
}

std::string ProbeEnvironment::kernel_release() const {
    if (other_kernel)
        return other_kernel->release;
    utsname system{};
    uname(&system);
    return system.release;
}

// Tries the files where distributions install it, then a debuginfod server. A file of another build is worse than none:
// its addresses and offsets would be wrong. So the build id must match.
Result<DwarfModule*> ProbeEnvironment::kernel_debug_info() {
    if (other_kernel && other_kernel->is_unknown())
        return unknown_kernel(*other_kernel);
    Result<std::string> build_id =
        other_kernel ? Result<std::string>(other_kernel->build_id) : running_kernel_build_id();
    if (!build_id)
        return std::move(build_id).error();
    const std::string release = kernel_release();
    std::string other; // a file with debug information of another build
    for (const std::string& path :
         other_kernel ? other_kernel->debug_paths() : kernel_debug_paths(release, *build_id)) {
        if (build_id->empty() || access(path.c_str(), R_OK) != 0)
            continue;
        Result<DwarfModule*> opened = module(path);
        // The first path is the other kernel's image itself; failing to open it is not an error, because it may be
        // compressed.
        if (!opened && other_kernel)
            continue;
        if (!opened)
            return std::move(opened).error();
        if ((*opened)->file().build_id() != *build_id)
            other = path;
        else if ((*opened)->has_debug_info())
            return *opened;
    }
    if (!other.empty())
        return Error(fmt::format("`{}` is from another build of the kernel", other));
    Result<std::string> downloaded =
        build_id->empty() ? Result<std::string>(Error("")) : download_debug_file(*build_id);
    if (downloaded)
        return module(*downloaded);
    return Error(fmt::format("the debug information of {} is not installed{}{}",
                             release.empty() ? other_kernel->path : release,
                             downloaded.error().message.empty() ? "" : "; ", downloaded.error().message));
}

// The same search for a module. Its debug information is an object file, which is not linked.
Result<DwarfModule*> ProbeEnvironment::module_debug_info(const std::string& name) {
    Result<std::string> build_id = other_kernel ? other_kernel->module_build_id(name) : running_module_build_id(name);
    if (!build_id)
        return std::move(build_id).error();
    const std::string release = kernel_release();
    std::vector<std::string> roots = {""};
    if (other_kernel && !other_kernel->root.empty())
        roots.insert(roots.begin(), other_kernel->root);
    std::string other;
    for (const std::string& root : roots)
        for (const std::string& path : find_module_debug_files(root, release, name, *build_id)) {
            Result<DwarfModule*> opened = object(path);
            if (!opened)
                return std::move(opened).error();
            if ((*opened)->file().build_id() != *build_id)
                other = path;
            else if ((*opened)->has_debug_info())
                return *opened;
        }
    if (!other.empty())
        return Error(fmt::format("`{}` is from another build of the module", other));
    Result<std::string> downloaded = download_debug_file(*build_id);
    if (downloaded)
        return object(*downloaded);
    return Error(fmt::format("the debug information of the module `{}` of {} is not installed{}{}", name, release,
                             downloaded.error().message.empty() ? "" : "; ", downloaded.error().message));
}

const Result<std::string>& ProbeEnvironment::kernel_symbols() const {
    if (!symbols_ && other_kernel)
        symbols_ =
            Error(other_kernel->is_unknown()
                      ? "sonde does not know the symbols of the kernel for which it translates"
                      : fmt::format("sonde does not know the symbols of the kernel in `{}`", other_kernel->path));
    else if (!symbols_)
        symbols_ = read_kallsyms();
    return *symbols_;
}

} // namespace sonde
