// Where a variable is over all of a function's addresses: its location list, cut to the function's own ranges.
#include <algorithm>

#include <dwarf.h>

#include "frontend/dwarf/reader.h"

namespace sonde {
namespace {

constexpr size_t max_ranges = 4096;

// Addresses at which the location's description changes, among [low, high).
void add_borders(Dwarf_Attribute& attribute, Address low, Address high, std::vector<Address>& borders) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    ptrdiff_t offset = 0;
    while (borders.size() < max_ranges &&
           (offset = dwarf_getlocations(&attribute, offset, &base, &begin, &end, &ops, &length)) > 0)
        for (Address border : {begin, end})
            if (border > low && border < high)
                borders.push_back(border);
}

} // namespace

std::vector<LocationRange> DwarfReader::location_ranges(const Variable& variable, const FunctionInstance& function) {
    std::vector<LocationRange> out;
    Dwarf_Die die, function_die;
    FunctionRef ref = units_.find_function(function.die);
    if (!ref || !debug_.unpack(variable.die, &die) || !die_of(ref, &function_die))
        return out;
    Dwarf_Attribute attribute;
    bool listed = dwarf_attr_integrate(&die, DW_AT_location, &attribute) != nullptr;
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t offset = 0;
    while (out.size() < max_ranges && (offset = dwarf_ranges(&function_die, offset, &base, &low, &high)) > 0) {
        if (low >= high)
            continue;
        std::vector<Address> borders = {low, high};
        if (listed)
            add_borders(attribute, low, high, borders);
        std::sort(borders.begin(), borders.end());
        borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
        for (size_t i = 0; i + 1 < borders.size(); i++)
            out.push_back({borders[i], borders[i + 1], locate(variable, borders[i]),
                           statements_.describe_lines(ref, {{borders[i], borders[i + 1]}})});
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.low < b.low; });
    return out;
}

} // namespace sonde
