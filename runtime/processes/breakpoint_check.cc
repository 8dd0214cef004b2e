#include "runtime/processes/breakpoint_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/processes/code_memory.h"

namespace sonde {

BreakpointChecker::BreakpointChecker(const plan::Plan& plan, const ProbedFiles& files) {
    for (const plan::ProbedFile& file : plan.files)
        if (const auto numbers = numbers_of(files.fd(file.path))) {
            paths_[*numbers] = file.path;
            inodes_.insert(numbers->second);
        }
}

BreakpointCheck BreakpointChecker::check(int64_t process, const ArmedPlaces& armed, uint64_t from, uint64_t to) const {
    BreakpointCheck out;
    bool hidden = false;
    const std::vector<ProcessMapping> mappings = read_maps_of_files(process, inodes_, hidden);
    if (mappings.empty())
        return out;
    const Fd memory(open(fmt::format("/proc/{}/mem", process).c_str(), O_RDONLY | O_CLOEXEC));
    for (const ProcessMapping& mapping : mappings) {
        const auto path = paths_.find({mapping.device, mapping.inode});
        const auto places = path == paths_.end() ? armed.end() : armed.find(path->second);
        if (places == armed.end() || mapping.end <= from || mapping.start >= to)
            continue;
        out.maps_files = true;
        if (!mapping.executable)
            continue;
        const uint64_t end = mapping.offset + (mapping.end - mapping.start);
        for (auto at = places->second.lower_bound(mapping.offset); at != places->second.end() && *at < end; ++at) {
            const uint64_t address = mapping.start + (*at - mapping.offset);
            if (address < from || address >= to)
                continue;
            if (mapping.shared) {
                out.unprobed = UnprobedMapping{path->second, true};
                break;
            }
            std::string found(kernels_call_length, '\0');
            const ssize_t got =
                memory ? pread(memory.get(), found.data(), found.size(), static_cast<off_t>(address)) : -1;
            if (got < 1)
                continue;
            found.resize(static_cast<size_t>(got));
            if (is_breakpoint(found) || is_call_of_kernel(mappings, found, address))
                continue;
            if (mapping.writable)
                out.unprobed = UnprobedMapping{path->second, false};
            else
                out.lost[path->second].insert(*at);
        }
    }
    return out;
}

} // namespace sonde
