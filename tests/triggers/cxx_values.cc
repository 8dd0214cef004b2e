// Values of the standard library's types, and functions that differ in their parameters only.
#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#define KEEP __attribute__((noipa, noinline))

namespace shop {

struct Named {
    std::string name;
    int id = 0;
};

struct Item : Named {
    std::vector<std::string> tags;
    std::optional<int> price;
    std::unique_ptr<Named> parent;
    bool sold = false;
    KEEP int total(int count) const { return price.value_or(1) * count + static_cast<int>(tags.size()); }
};

volatile int sink;

KEEP void text(const std::string& plain, std::string_view view, std::string copy) {
    sink = static_cast<int>(plain.size() + view.size() + copy.size());
}
KEEP void sequences(const std::vector<int>& numbers, std::vector<std::string>& names, const std::vector<bool>& flags,
                    const std::array<int, 3>& fixed, const std::list<long>& chain, const std::deque<int>& queue) {
    sink = static_cast<int>(numbers.size() + names.size() + flags.size() + fixed.size() + chain.size() + queue.size());
}
KEEP void maps(const std::map<std::string, int>& ordered, const std::set<int>& set,
               const std::unordered_map<int, std::string>& hashed, const std::unordered_set<std::string>& seen,
               const std::map<int, std::vector<int>>& nested) {
    sink = static_cast<int>(ordered.size() + set.size() + hashed.size() + seen.size() + nested.size());
}
KEEP void wrappers(const std::optional<int>& some, const std::optional<std::string>& none,
                   const std::unique_ptr<int>& owned, const std::shared_ptr<Named>& shared,
                   const std::pair<int, std::string>& pair, const std::tuple<int, bool, std::string>& tuple,
                   const std::variant<int, std::string>& variant) {
    sink = some.value_or(0) + none.has_value() + *owned + shared->id + pair.first + std::get<0>(tuple) +
           static_cast<int>(variant.index());
}
KEEP void item(const Item& it) { sink = it.id; }
KEEP void broken(const std::vector<std::string>& names, const std::string& text) {
    sink = static_cast<int>(names.size() + text.size());
}

enum class Color { Red, Green };
KEEP void paint(Color color) { sink = static_cast<int>(color); }

struct Pair {
    int first, second;
};
KEEP Pair small(int x) { return {x, x + 1}; }
KEEP std::string large(int x) { return std::string(static_cast<size_t>(x), 'x'); }
KEEP std::pair<long, long> two(long x) { return {x, -x}; }

KEEP void over(int) { sink = 1; }
KEEP void over(int, char const*) { sink = 2; }
KEEP void over(const std::string&) { sink = 3; }
KEEP void over(std::vector<int>&, unsigned long) { sink = 4; }

} // namespace shop

int main() {
    using namespace shop;
    text("plain", "a view", std::string("a \"copied\" string, too long for the small buffer"));
    std::vector<int> numbers;
    for (int i = 0; i < 20; i++)
        numbers.push_back(i);
    std::vector<std::string> names = {"ann", "bob"};
    std::deque<int> queue;
    for (int i = 0; i < 200; i++)
        queue.push_back(i);
    for (int i = 0; i < 120; i++)
        queue.pop_front();
    sequences(numbers, names, {true, false, true}, {7, 8, 9}, {-1, 1L << 40}, queue);
    maps({{"one", 1}, {"three", 3}, {"two", 2}}, {5, 3, 1, 4, 2}, {{1, "one"}}, {"word"},
         {{1, {1}}, {2, {}}, {3, {3, 4}}});
    wrappers(5, std::nullopt, std::make_unique<int>(6), std::make_shared<Named>(Named{"shared", 7}), {8, "eight"},
             {9, true, "nine"}, std::string("ten"));
    Item it;
    it.name = "lamp";
    it.id = 11;
    it.tags = {"new", "red"};
    it.price = 12;
    it.parent = std::make_unique<Named>(Named{"light", 13});
    item(it);
    sink = it.total(2);
    alignas(8) char garbage[64];
    for (char& byte : garbage)
        byte = 0x11;
    reinterpret_cast<uint64_t*>(garbage)[1] = 0x1111111111111111 + 64;
    broken(*reinterpret_cast<std::vector<std::string>*>(garbage), *reinterpret_cast<std::string*>(garbage));
    sink = small(20).second + static_cast<int>(large(3).size()) + static_cast<int>(two(30).first);
    paint(Color::Green);
    over(1);
    over(1, "x");
    over(std::string("x"));
    over(numbers, 1);
    return 0;
}
