#include "frontend/probes/inlined_copies.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

uint64_t count_inlined_copies(ProbeEnvironment& env, const plan::Point& point) {
    bool about_calls = false;
    for (const char* suffix : {".call", ".return", ".exported"})
        about_calls = about_calls || point.pn.find(suffix) != std::string::npos;
    Result<FunctionPattern> pattern = FunctionPattern::parse(point.function);
    Result<DwarfModule*> module = env.module(point.path);
    if (!about_calls || !pattern || !module)
        return 0;
    std::vector<FunctionInstance> found = (*module)->functions(*pattern);
    return static_cast<uint64_t>(
        std::count_if(found.begin(), found.end(), [](const FunctionInstance& one) { return one.inlined; }));
}

} // namespace sonde
