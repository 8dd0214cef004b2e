// Marks positions in the standard library in a plan's texts (plan::Site, Plan::calls). Users do not know the library's
// source, so messages name the position in their own script first.
#pragma once

namespace sonde::plan {

constexpr const char* in_library = " (library)";

} // namespace sonde::plan
