#include "runtime/sinks/pictures/flame.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include <fmt/format.h>

#include "runtime/sinks/pictures/flame_script.h"
#include "runtime/sinks/pictures/flame_tree.h"
#include "runtime/sinks/pictures/page.h"
#include "runtime/sinks/pictures/xml.h"
#include "runtime/symbols/frames.h"

namespace sonde {
namespace {

constexpr double page_width = 1200, row_height = 17, head = 44, foot = 26;
constexpr double letter_width = 7.3; // pixels, of the font below
constexpr double least_width = 0.1;  // pixels; narrower boxes are not drawn

// The kind of a frame selects the hue, its name the shade.
std::string color_of(const FlameFrame& frame) {
    const size_t shade = shade_of(frame.name);
    const auto some = [&](size_t base, size_t span) { return base + shade % span; };
    switch (frame.kind) {
    case FrameKind::Label:
        return fmt::format("#{0:02x}{0:02x}{0:02x}", some(200, 30));
    case FrameKind::User:
        return fmt::format("#{:02x}{:02x}{:02x}", 240, some(120, 90), some(70, 30));
    case FrameKind::Inlined:
        return fmt::format("#{:02x}{:02x}{:02x}", some(225, 20), some(195, 35), 80);
    case FrameKind::Kernel:
        return fmt::format("#{:02x}{:02x}{:02x}", some(90, 40), some(150, 50), 225);
    case FrameKind::Interpreted:
        return fmt::format("#{:02x}{:02x}{:02x}", some(200, 40), some(130, 40), some(205, 30));
    case FrameKind::Unknown:
        return fmt::format("#{:02x}{:02x}{:02x}", some(80, 50), 200, some(120, 50));
    }
    return "#cccccc";
}

// Red for growth and blue for shrinkage. A change by a quarter of the total has full strength.
std::string difference_color(const FlameBox& box, double whole) {
    const double change = (static_cast<double>(box.weight) - box.before) / whole;
    const double strength = std::min(1.0, std::abs(change) * 4);
    const auto other = static_cast<unsigned>(245 - 165 * strength);
    return change >= 0 ? fmt::format("#{:02x}{:02x}{:02x}", 245u, other, other)
                       : fmt::format("#{:02x}{:02x}{:02x}", other, other, 245u);
}

// Draws a flame graph. The script in the file (flame_script.h) reads positions and names from data attributes.
class Drawing {
  public:
    Drawing(const std::vector<FlameStack>& stacks, const FlameOptions& options)
        : options_(options), root_(merge_stacks(stacks)) {
        if (options.base)
            compare(*options.base);
    }

    std::string svg() {
        const double height = head + row_height * static_cast<double>(root_.depth()) + foot;
        bottom_ = height - foot;
        out_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" data-width=\"{0}\" width=\"{0}\" "
            "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"'DejaVu Sans Mono', monospace\" font-size=\"12\">\n"
            "<style>.flame g.f {{ cursor: pointer; }} .flame text {{ pointer-events: none; }} "
            ".flame .search, .flame .reset {{ pointer-events: auto; cursor: pointer; }}</style>\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"#fffdf7\"/>\n"
            "<text x=\"{2}\" y=\"20\" text-anchor=\"middle\" font-size=\"15\">{3}</text>\n"
            "<text class=\"search\" x=\"{4}\" y=\"20\" text-anchor=\"end\" fill=\"#666\">search</text>\n"
            "<text class=\"reset\" x=\"10\" y=\"20\" fill=\"#666\">reset</text>\n"
            "<text class=\"info\" x=\"10\" y=\"{5}\"> </text>\n"
            "<text class=\"found\" x=\"{4}\" y=\"{5}\" text-anchor=\"end\"> </text>\n",
            page_width, height, page_width / 2, xml_escaped(options_.title), page_width - 10, height - 8);
        if (root_.weight)
            draw(root_, 0, 0);
        else
            out_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no stacks</text>\n", page_width / 2,
                                bottom_ - 5);
        out_ += svg_script(flame_script) + "</svg>\n";
        return std::move(out_);
    }

