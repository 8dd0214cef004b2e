// Types in type units (-fdebug-types-section).
#include <cstdio>

namespace shop {
enum class Size { small, large };
struct Item {
    const char* name;
    int price;
    Size size;
};
class Shelf {
  public:
    struct Place {
        enum Row { lower, upper = 7 };
        int number;
        Row row;
    };
    Place place;
    long width;
};
inline namespace second {
int version = 33;
}
template <typename T> struct Pair {
    T first, second;
};
} // namespace shop

namespace {
struct Hidden {
    shop::Pair<int> pair;
};
} // namespace

struct Order {
    int number;
    shop::Item item;
    Order* next;
};

__attribute__((noinline)) int total(const Order* order, shop::Item item) {
    return order->number + order->item.price + item.price + (order->next ? order->next->number : 0);
}

__attribute__((noinline)) void look(const void* shelf, const void* pair, const void* hidden) {
    asm volatile("" ::"r"(shelf), "r"(pair), "r"(hidden) : "memory");
}

int main() {
    shop::Shelf shelf = {{3, shop::Shelf::Place::upper}, 90};
    shop::Pair<shop::Item> pair = {{"salt", 5, shop::Size::small}, {"rice", 6, shop::Size::large}};
    Hidden hidden = {{8, 9}};
    look(&shelf, &pair, &hidden);
    Order last{2, {"cake", 12, shop::Size::small}, nullptr};
    Order first{1, {"tea", 4, shop::Size::large}, &last};
    printf("%d\n", total(&first, last.item));
}
