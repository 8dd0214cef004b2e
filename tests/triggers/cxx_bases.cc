// Virtual bases, whose offset depends on the class, and pointers to members.
#include <cstdio>

struct Top {
    int top = 1;
    virtual ~Top() {}
};
struct Left : virtual Top {
    int left = 2;
};
struct Right : virtual Top {
    int right = 3;
};
struct Both : Left, Right {
    int both = 4;
};
struct More : Both {
    long more[3] = {5, 6, 7};
};

__attribute__((noinline)) int look(Both* both, Left& left, Both copy) {
    both->top++;
    return both->top + left.top + copy.top;
}

struct Item {
    int first;
    int second;
    int add(int n) { return second + n; }
};
typedef int Item::* Field;
struct Chosen {
    Field field;
    Field none;
    int (Item::*function)(int);
};

__attribute__((noinline)) int choose(Item* item, Chosen* chosen) {
    return item->*(chosen->field) + (item->*(chosen->function))(3);
}

int main() {
    Both both;
    More more;
    both.top = 11;
    more.top = 12;
    Item item = {7, 8};
    Chosen chosen = {&Item::second, nullptr, &Item::add};
    return look(&both, both, both) + look(&more, more, more) + choose(&item, &chosen) == 0;
}