  private:
    // Fills in the earlier weights. Both profiles are scaled to the same total, so the comparison shows shares, not
    // absolute values. For the line `main;work 42` of the earlier profile, 42 (scaled) is added to the boxes `all`,
    // `main` and `work`. A function that exists only in the earlier profile has no box, so its share shows only in its
    // callers.
    void compare(const FoldedWeights& base) {
        uint64_t sum = 0;
        for (const auto& [stack, weight] : base)
            sum += weight;
        const double scale = sum ? static_cast<double>(root_.weight) / static_cast<double>(sum) : 0;
        for (const auto& [stack, weight] : base) {
            FlameBox* box = &root_;
            box->before += static_cast<double>(weight) * scale;
            for (size_t at = 0; box && at <= stack.size();) {
                const size_t end = std::min(stack.find(';', at), stack.size());
                const std::string name = stack.substr(at, end - at);
                const auto callee = std::find_if(box->callees.begin(), box->callees.end(),
                                                 [&](const auto& one) { return folded({one->frame.name}) == name; });
                box = callee == box->callees.end() ? nullptr : callee->get();
                if (box)
                    box->before += static_cast<double>(weight) * scale;
                at = end + 1;
            }
        }
    }

    // Draws a box and its callees. `before`: the weight of all boxes to the left. `depth`: its row, counted from the
    // bottom.
    void draw(const FlameBox& box, uint64_t before, size_t depth) {
        const auto whole = static_cast<double>(root_.weight);
        const double x = static_cast<double>(before) / whole, share = static_cast<double>(box.weight) / whole;
        const double width = share * page_width;
        if (width < least_width)
            return;
        const double y = bottom_ - row_height * static_cast<double>(depth + 1);
        const std::string& name = box.frame.name;
        const std::string label = fitted(name, width - 6, letter_width);
        std::string about = fmt::format("{} ({}{}{}, {:.2f}%)", name, box.weight, options_.unit.empty() ? "" : " ",
                                        options_.unit, share * 100);
        if (options_.base)
            about += fmt::format(", before {:.2f}%", box.before / whole * 100);
        out_ += fmt::format("<g class=\"f\" data-x=\"{:.9f}\" data-w=\"{:.9f}\" data-d=\"{}\" data-n=\"{}\">"
                            "<title>{}</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" "
                            "fill=\"{}\" rx=\"1\"/><text x=\"{:.2f}\" y=\"{:.1f}\">{}</text></g>\n",
                            x, share, depth, xml_escaped(name), xml_escaped(about), x * page_width, y,
                            std::max(width - 0.5, least_width), row_height - 1,
                            options_.base ? difference_color(box, whole) : color_of(box.frame), x * page_width + 3,
                            y + 12, xml_escaped(label));
        uint64_t at = before;
        for (const std::unique_ptr<FlameBox>& callee : box.callees) {
            draw(*callee, at, depth + 1);
            at += callee->weight;
        }
    }

    const FlameOptions& options_;
    FlameBox root_;
    double bottom_ = 0;
    std::string out_;
};

} // namespace

std::string folded_text(const std::vector<FlameStack>& stacks) {
    FoldedWeights weights;
    for (const FlameStack& stack : stacks) {
        std::vector<std::string> names;
        for (const FlameFrame& frame : stack.frames)
            names.push_back(frame.name);
        weights[folded(names)] += stack.weight;
    }
    std::string out;
    for (const auto& [names, weight] : weights)
        out += fmt::format("{} {}\n", names, weight);
    return out;
}

// The weight follows the last space of a line, since names may contain spaces.
Result<FoldedWeights> parse_folded(std::string_view text) {
    FoldedWeights out;
    for (size_t number = 1; !text.empty(); number++) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.empty())
            continue;
        const size_t space = line.rfind(' ');
        uint64_t weight = 0;
        const char* const end = line.data() + line.size();
        // An empty name before the space is valid: samples without a stack.
        if (space == std::string_view::npos || std::from_chars(line.data() + space + 1, end, weight).ptr != end ||
            space + 1 == line.size())
            return Error(fmt::format("line {} is not a stack with a weight, as `main;work 42`: {:.60}", number, line));
        out[std::string(line.substr(0, space))] += weight;
    }
    return out;
}

std::string flame_svg(const std::vector<FlameStack>& stacks, const FlameOptions& options) {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + Drawing(stacks, options).svg();
}

std::string flame_html(const std::vector<FlameStack>& stacks, const FlameOptions& options) {
    return html_page(options.title, Drawing(stacks, options).svg());
}

} // namespace sonde
