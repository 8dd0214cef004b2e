// Has a section `.probes`, as programs had with marks before 2011. Its contents are not real marks.
#ifdef __x86_64__
#define SECTION ".pushsection .probes, \"aw\", @progbits"
#else
#define SECTION ".pushsection .probes, \"aw\", %progbits"
#endif

int main(void) {
    __asm__(SECTION "\n .balign 8\n .fill 24, 1, 0\n .popsection");
    return 0;
}
