// Text of speculative output, kept until a handler commits or discards it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sonde {

// The texts of all speculations that are neither committed nor discarded.
class Speculations {
  public:
    // Limit for all texts together. Texts beyond it are dropped and counted.
    static constexpr size_t max_bytes = 64 << 20;

    void add(int64_t id, std::string text) {
        if (bytes_ + text.size() > max_bytes) {
            dropped_++;
            return;
        }
        bytes_ += text.size();
        texts_[id].push_back(std::move(text));
    }
    // Removes and returns the texts of a speculation, in the order of their creation.
    std::vector<std::string> take(int64_t id) {
        auto found = texts_.find(id);
        if (found == texts_.end())
            return {};
        std::vector<std::string> out = std::move(found->second);
        texts_.erase(found);
        for (const std::string& text : out)
            bytes_ -= text.size();
        return out;
    }
    uint64_t dropped() const { return dropped_; }

  private:
    std::unordered_map<int64_t, std::vector<std::string>> texts_;
    size_t bytes_ = 0;
    uint64_t dropped_ = 0;
};

} // namespace sonde
