// Enumerations that a structure, its base or a member without a name declares.
struct Base {
    enum { low = -3 } level;
};
struct Box : Base {
    enum { high = 7, highest = 0xffffffff } kind;
    enum class Scoped { hidden = 1 } scoped;
    union {
        int value;
    };
    Box* next;
};

[[gnu::noinline]] static int look(const Box* box) { return box->value; }

int main() {
    Box box{};
    box.value = 2;
    box.next = &box;
    return look(&box) - 2;
}
