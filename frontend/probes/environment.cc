// The modules that a translation has opened, and the kernel's types.
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
        kernel_.emplace(KernelTypes::open());
    if (!*kernel_)
        return Error(kernel_->error());
    return (**kernel_).get();
}

} // namespace sonde
