#include "frontend/points/debug_problems.h"

#include <string>

namespace sonde {

const char* debug_information_advice(bool is_go) {
    return is_go ? "build the program without `-s` and `-w` in -ldflags"
                 : "compile the program with -g, or install its debug information (the -dbgsym package)";
}

void add_debug_problems(DiagBuilder report, const DwarfModule& module) {
    for (const std::string& problem : module.debug_problems())
        report.note({}, problem);
}

} // namespace sonde
