/* Text of every width in memory, for the user_* functions. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

KEEP void narrow(const char* text, const void* bytes, const char* last) { __asm__ volatile("" ::"r"(text), "r"(bytes), "r"(last)); }
KEEP void wide(const uint16_t* text16, const uint32_t* text32, const uint16_t* bad16, const uint32_t* bad32, const uint16_t* last)
{
    __asm__ volatile("" ::"r"(text16), "r"(text32), "r"(bad16), "r"(bad32), "r"(last));
}
KEEP void numbers(const void* bytes) { __asm__ volatile("" ::"r"(bytes)); }

int main(void)
{
    /* A page that is followed by unmapped memory. */
    long size = sysconf(_SC_PAGESIZE);
    char* pages = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + size, size, PROT_NONE);
    char* last = pages + size - 4;
    memcpy(last, "end", 4);
    narrow("tab\there \"quoted\" \x80\n", "a\0b\n", last);
    static const uint16_t text16[] = {'a', 0xe4, 0x20ac, 0xd83d, 0xde00, '\n', 0}, bad16[] = {'a', 0xdc00, 0};
    static const uint32_t text32[] = {'a', 0xe4, 0x20ac, 0x1f600, '\n', 0}, bad32[] = {'a', 0x110000, 0};
    memcpy(last, "x\0\0\0", 4);
    wide(text16, text32, bad16, bad32, (const uint16_t*)last);
    static const uint64_t bytes[] = {0xfedcba9876543280ull};
    numbers(bytes);
    return 0;
}
