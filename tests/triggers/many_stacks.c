// Many different stacks: two functions call themselves and each other in all
// orders, eleven levels deep, so that hit() is called through 2,048 paths.
static volatile int sink;

__attribute__((noinline)) void hit(int way) { sink += way; }

static void left(int depth, int way);
static void right(int depth, int way);

static void go(int depth, int way) __attribute__((always_inline));
static inline void go(int depth, int way) {
    if (depth == 0) {
        hit(way);
        return;
    }
    left(depth - 1, 2 * way);
    right(depth - 1, 2 * way + 1);
    sink++; // prevents a tail call
}
__attribute__((noinline)) static void left(int depth, int way) {
    go(depth, way);
    sink++;
}
__attribute__((noinline)) static void right(int depth, int way) {
    go(depth, way);
    sink += 2;
}

int main(void) {
    go(11, 1);
    return 0;
}
