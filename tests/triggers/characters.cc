// Characters of every size in structures, which `$x$` prints as in C.
#include <cstdint>

#define KEEP __attribute__((noinline, noclone))

struct record {
    char letter;
    unsigned char line;
    uint8_t high;
    int16_t number;
    char16_t unit;
    char16_t small;
    char32_t point;
    const char* word;
    const char16_t* wide;
    const char32_t* points;
};
struct three {
    char16_t list[3];
};

struct loose {
    int number;
    const char* name;
    const char* list[2];
    const char16_t* wide;
    int rest[];
};

KEEP void lead(loose* l) { asm volatile("" ::"r"(l) : "memory"); }

KEEP void show(record* r, char letter, char16_t unit, three* three, const char16_t* none) {
    asm volatile("" ::"r"(r), "r"(letter), "r"(unit), "r"(three), "r"(none) : "memory");
}

int main() {
    // On the stack, so that they are in memory.
    char word[] = "caf\xc3\xa9 \xf0\x9f\x98\x88";
    char16_t wide[] = u"\u20acuro";
    char32_t points[] = U"\U0001f608!";
    record r = {'A', '\n', 0xc3, -7, 0x20ac, 'z', 0x1f608, word, wide, points};
    three letters = {{'a', '\'', '"'}};
    show(&r, 'A', r.unit, &letters, nullptr);
    loose nowhere = {7, nullptr, {word, (const char*)16}, nullptr};
    lead(&nowhere);
    return 0;
}
