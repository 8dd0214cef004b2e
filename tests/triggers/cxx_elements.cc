// Elements of containers by their numbers, and objects behind smart pointers, optionals and iterators.
#include <array>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#define KEEP [[gnu::noinline]]

struct Item {
    std::string name;
    int count = 0;
};

volatile int sink;

KEEP void elements(const std::vector<Item>& items, const std::array<short, 3>& fixed, std::span<const int> view,
                   const std::string& text, const std::vector<std::vector<int>>& nested, int which) {
    sink = static_cast<int>(items.size() + fixed.size() + view.size() + text.size() + nested.size()) + which;
}
KEEP void owners(const std::unique_ptr<Item>& unique, const std::shared_ptr<Item>& shared,
                 const std::shared_ptr<Item>& nothing, const std::unique_ptr<int[]>& many,
                 const std::optional<Item>& some, const std::optional<Item>& none) {
    sink = unique->count + shared->count + !nothing + many[0] + some->count + none.has_value();
}
KEEP void iterators(std::vector<Item>::const_iterator vector, std::map<std::string, long>::iterator map,
                    std::set<int>::iterator set, std::list<Item>::iterator list,
                    std::unordered_map<int, char>::const_iterator hash) {
    sink = vector->count + static_cast<int>(map->second) + *set + list->count + hash->second;
}

int main() {
    std::vector<Item> items = {{"lamp", 3}, {"a chair with a long name", 4}};
    const std::array<int, 4> numbers = {5, 6, 7, 8};
    elements(items, {10, -11, 12}, numbers, "text", {{1}, {2, 3}}, 1);
    std::unique_ptr<int[]> many(new int[3]{21, 22, 23});
    owners(std::make_unique<Item>(Item{"unique", 1}), std::make_shared<Item>(Item{"shared", 2}), nullptr, many,
           Item{"some", 4}, std::nullopt);
    std::map<std::string, long> map = {{"one", 1}, {"two", -2}};
    std::set<int> set = {31, 32};
    std::list<Item> list = {{"first", 41}, {"second", 42}};
    std::unordered_map<int, char> hash = {{51, 'x'}};
    iterators(items.begin() + 1, map.find("two"), ++set.begin(), ++list.begin(), hash.begin());
}
