// Converts errno to the form of our messages: lower case, without a period.
#include "base/result.h"

#include <cstring>

namespace sonde {

Error errno_error(const std::string& context, int err) {
    char buffer[256];
    // The GNU variant returns the text, which may be in the buffer or elsewhere.
    std::string text = strerror_r(err, buffer, sizeof buffer);
    // "No such file" -> "no such file", but "RPC ..." remains.
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && !(text[1] >= 'A' && text[1] <= 'Z'))
        text[0] = static_cast<char>(text[0] - 'A' + 'a');
    return Error(context.empty() ? text : context + ": " + text, err);
}

} // namespace sonde
