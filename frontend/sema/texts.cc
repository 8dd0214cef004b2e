// Texts that are known before they are made.
#include <sstream>

#include "frontend/sema/hir.h"

namespace sonde::hir {

bool is_point_text(const Intrinsic& intrinsic) {
    for (const char* name : {"pp", "pn", "ppfunc", "probefunc"})
        if (intrinsic.name == name)
            return true;
    return false;
}

const std::string& point_text(const std::string& intrinsic, const plan::Point& point) {
    return intrinsic == "pp" ? point.pp : intrinsic == "pn" ? point.pn : point.function;
}

std::vector<std::string> names_in(const ConstString& table) {
    std::vector<std::string> out;
    std::istringstream list(table.value);
    for (std::string name; std::getline(list, name, '|');)
        out.push_back(name);
    return out;
}

} // namespace sonde::hir
