// A cache of output lines for addresses. Stacks share most of their frames, so each address is looked up and formatted
// once. The cache drops a process's lines when its mappings change.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace sonde {

// At most 65,536 lines; then the cache is emptied.
class Rendered {
  public:
    // Returns the line for an address of a process in a style. Calls `make()` if the line is not in the cache. The
    // reference is valid until the next call of line() or forget().
    template <typename Make>
    const std::string& line(uint64_t process, uint64_t address, uint64_t style, const Make& make) {
        const Key key{address, style};
        if (auto lines = processes_.find(process); lines != processes_.end())
            if (auto known = lines->second.find(key); known != lines->second.end())
                return known->second;
        std::string text = make(); // may call forget()
        if (++lines_ > most_lines)
            forget_all();
        return processes_[process].try_emplace(key, std::move(text)).first->second;
    }
    // Drops the lines of a process, because its mappings have changed. Also drops those of process 0, which stands for
    // "any process".
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
    size_t lines_ = 0; // made since the cache was last emptied
};

} // namespace sonde
