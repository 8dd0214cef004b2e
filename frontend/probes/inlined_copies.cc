// A probe of a small function may have no hits although the function's code runs all the time:
//
//     int price(int n) { return n * 3; }                   // -O2 copies the body into each caller
//     probe process("shop").function("price").return {}    // is attached to the function itself, which nothing calls
//
// A session reports such points at its end. It knows only the plan, so this file searches the function again, by the
// name in the plan.
#include "frontend/probes/inlined_copies.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

uint64_t count_inlined_copies(ProbeEnvironment& env, const plan::Point& point) {
    bool about_calls = false;
    // Components after the function's name, not parts of longer ones such as `.callees`.
    const std::string components = point.pn.substr(std::min(point.pn.rfind('"'), point.pn.size())) + ".";
    for (const char* component : {".call.", ".return.", ".exported."})
        about_calls = about_calls || components.find(component) != std::string::npos;
    Result<FunctionPattern> pattern = FunctionPattern::parse(point.function);
    Result<DwarfModule*> module = env.module(point.path);
    if (!about_calls || !pattern || !module)
        return 0;
    std::vector<FunctionInstance> found = (*module)->functions(*pattern);
    return static_cast<uint64_t>(
        std::count_if(found.begin(), found.end(), [](const FunctionInstance& one) { return one.inlined; }));
}

} // namespace sonde
