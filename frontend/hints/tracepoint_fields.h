// Maps the fields of tracepoints' records, by their names in bpftrace and tracefs, to our names: the arguments of the
// tracepoints' prototypes, from which the kernel fills the record.
#pragma once

#include <string_view>

namespace sonde::hints {

// `is_text`: the field is a string.
struct TracepointField {
    std::string_view tracepoint, field, ours;
    bool is_text;
};
// The row of a field. Null if there is none; in most of these cases, the argument has the field's name.
const TracepointField* find_field(std::string_view tracepoint, std::string_view field);

} // namespace sonde::hints
