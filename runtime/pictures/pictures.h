// The pictures that a session leaves: which arrays they are made of, and where they go.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/host_arrays.h"
#include "runtime/plan.h"

namespace sonde {

class ProcessNumbers;
class Symbols;

struct PictureRequest {
    enum Kind : uint8_t { Folded, Flame } kind = Folded;
    std::string array; // empty: the only one whose key has a stack
    std::string file;  // Flame: .svg or .html
};

// `[ARRAY=]FILE`, as the options --folded and --flame have it.
Result<PictureRequest> parse_picture(PictureRequest::Kind kind, const std::string& text);

// The global that the picture is made of, by its index. Errors say which arrays there are.
Result<size_t> find_pictured(const plan::Plan& plan, const PictureRequest& request);

// Makes the file. `against`: the path of a folded file to compare with; empty: none.
Result<void> draw_picture(const plan::Plan& plan, Symbols& symbols, const ProcessNumbers& numbers, size_t global,
                          const std::vector<ArrayElement>& elements, const PictureRequest& request,
                          const std::string& against);

} // namespace sonde
