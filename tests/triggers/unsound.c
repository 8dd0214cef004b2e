// Functions that begin with or contain instructions that the kernel's uprobes execute
// wrongly, and print their results. For tests/harmless and tests/place_tests.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION(name, code)                                                                                           \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" code                   \
            "\n.cfi_endproc\n.size " #name ", .-" #name "\n")

// AVX instructions with the opcode byte of a jump, call or ret; they do not depend on old values of registers.
FUNCTION(avx_bits, "vmovd %xmm0, %eax\nret"); // 7e: the result is in a register, so no other place has the same value
FUNCTION(avx_equal, "vpcmpeqb %xmm0, %xmm0, %xmm1\nvpmovmskb %xmm1, %eax\nret");
FUNCTION(avx_shuffle, "vpshufd $0xe4, (%rdi), %xmm0\nvpmovmskb %xmm0, %eax\nret");
FUNCTION(avx_subtract, "vpsubsb %xmm0, %xmm0, %xmm1\nvpmovmskb %xmm1, %eax\nret");
FUNCTION(avx_compare, "vcmpps $15, %xmm0, %xmm0, %xmm1\nvpmovmskb %xmm1, %eax\nret");
FUNCTION(avx_loop, "mov $3, %ecx\nvpxor %xmm1, %xmm1, %xmm1\n1: vpcmpeqb %xmm1, %xmm1, %xmm1\n2: dec %ecx\njnz 2b\n"
                   "vpmovmskb %xmm1, %eax\nret");
FUNCTION(swapped, "xchg %r8, %rax\nret");
FUNCTION(flags, "pushfq\npop %rax\nand $0x100, %eax\nret");
FUNCTION(red_zone, "mov %rdi, -8(%rsp)\n.globl red_zone_nop\nred_zone_nop: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
                   "mov -8(%rsp), %rax\nret");
FUNCTION(nop_entry, ".byte 0x0f, 0x1f, 0x44, 0, 0\nmov %rdi, %rax\nret");
FUNCTION(nop_loop, "mov %rdi, -8(%rsp)\nmov $3, %ecx\n.globl nop_loop_nop\nnop_loop_nop: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
                   "1: dec %ecx\njnz 1b\nmov -8(%rsp), %rax\nret");
FUNCTION(repeated, "mov %rdx, %rcx\n.globl repeated_movs\nrepeated_movs: rep movsb\nmov %rdi, %rax\nret");
FUNCTION(calls_kernel, "mov $39, %eax\n.globl calls_kernel_call\ncalls_kernel_call: syscall\nret");

float bits_of = 1.5f;
int avx_bits(float x), avx_shuffle(const void* p), avx_equal(void), avx_subtract(void), avx_compare(void),
    avx_loop(void), flags(void);
long red_zone(long x), nop_entry(long x), nop_loop(long x), calls_kernel(void);
char* repeated(char* to, const char* from, long n);

int main(void) {
    char from[64] = "abcdefghijklmnop", to[64] = "";
    static const char high[16] = {-1, -1, 1, -1};
    for (int i = 0; i < 3; i++) {
        if (__builtin_cpu_supports("avx2")) {
            printf("bits %x\n", avx_bits(bits_of));
            printf("equal %x\n", avx_equal());
            printf("shuffle %x\n", avx_shuffle(high));
            printf("subtract %x\n", avx_subtract());
            printf("compare %d\n", avx_compare() != 0);
            printf("loop %x\n", avx_loop());
        }
        long a = 1;
        register long r8 __asm__("r8") = 2;
        __asm__ volatile("call swapped" : "+a"(a), "+r"(r8));
        printf("swapped %ld %ld\n", a, r8);
        printf("flags %x\n", flags());
        printf("red zone %ld %ld %ld\n", red_zone(41 + i), nop_entry(42 + i), nop_loop(43 + i));
        printf("repeated %ld %s\n", (long)(repeated(to, from, 16) - to), to);
        printf("calls %d\n", calls_kernel() > 0);
    }
    return 0;
}
