// Values of the C++ standard library as laid out by LLVM's libc++.
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#define KEEP [[gnu::noinline]]

KEEP void texts(const std::string& shorter, const std::string& longer, std::string_view view) {
    std::printf("%zu %.*s\n", shorter.size() + longer.size(), static_cast<int>(view.size()), view.data());
}
KEEP void sequences(const std::vector<int>& numbers, const std::vector<std::string>& words) {
    std::printf("%zu\n", numbers.size() + words.size());
}
KEEP void maybe(const std::optional<int>& some, const std::optional<int>& none, const std::unique_ptr<int>& owned,
                const std::shared_ptr<std::string>& shared) {
    std::printf("%d\n", some.has_value() + none.has_value() + (owned != nullptr) + (shared != nullptr));
}
KEEP void maps(const std::map<std::string, int>& tree, const std::set<int>& set,
               const std::unordered_map<std::string, int>& hash) {
    std::printf("%zu\n", tree.size() + set.size() + hash.size());
}

int main() {
    texts("short", "a text that is too long to be inside", "view");
    sequences({1, 2, 3}, {"a", "b"});
    maybe(5, {}, std::make_unique<int>(6), std::make_shared<std::string>("shared"));
    maps({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}}, {9, 4, 7}, {{"k", 7}});
    return 0;
}
