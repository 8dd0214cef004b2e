// --format=csv and tsv: arrays as tables.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class ProcessNumbers;
class Symbolizer;

struct TableForm {
    const char* separator;
    std::string (*field)(const std::string& text); // returns the text as a field: quoted or escaped
};
// Separates fields by commas and quotes them (RFC 4180).
extern const TableForm csv_form;

// Returns an array as a table with a heading. A statistic has one column for each of its numbers. A stack is a list of
// function names, outermost first, separated by `;`.
std::string render_table(const TableForm& form, const plan::Plan& plan, Symbolizer& symbols,
                         const ProcessNumbers& numbers, const plan::Global& global,
                         const std::vector<ArrayElement>& elements);

} // namespace sonde
