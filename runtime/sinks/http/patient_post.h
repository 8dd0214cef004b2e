// Posts one body by HTTP and waits for the answer in the caller's thread. Used for profiles, also at the session's end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "runtime/sinks/http/poster.h"

namespace sonde {

// Posts `body` with the Content-Type `type`. If the server is not available or overloaded, tries again after 1, 2, 4
// seconds and so on. Gives up after `patience_ns` nanoseconds, or when `hurry()` returns true. Returns the reason of
// the last failure.
Result<void> post_patiently(const HttpTarget& target, const HttpSettings& settings, const char* type,
                            const std::string& body, int64_t patience_ns, const std::function<bool()>& hurry);

} // namespace sonde
