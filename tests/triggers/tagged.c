// Calls a function with pointers that have tags in their upper 8 bits, which arm64 ignores.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct box {
    int number;
    char name[16];
};

#define TAGGED(pointer, tag) ((void*)((uintptr_t)(pointer) | (uintptr_t)(tag) << 56))

__attribute__((noinline)) void look(struct box* box, const char* text) {
    __asm__ volatile("" ::"r"(box), "r"(text) : "memory");
}

int main(void) {
    struct box* box = malloc(sizeof *box);
    box->number = 42;
    strcpy(box->name, "inside");
    char* text = strdup("outside");
    look(box, text);
    look(TAGGED(box, 0x5a), TAGGED(text, 0xb4));
    look(TAGGED(box, 0xf0), TAGGED(text, 0x0f));
}
