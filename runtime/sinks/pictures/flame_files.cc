#include "runtime/sinks/pictures/flame_files.h"

#include <memory>
#include <unordered_map>

#include "runtime/sinks/pictures/flame_tree.h"
#include "runtime/text/json.h"

namespace sonde {
namespace {

Json tree_of(const FlameBox& box) {
    Json out{{"name", box.frame.name}, {"value", box.weight}};
    Json& children = out["children"] = Json::array();
    for (const std::unique_ptr<FlameBox>& callee : box.callees)
        children.push_back(tree_of(*callee));
    return out;
}

} // namespace

// The unit is "none", because the file's time axis has weights and not times.
std::string speedscope_text(const std::vector<FlameStack>& stacks, const std::string& title) {
    Json frames = Json::array(), samples = Json::array(), weights = Json::array();
    std::unordered_map<std::string, size_t> known; // index of a frame in `frames`
    uint64_t sum = 0;
    for (const FlameStack& stack : stacks) {
        Json sample = Json::array();
        for (const FlameFrame& frame : stack.frames) {
            const auto [entry, fresh] = known.try_emplace(frame.name, frames.size());
            if (fresh)
                frames.push_back({{"name", frame.name}});
            sample.push_back(entry->second);
        }
        samples.push_back(std::move(sample));
        weights.push_back(stack.weight);
        sum += stack.weight;
    }
    const Json profile{{"type", "sampled"},
                       {"name", title},
                       {"unit", "none"},
                       {"startValue", 0},
                       {"endValue", sum},
                       {"samples", std::move(samples)},
                       {"weights", std::move(weights)}};
    const Json file{{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                    {"shared", {{"frames", std::move(frames)}}},
                    {"profiles", Json::array({profile})},
                    {"name", title},
                    {"exporter", "sonde"}};
    return json_text(file) + "\n";
}

std::string flame_tree_text(const std::vector<FlameStack>& stacks) {
    return json_text(tree_of(merge_stacks(stacks))) + "\n";
}

} // namespace sonde
