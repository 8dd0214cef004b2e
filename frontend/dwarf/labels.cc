#include "frontend/dwarf/labels.h"

#include <algorithm>

#include <dwarf.h>

#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/program_file.h"

namespace sonde {
namespace {

void add_labels(const ProgramFile& file, Dwarf_Die& scope, int depth, std::vector<Label>& labels) {
    for_each_child(scope, [&](Dwarf_Die& child) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_lexical_block && depth < max_die_depth)
            add_labels(file, child, depth + 1, labels);
        const char* name = tag == DW_TAG_label ? string_attribute(child, DW_AT_name) : nullptr;
        Dwarf_Addr address = 0;
        if (!name || dwarf_lowpc(&child, &address) != 0 || !file.is_executable(address))
            return true;
        Label label{name, address, declaration_file(child), 0};
        if (dwarf_decl_line(&child, &label.line) != 0)
            label.line = 0;
        labels.push_back(std::move(label));
        return true;
    });
}

} // namespace

std::vector<Label> labels_in(const ProgramFile& file, DebugFiles& debug, const FunctionInstance& function) {
    std::vector<Label> labels;
    Dwarf_Die die;
    if (function.has_debug_info && debug.unpack(function.die, &die))
        add_labels(file, die, 0, labels);
    std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.address < b.address; });
    return labels;
}

} // namespace sonde
