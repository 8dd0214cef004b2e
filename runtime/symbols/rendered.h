// Lines that were made for addresses. Stacks share most of their frames: each address is looked up and put into words
// once, until its process has something else there.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace sonde {

class Rendered {
  public:
    // What `make()` gives for an address in a process, in some style; as long as nothing is forgotten.
    template <typename Make>
    const std::string& line(uint64_t process, uint64_t address, uint64_t style, const Make& make) {
        const Key key{address, style};
        if (auto lines = processes_.find(process); lines != processes_.end())
            if (auto known = lines->second.find(key); known != lines->second.end())
                return known->second;
        std::string text = make(); // may forget
        if (++lines_ > most_lines)
            forget_all();
        return processes_[process].try_emplace(key, std::move(text)).first->second;
    }
    // The process has something else in memory, and so has "whichever process", 0.
    void forget(uint64_t process) {
        processes_.erase(process);
        processes_.erase(0);
    }

  private:
    static constexpr size_t most_lines = 1 << 16;
    struct Key {
        uint64_t address, style;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        size_t operator()(const Key& key) const { return (key.address * 8 + key.style) * 0x9e3779b97f4a7c15ull >> 16; }
    };
    void forget_all() {
        processes_.clear();
        lines_ = 1;
    }
    std::unordered_map<uint64_t, std::unordered_map<Key, std::string, Hash>> processes_;
    size_t lines_ = 0; // made since all was forgotten
};

} // namespace sonde
