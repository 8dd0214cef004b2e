// Stacks with a weight as text for other programs (folded) and as a picture (a flame graph).
//
// A flame graph has a box for each function in each context: its width is the weight of the stacks that go through it,
// it stands on its caller, and neighbours are in alphabetical order. The picture is one SVG file, alone or in an HTML
// page, that needs nothing else: a click zooms, a search marks, and both work without a network.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

enum class FrameKind : uint8_t {
    Label,   // no function: what else the key of an array has
    User,    // a function of a program or library
    Inlined, // one that the compiler has inlined there
    Kernel,  // a function of the kernel or of a module
    Unknown, // in no file: what a just-in-time compiler made, with its name where that is known
};

struct FlameFrame {
    std::string name;
    FrameKind kind = FrameKind::User;
    bool operator==(const FlameFrame&) const = default;
};

struct FlameStack {
    std::vector<FlameFrame> frames; // the outermost first
    uint64_t weight = 0;
};

// A line for each different stack, sorted: "main;work;leaf 42".
std::string folded_text(const std::vector<FlameStack>& stacks);

// The weight of each stack, by its names with `;` between them. Errors name the line.
using FoldedWeights = std::map<std::string, uint64_t>;
Result<FoldedWeights> parse_folded(std::string_view text);

struct FlameOptions {
    std::string title;
    std::string unit;                    // of the weights, for what a box says when it is pointed to; empty: none
    const FoldedWeights* base = nullptr; // colours tell what became more (red) or less (blue) since then
};
// The picture as an SVG file.
std::string flame_svg(const std::vector<FlameStack>& stacks, const FlameOptions& options);
// The same in a page.
std::string flame_html(const std::vector<FlameStack>& stacks, const FlameOptions& options);

} // namespace sonde
