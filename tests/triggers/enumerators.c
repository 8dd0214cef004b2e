/* Enumerators of a file, a function, a block and a structure; a variable of the same name hides them. */
#include <stdio.h>

enum shade { DARK = 3, LIGHT = 9 };
enum shade now = LIGHT;
struct paint {
    enum gloss { DULL = -2, BRIGHT = 40 } gloss;
};
static struct paint wall = {BRIGHT};

__attribute__((noinline)) static int pick(int n)
{
    enum reach { NEAR = 7, FAR = 8 };
    enum reach reach = FAR;
    int NEAR_BY = n;
    {
        enum inner { INNER = 5 };
        volatile enum inner inner = INNER;
        n += inner;
    }
    return n + reach + NEAR_BY + (int)wall.gloss;
}
__attribute__((noinline)) static int shadow(int LIGHT) { return LIGHT + 1; }

int main(void)
{
    printf("%d\n", pick(1) + shadow(2) + now);
    return 0;
}
