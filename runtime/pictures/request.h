// Which pictures a session is asked for, as the command line has them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

struct PictureRequest {
    enum Kind : uint8_t { Folded, Flame } kind = Folded;
    std::string array; // empty: the only one whose key has a stack
    std::string file;  // Flame: .svg or .html
};

// `[ARRAY=]FILE`, as the options --folded and --flame have it. Errors: no file, or one of no kind of picture.
Result<PictureRequest> parse_picture(PictureRequest::Kind kind, const std::string& text);

} // namespace sonde
