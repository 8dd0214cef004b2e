// How the places of errors are marked in a plan's texts (plan::Site, Plan::calls) when they are in the library, where
// the user did not look: a session tells the script's own line first.
#pragma once

namespace sonde::plan {

constexpr const char* in_library = " (library)";

} // namespace sonde::plan
