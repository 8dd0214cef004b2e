/* Values that do not fit into a number of the language, and text that fills its array. */
#include <complex.h>

struct wide {
    __int128 small, negative, large;
    unsigned __int128 all, some;
    float complex turn;
    char full[4], other[4], part[4];
};

__attribute__((noinline)) int look(struct wide* wide, __int128 direct) { return wide->full[0] + (int)direct; }

int main(void) {
    struct wide wide = {7,
                        -7,
                        ((__int128)0x123 << 64) + 0x45,
                        ~(unsigned __int128)0,
                        1UL << 63,
                        1.5f - 2.0f * I,
                        "abcd",
                        {'e', 'f', 'g', 'h'},
                        "xy"};
    return look(&wide, -(__int128)9) == 0;
}
