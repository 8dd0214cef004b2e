// Types that have units of their own (-fdebug-types-section).
#include <cstdio>

namespace shop {
enum class Size { small, large };
struct Item {
    const char* name;
    int price;
    Size size;
};
} // namespace shop

struct Order {
    int number;
    shop::Item item;
    Order* next;
};

__attribute__((noinline)) int total(const Order* order, shop::Item item) {
    return order->number + order->item.price + item.price + (order->next ? order->next->number : 0);
}

int main() {
    Order last{2, {"cake", 12, shop::Size::small}, nullptr};
    Order first{1, {"tea", 4, shop::Size::large}, &last};
    printf("%d\n", total(&first, last.item));
}
