// Strings that are known at compile time.
#include <sstream>

#include "frontend/hir/hir.h"

namespace sonde::hir {

bool is_point_text(const Intrinsic& intrinsic) {
    return intrinsic.facts.text != PointText::None && intrinsic.facts.text != PointText::Type;
}

const std::string& point_text(PointText text, const plan::Point& point) {
    return text == PointText::Resolved ? point.pp : text == PointText::Written ? point.pn : point.function;
}

std::vector<std::string> names_in(const ConstString& table) {
    std::vector<std::string> out;
    std::istringstream list(table.value);
    for (std::string name; std::getline(list, name, '|');)
        out.push_back(name);
    return out;
}

} // namespace sonde::hir
