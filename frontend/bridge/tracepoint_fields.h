// The fields of tracepoints' records, as bpftrace and tracefs name them, by what our tracepoints have: the arguments of
// their prototypes, from which the kernel fills the record.
#pragma once

#include <string_view>

namespace sonde::bridge {

// `is_text`: it is a string.
struct TracepointField {
    std::string_view tracepoint, field, ours;
    bool is_text;
};
// Null: no row has it; mostly the argument has the field's own name then.
const TracepointField* find_field(std::string_view tracepoint, std::string_view field);

} // namespace sonde::bridge
