#include "runtime/sinks/pictures/flame_tree.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bars.h"
#include "base/terminal_text.h"

namespace sonde {
namespace {

constexpr size_t bar_width = 12;

// Adds the line of a node, then those of its callees, heaviest first. Callees below `least_part` share one line:
//
//     100.0% ############ all
//      75.0% #########     main
//      50.0% ######         work
//      25.0%                (others)
void add_lines(std::vector<std::string>& out, const FlameBox& box, double whole, double least_part, size_t depth) {
    const double part = static_cast<double>(box.weight) / whole;
    const std::string bar = bar_text(part, bar_width);
    out.push_back(fmt::format("{:5.1f}% {}{} {:{}}{}", part * 100, bar, std::string(bar_width - text_width(bar), ' '),
                              "", depth, box.frame.name));
    std::vector<const FlameBox*> callees;
    uint64_t small = 0;
    for (const std::unique_ptr<FlameBox>& callee : box.callees)
        if (static_cast<double>(callee->weight) / whole >= least_part)
            callees.push_back(callee.get());
        else
            small += callee->weight;
    std::ranges::stable_sort(callees, std::ranges::greater(), &FlameBox::weight);
    for (const FlameBox* callee : callees)
        add_lines(out, *callee, whole, least_part, depth + 1);
    if (small)
        out.push_back(fmt::format("{:5.1f}% {:{}} {:{}}(others)", static_cast<double>(small) / whole * 100, "",
                                  bar_width, "", depth + 1));
}

} // namespace

FlameBox& FlameBox::callee(const FlameFrame& called) {
    for (const std::unique_ptr<FlameBox>& one : callees)
        if (one->frame == called)
            return *one;
    callees.push_back(std::make_unique<FlameBox>());
    callees.back()->frame = called;
    return *callees.back();
}

void FlameBox::sort() {
    std::ranges::sort(callees, [](const auto& a, const auto& b) { return a->frame.name < b->frame.name; });
    for (const std::unique_ptr<FlameBox>& one : callees)
        one->sort();
}

size_t FlameBox::depth() const {
    size_t most = 0;
    for (const std::unique_ptr<FlameBox>& one : callees)
        most = std::max(most, one->depth());
    return most + 1;
}

// Each stack adds its weight to all nodes on its path.
FlameBox merge_stacks(const std::vector<FlameStack>& stacks) {
    FlameBox root;
    root.frame = {"all", FrameKind::Label};
    for (const FlameStack& stack : stacks) {
        FlameBox* box = &root;
        box->weight += stack.weight;
        for (const FlameFrame& frame : stack.frames) {
            box = &box->callee(frame);
            box->weight += stack.weight;
        }
    }
    root.sort();
    return root;
}

std::vector<std::string> flame_lines(const FlameBox& root, double least_part) {
    std::vector<std::string> out;
    if (root.weight == 0)
        return {"no stacks"};
    add_lines(out, root, static_cast<double>(root.weight), least_part, 0);
    return out;
}

} // namespace sonde
