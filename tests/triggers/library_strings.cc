// Strings of libstdc++, which clang only declares if the library defines them, and the older strings.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Lamp {
    std::string name;
    int watts;
};

__attribute__((noinline)) size_t strings(const std::string& text, const Lamp& lamp, std::vector<std::string>& words,
                                         std::map<std::string, int>& counts, std::shared_ptr<std::string> shared) {
    return text.size() + lamp.name.size() + words.size() + counts.size() + shared->size();
}

__attribute__((noinline)) size_t by_value(std::string text, int after) {
    return text.size() + static_cast<size_t>(after);
}
__attribute__((noinline)) std::string made(size_t length) { return std::string(length, 'z'); }

int main() {
    std::vector<std::string> words{"a", "a text that is too long to be inside"};
    std::map<std::string, int> counts{{"x", 1}, {"y", 2}};
    // Each compiler evaluates arguments in another order.
    const size_t lengths = by_value("value", 7) + made(3).size();
    printf("%zu %zu\n", lengths,
           strings("short", {"lamp", 40}, words, counts, std::make_shared<std::string>("shared")));
}
