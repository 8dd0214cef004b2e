/* Loops of an exclusive load and its store (arm64). bump() has other instructions around the loop; bump_first() begins with the load. */
int bump(int* number);
int bump_first(int* number);

__asm__(".text\n"
        ".globl bump, bump_first\n"
        ".type bump, %function\n"
        ".type bump_first, %function\n"
        "bump:\n"
        "    .cfi_startproc\n"
        "    mov x1, x0\n"
        "1:  ldxr w2, [x1]\n"
        "    add w2, w2, #1\n"
        "    stxr w3, w2, [x1]\n"
        "    cbnz w3, 1b\n"
        "    mov w0, w2\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size bump, . - bump\n"
        "bump_first:\n"
        "    .cfi_startproc\n"
        "    ldxr w2, [x0]\n"
        "    add w2, w2, #1\n"
        "    stxr w3, w2, [x0]\n"
        "    cbnz w3, bump_first\n"
        "    mov w0, w2\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size bump_first, . - bump_first\n");

int main(void)
{
    int number = 0, last = 0;
    for (int i = 0; i < 3; i++)
        last = bump(&number) + bump_first(&number);
    return last == 11 ? 0 : 1;
}
