// Stacks with weights, as text for other programs ("folded") and as a flame graph.
//
// A flame graph has a box for each function in each context. The width of a box is the weight of all stacks through it.
// A box stands on its caller, and neighbors are sorted by name. The picture is a single SVG file, alone or in an HTML
// page. It needs no other files and no network: a click zooms, and a search highlights functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

enum class FrameKind : uint8_t {
    Label,       // not a function: another component of the array's key
    User,        // a function of a program or library
    Inlined,     // a function that the compiler has inlined
    Kernel,      // a function of the kernel or of a module
    Interpreted, // a function that an interpreter executes
    Unknown,     // in no file, for example the code of a JIT compiler
};

// A frame of a stack, as it appears in the picture.
struct FlameFrame {
    std::string name;
    FrameKind kind = FrameKind::User;
    bool operator==(const FlameFrame&) const = default;
};

struct FlameStack {
    std::vector<FlameFrame> frames; // the outermost first
    uint64_t weight = 0;
};

// Returns one line for each distinct stack, sorted: "main;work;leaf 42".
std::string folded_text(const std::vector<FlameStack>& stacks);

// Weights of stacks, by their names joined with `;`. parse_folded() reads the text of folded_text(); an error message
// contains the line.
using FoldedWeights = std::map<std::string, uint64_t>;
Result<FoldedWeights> parse_folded(std::string_view text);

struct FlameOptions {
    std::string title;
    std::string unit;                    // of the weights, for the tooltip of a box; empty: none
    const FoldedWeights* base = nullptr; // colors show which functions have grown (red) or shrunk (blue) since then
};
// Returns the picture as an SVG file.
std::string flame_svg(const std::vector<FlameStack>& stacks, const FlameOptions& options);
// Returns the same picture in an HTML page.
std::string flame_html(const std::vector<FlameStack>& stacks, const FlameOptions& options);

} // namespace sonde
