// Posts one body by HTTP and waits for the answer, in the caller's thread: what a session leaves at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "runtime/sinks/http/poster.h"

namespace sonde {

// A server that is away, or says that it has no time, is tried again after 1 second, 2, 4 and so on, for `patience_ns`
// together, and not if `hurry`. Errors: why it did not take it.
Result<void> post_patiently(const HttpTarget& target, const HttpSettings& settings, const char* type,
                            const std::string& body, int64_t patience_ns, const std::function<bool()>& hurry);

} // namespace sonde
