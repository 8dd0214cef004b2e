// A program whose first instruction is one that many kernels execute wrongly under a breakpoint: `pushf` stores the
// trap flag of the kernel's single step. Prints the flag. It calls mprotect(), so sonde follows it from its beginning.
#include <stdio.h>
#include <sys/mman.h>

unsigned long saved_flags;
int counter;
__asm__(".text\n"
        ".globl odd_start\n"
        "odd_start: pushfq\n"
        "    popq saved_flags(%rip)\n"
        "    jmp _start\n");

__attribute__((noinline)) int step(int n) {
    __asm__ volatile("" ::: "memory");
    return n + 1;
}

int main(void) {
    enum { trap_flag = 0x100 };
    mprotect(NULL, 0, PROT_READ);
    for (int i = 0; i < 10; i++)
        counter = step(counter);
    printf("trap flag %d, %d calls\n", (saved_flags & trap_flag) != 0, counter);
    return 0;
}
